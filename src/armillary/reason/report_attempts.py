"""Show the attempts of a run on a page: their tree, the requests they came from, and each with all that is known of it.

Judges nothing and reads no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from armillary.core.trace import TraceEvent
from armillary.core.values import dumps
from armillary.core.verdicts import Check, Counterexample, Verdict
from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_code import show_code, show_difference, show_text
from armillary.reason.report_story import Story, Tried

MAX_DEPTH = 4
MAX_CELL_CHARS = 600
TONES = {"PROVED": "good", "TESTED": "good", "EXAMPLES_PASS": "good", "REFUTED": "bad"}


def attempts_section(story: Story) -> Markup:
    """The tree, then one round after the other."""
    if not story.attempts:
        return tag("p", "Nothing was tried.")
    parts: list[Markup] = [tag("h3", "Tree"), _tree(story)]
    by_round = sorted(story.attempts, key=lambda attempt: attempt.round)
    for round_number, group in groupby(by_round, key=lambda attempt: attempt.round):
        parts.append(tag("h3", _round_title(round_number)))
        parts += [_request(event) for event in story.proposals if event.body["round"] == round_number]
        parts += [_attempt(story, attempt) for attempt in group]
    return join(*parts)


def _round_title(number: int) -> str:
    return "First proposals" if number == 0 else f"Round {number} of revisions"


def _tree(story: Story) -> Markup:
    """Each attempt under the one that it revises; without recursion, since chains may be long."""
    children: dict[int | None, list[Tried]] = {}
    for attempt in story.attempts:
        children.setdefault(attempt.parent, []).append(attempt)
    rows = []
    waiting = [(attempt, 0) for attempt in reversed(children.get(None, []))]
    while waiting:
        attempt, depth = waiting.pop()
        rows.append(_leaf(story, attempt, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(attempt.number, []))]
    return tag("ul", *rows, class_="tree")


def _leaf(story: Story, attempt: Tried, depth: int) -> Markup:
    origin = "" if attempt.parent is None else f", revises {story.attempts[attempt.parent].id}"
    return tag(
        "li",
        tag("a", attempt.id, href=f"#attempt-{attempt.number}"),
        f"{origin} ",
        status_of(attempt),
        tag("strong", " chosen") if attempt is story.chosen else "",
        class_=f"depth-{min(depth, MAX_DEPTH)}",
    )


def status_of(attempt: Tried) -> Markup:
    """The verdict's status, or that there is none."""
    return badge(attempt.verdict.status.value if attempt.verdict else "never judged")


def badge(status: str) -> Markup:
    """A status, in a colour that says the same once more."""
    return tag("span", status, class_=f"badge {TONES.get(status, 'open')}")


def _request(event: TraceEvent) -> Markup:
    body: dict[str, Any] = event.body
    sampling = body["sampling"]
    count = body["num_candidates"]
    head = f"Request for {count} candidate{'' if count == 1 else 's'}, temperature {sampling.get('temperature')}"
    messages = [join(tag("h4", role), show_text(content)) for role, content in body["messages"]]
    return tag(
        "details", tag("summary", head), *messages, tag("h4", "Sampling"), show_text(dumps(sampling)), class_="request"
    )


def _attempt(story: Story, attempt: Tried) -> Markup:
    is_chosen = attempt is story.chosen
    costs = f" {attempt.num_tokens} tokens, checked in {attempt.checking_s:.2f} s"
    reason = f": {shorten(attempt.verdict.reason)}" if attempt.verdict and attempt.verdict.reason else ""
    summary = tag(
        "summary",
        tag("h4", attempt.id, " ", status_of(attempt), " (chosen)" if is_chosen else ""),
        tag("span", f"{costs}{reason}", class_="faint"),
    )
    opened = {"open": ""} if is_chosen else {}
    return tag("details", summary, *_body(story, attempt), id=f"attempt-{attempt.number}", **opened)


def _body(story: Story, attempt: Tried) -> list[Markup]:
    parts = [_facts(story, attempt)]
    if attempt.verdict:
        parts += [counterexample(attempt.verdict.counterexample), checks_table(attempt.verdict)]
    parts.append(show_code(attempt.code))
    if attempt.parent is not None:
        parent = story.attempts[attempt.parent]
        parts += [tag("p", f"What changed against {parent.id}:"), show_difference(parent.code, attempt.code)]
    if attempt.text.strip() != attempt.code.strip():
        parts.append(tag("details", tag("summary", "What the model said, word for word"), show_text(attempt.text)))
    return parts


def _facts(story: Story, attempt: Tried) -> Markup:
    rows: list[tuple[str, Markup | str]] = []
    if attempt.parent is not None:
        parent = story.attempts[attempt.parent]
        rows.append(("revises", tag("a", parent.id, href=f"#attempt-{parent.number}")))
    if attempt.verdict:
        rows.append(("ladder", ladder(attempt.verdict)))
        rows.append(("checking", f"{attempt.verdict.elapsed_ms:.0f} ms in sandbox tier {attempt.verdict.sandbox_tier}"))
    rows.append(("model", f"{attempt.num_tokens} tokens, {attempt.model_s:.2f} s since the event before"))
    rows.append(("ended by", attempt.finish_reason))
    if attempt.error:
        rows.append(("error", attempt.error))
    return facts(rows)


def facts(rows: Sequence[tuple[str, Markup | str]]) -> Markup:
    """Names and values beside each other."""
    return tag("dl", *(join(tag("dt", name), tag("dd", value)) for name, value in rows))


def ladder(verdict: Verdict) -> str:
    """How many checks of each level passed, in the order in which the levels were climbed."""
    levels: dict[str, list[Check]] = {}
    for check in verdict.checks:
        levels.setdefault(check.level, []).append(check)
    counts = [f"{level} {sum(item.passed for item in items)} of {len(items)}" for level, items in levels.items()]
    return ", ".join(counts) or "no check was made"


def counterexample(found: Counterexample | None) -> Markup:
    """The call that went wrong, or nothing."""
    if found is None:
        return NOTHING
    cells = [("counterexample", found.call), ("expected", found.expected), ("got", found.actual)]
    rows: list[tuple[str, Markup | str]] = [(name, tag("code", shorten(value))) for name, value in cells]
    return facts([*rows, ("breaks", found.check_id)])


def checks_table(verdict: Verdict) -> Markup:
    """Every check: who wrote the expectation, on how many inputs it was tried, and what it says."""
    if not verdict.checks:
        return NOTHING
    head = tag(
        "tr", *(tag("th", name, scope="col") for name in ("check", "level", "origin", "inputs", "", "expectation"))
    )
    return wide(tag("table", tag("thead", head), tag("tbody", *map(_check_row, verdict.checks))), "checks")


def _check_row(check: Check) -> Markup:
    passed = tag("span", "passed" if check.passed else "FAILED", class_=f"badge {'good' if check.passed else 'bad'}")
    return tag(
        "tr",
        tag("td", check.id),
        tag("td", check.level),
        tag("td", check.origin),
        tag("td", str(check.num_inputs)),
        tag("td", passed),
        tag("td", tag("code", shorten(check.text))),
    )


def wide(content: Markup, name: str) -> Markup:
    """A box that scrolls sideways by keyboard too where the page is too narrow."""
    return tag("div", content, class_="wide", role="region", aria_label=name, tabindex="0")


def shorten(value: str) -> str:
    """At most ``MAX_CELL_CHARS`` characters, and how many are left out."""
    num_cut = len(value) - MAX_CELL_CHARS
    return value if num_cut <= 0 else f"{value[:MAX_CELL_CHARS]} [{num_cut} more characters left out]"
