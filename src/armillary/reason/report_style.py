"""The style sheet of a report: light or dark as the reader's system is, down to a narrow telephone. Holds no logic."""

STYLE = """
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2026; --faint: #5b6570; --line: #d5dae0; --box: #f4f6f8; --link: #0b57a4;
  --good: #14662b; --bad: #a8201a; --open: #7a4d00;
  --keyword: #8a1c7c; --string: #1f6f2f; --number: #9a4b00; --name: #0b57a4; --builtin: #5a3fa0; --comment: #5b6570;
  --added: #d9f2de; --removed: #fbdedc; --mark-added: #97dba6; --mark-removed: #f3a9a4;
  --model: #2f6fb5; --checking: #c2740a; --other: #98a2ad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171b; --ink: #e4e8ec; --faint: #a0aab4; --line: #3a424b; --box: #1d2227; --link: #7db7f2;
    --good: #7ad58f; --bad: #ff9a92; --open: #f0bf6a;
    --keyword: #e08bd4; --string: #8fd19e; --number: #f0ad6a; --name: #8cc0f5; --builtin: #bda8f0; --comment: #a0aab4;
    --added: #17341f; --removed: #43201e; --mark-added: #2c6b3d; --mark-removed: #86352f;
    --model: #5b9be0; --checking: #e39a3b; --other: #66707b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 64rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.3rem; margin: 2rem 0 0.5rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.1rem; margin: 1.2rem 0 0.4rem; }
h4 { font-size: 1rem; margin: 0.8rem 0 0.3rem; }
summary h4 { display: inline; margin: 0; }
a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1rem; list-style: none; padding: 0; }
.skip { position: absolute; left: -99rem; }
.skip:focus { position: static; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; min-width: 100%; font-size: 0.9rem; overflow-wrap: break-word; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem 0.25rem 0; }
tr { border-bottom: 1px solid var(--line); }
td { min-width: 4rem; unicode-bidi: isolate; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; margin: 0.5rem 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; unicode-bidi: isolate; }
code, pre { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 0.875rem; }
code { direction: ltr; unicode-bidi: bidi-override; }
pre {
  margin: 0.5rem 0; padding: 0.6rem; overflow: auto; max-height: 40rem; background: var(--box);
  border: 1px solid var(--line); border-radius: 4px; tab-size: 4;
}
pre.prose { white-space: pre-wrap; }
pre.prose code { unicode-bidi: plaintext; direction: inherit; }
details { margin: 0.4rem 0; border: 1px solid var(--line); border-radius: 4px; padding: 0.3rem 0.6rem; }
details details { border-style: dotted; }
summary { cursor: pointer; }
.badge { font-weight: 700; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .open { color: var(--open); }
.faint, .note { color: var(--faint); }
.note { font-style: italic; }
.escape { color: var(--bad); border: 1px solid currentColor; border-radius: 2px; font-size: 0.85em; }
.keyword { color: var(--keyword); font-weight: 600; } .string { color: var(--string); }
.number { color: var(--number); } .name { color: var(--name); font-weight: 600; }
.builtin { color: var(--builtin); } .comment { color: var(--comment); font-style: italic; }
.difference del, .difference ins, .difference .same, .difference .hunk { display: block; text-decoration: none; }
.difference del { background: var(--removed); } .difference ins { background: var(--added); }
.difference del mark { background: var(--mark-removed); color: inherit; }
.difference ins mark { background: var(--mark-added); color: inherit; }
.difference .hunk { color: var(--faint); }
.tree { list-style: none; padding: 0; }
.tree li { padding-left: 0.6rem; border-left: 2px solid var(--line); }
.depth-1 { margin-left: 1rem; } .depth-2 { margin-left: 2rem; } .depth-3 { margin-left: 3rem; }
.depth-4 { margin-left: 4rem; }
.timeline { display: block; width: 100%; height: 4.5rem; background: var(--box); border: 1px solid var(--line); }
rect.model { fill: var(--model); } rect.checking { fill: var(--checking); } rect.other { fill: var(--other); }
.scale { display: flex; justify-content: space-between; color: var(--faint); font-size: 0.85rem; margin: 0; }
.swatch { display: inline-block; width: 0.9em; height: 0.9em; border-radius: 2px; vertical-align: -0.1em; }
.swatch.model { background: var(--model); } .swatch.checking { background: var(--checking); }
.swatch.other { background: var(--other); }
@media (max-width: 34rem) {
  body { padding: 0.6rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: 0.4rem; }
  .depth-1, .depth-2, .depth-3, .depth-4 { margin-left: 0.5rem; }
}
@media (prefers-reduced-motion: no-preference) { html { scroll-behavior: smooth; } }
"""
