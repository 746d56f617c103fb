"""The style sheet of a report: light or dark as the reader's system is, on a telephone, and printed. Holds no logic."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2026; --faint: #5b6570; --line: #d5dae0; --box: #f4f6f8; --link: #0b57a4;
  --good: #14662b; --bad: #a8201a; --open: #7a4d00;
  --keyword: #8a1c7c; --string: #1f6f2f; --number: #9a4b00; --name: #0b57a4; --builtin: #5a3fa0; --comment: #5b6570;
  --added: #d9f2de; --removed: #fbdedc; --mark-added: #97dba6; --mark-removed: #f3a9a4;
  --model: #2f6fb5; --checking: #c2740a; --other: #7d8893;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e4e8ec; --faint: #a0aab4; --line: #3a424b; --box: #1d2227; --link: #7db7f2;
    --good: #7ad58f; --bad: #ff9a92; --open: #f0bf6a;
    --keyword: #e08bd4; --string: #8fd19e; --number: #f0ad6a; --name: #8cc0f5; --builtin: #bda8f0; --comment: #a0aab4;
    --added: #17341f; --removed: #43201e; --mark-added: #2c6b3d; --mark-removed: #86352f;
    --model: #5b9be0; --checking: #e39a3b; --other: #828c98;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 76rem; padding: 1rem 1.5rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
p { max-width: 48rem; margin: 0.5rem 0; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0; }
h1 code { font-size: 0.95em; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 0.5rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 1.2rem 0 0.4rem; }
h4 { font-size: 1rem; margin: 0.8rem 0 0.3rem; }
header p { margin: 0.2rem 0; }
summary h4 { display: inline; margin: 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
:target { scroll-margin-top: 4rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; list-style: none; padding: 0; margin: 0.4rem 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
.verdict {
  margin: 0.6rem 0; padding: 0.5rem 1rem; background: var(--box); color: var(--ink);
  border: 1px solid var(--line); border-left: 0.5rem solid currentColor; border-radius: 4px;
}
.verdict.good { border-left-color: var(--good); } .verdict.bad { border-left-color: var(--bad); }
.verdict.open { border-left-color: var(--open); }
#verdict h2 { margin-top: 0; position: absolute; left: -99rem; }
.status { font-size: 1.15rem; max-width: none; }
.status .badge { font-size: 1.3rem; margin-right: 0.3rem; }
.glance h2 { margin-top: 1.2rem; }
.faults { list-style: none; margin: 0; padding: 0; }
.faults li { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
.faults li:last-child { border-bottom: 0; }
.faults p, .faults dl { margin: 0; font-size: 0.9rem; }
.faults p code { font-weight: 600; }
@media (min-width: 64rem) {
  .glance { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 2rem; align-items: start; }
}
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; font-size: 0.9rem; overflow-wrap: break-word; }
th { color: var(--faint); font-weight: 600; white-space: nowrap; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 1rem 0.25rem 0; }
tr { border-bottom: 1px solid var(--line); }
td { unicode-bidi: isolate; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; margin: 0.5rem 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; unicode-bidi: isolate; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.875rem; }
code { direction: ltr; unicode-bidi: bidi-override; white-space: pre-wrap; }
pre code { white-space: inherit; }
pre {
  margin: 0.5rem 0; padding: 0.6rem; overflow: auto; max-height: 40rem; background: var(--box);
  border: 1px solid var(--line); border-radius: 4px; tab-size: 4;
}
pre.prose { white-space: pre-wrap; }
pre.prose code { unicode-bidi: plaintext; direction: inherit; }
ul, ol { margin: 0.4rem 0; padding-left: 1.6rem; }
#choice li { margin: 0.4rem 0; }
details { margin: 0.4rem 0; border: 1px solid var(--line); border-radius: 4px; padding: 0.3rem 0.6rem; }
details details { border-style: dotted; }
summary { cursor: pointer; }
summary:hover { background: var(--box); }
.badge { font-weight: 700; white-space: nowrap; }
.good .badge, .badge.good { color: var(--good); } .badge.bad { color: var(--bad); } .badge.open { color: var(--open); }
.faint, .note { color: var(--faint); }
.note { font-style: italic; }
.escape { color: var(--bad); border: 1px solid currentColor; border-radius: 2px; font-size: 0.85em; margin: 0 1px; }
.keyword { color: var(--keyword); font-weight: 600; } .string { color: var(--string); }
.number { color: var(--number); } .name { color: var(--name); font-weight: 600; }
.builtin { color: var(--builtin); } .comment { color: var(--comment); font-style: italic; }
.difference code { display: inline-block; min-width: 100%; }
.difference del, .difference ins, .difference .same, .difference .hunk { display: block; text-decoration: none; }
.difference del { background: var(--removed); } .difference ins { background: var(--added); }
.difference del mark { background: var(--mark-removed); color: inherit; }
.difference ins mark { background: var(--mark-added); color: inherit; }
.difference .hunk { color: var(--faint); }
.difference .escape { color: inherit; }
.tree { list-style: none; padding: 0; }
.tree li { padding-left: 0.6rem; border-left: 2px solid var(--line); }
.depth-1 { margin-left: 1rem; } .depth-2 { margin-left: 2rem; } .depth-3 { margin-left: 3rem; }
.depth-4 { margin-left: 4rem; }
.timeline { display: block; width: 100%; height: 4.5rem; background: var(--box); border: 1px solid var(--line); }
rect.model { fill: var(--model); } rect.checking { fill: var(--checking); } rect.other { fill: var(--other); }
.scale { display: flex; justify-content: space-between; max-width: none; margin: 0 0 0.8rem; }
.scale { color: var(--faint); font-size: 0.85rem; }
.swatch { display: inline-block; width: 0.9em; height: 0.9em; border-radius: 2px; vertical-align: -0.1em; }
.swatch.model { background: var(--model); } .swatch.checking { background: var(--checking); }
.swatch.other { background: var(--other); }
@media screen and (max-width: 40rem) {
  body { padding: 0.8rem; }
  h2 { margin-top: 2rem; }
  .verdict { padding: 0.3rem 0.7rem; }
  dl { gap: 0.1rem 0.7rem; }
  pre { max-height: 30rem; }
  thead { position: absolute; left: -99rem; }
  table, tbody { display: block; }
  tr { display: flex; flex-wrap: wrap; gap: 0 1.2rem; padding: 0.4rem 0; }
  td { display: flex; gap: 0.5rem; padding: 0; }
  td::before { content: attr(data-name); color: var(--faint); }
  td.empty { display: none; }
  .depth-1, .depth-2, .depth-3, .depth-4 { margin-left: 0.5rem; }
}
@media print {
  @page { margin: 15mm; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .skip { display: none; }
  a { color: inherit; text-decoration: none; }
  pre { white-space: pre-wrap; max-height: none; overflow: visible; }
  .wide { overflow: visible; }
  .verdict, rect, .swatch, ins, del, mark { print-color-adjust: exact; }
  .verdict, .faults li, tr { break-inside: avoid; }
  h2, h3, summary { break-after: avoid; }
  details.attempt::details-content { content-visibility: visible; display: block; height: auto; }
}
"""
