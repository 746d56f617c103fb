"""Show the attempts of a run on a page: their tree, the requests they came from, and each with all that is known of it.

Judges nothing and reads no file.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from armillary.core.trace import TraceEvent
from armillary.core.values import dumps
from armillary.core.verdicts import Check, Verdict
from armillary.reason.markup import Markup, join, tag
from armillary.reason.report_code import show_code, show_difference, show_text
from armillary.reason.report_parts import checks_table, counted, counterexample, facts, link, shorten, status_of
from armillary.reason.report_story import Story, Tried

MAX_DEPTH = 4


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
        link(attempt),
        f"{origin} ",
        status_of(attempt),
        tag("strong", " chosen") if attempt is story.chosen else "",
        class_=f"depth-{min(depth, MAX_DEPTH)}",
    )


def _request(event: TraceEvent) -> Markup:
    body: dict[str, Any] = event.body
    sampling = body["sampling"]
    count = body["num_candidates"]
    head = f"Request for {counted(count, 'candidate')}, temperature {sampling.get('temperature')}"
    messages = [join(tag("h4", role), show_text(content)) for role, content in body["messages"]]
    return tag(
        "details", tag("summary", head), *messages, tag("h4", "Sampling"), show_text(dumps(sampling)), class_="request"
    )


def _attempt(story: Story, attempt: Tried) -> Markup:
    is_chosen = attempt is story.chosen
    costs = f" {counted(attempt.num_tokens, 'token')}"
    costs += f", checked in {attempt.checking_s:.2f} s" if attempt.verdict else ""
    reason = attempt.verdict.reason if attempt.verdict else attempt.error
    summary = tag(
        "summary",
        tag("h4", attempt.id, " ", status_of(attempt), " (chosen)" if is_chosen else ""),
        tag("span", f"{costs}{f': {shorten(reason)}' if reason else ''}", class_="faint"),
    )
    opened = {"open": ""} if is_chosen else {}
    # A link to what stands inside unfolds it, which one to the fold itself would not.
    return tag(
        "details",
        summary,
        tag("div", *_body(story, attempt), id=f"attempt-{attempt.number}"),
        class_="attempt",
        **opened,
    )


def _body(story: Story, attempt: Tried) -> list[Markup]:
    verdict = attempt.verdict
    parts = [counterexample(verdict.counterexample)] if verdict else []
    if attempt.parent is not None:
        parent = story.attempts[attempt.parent]
        parts += [tag("p", f"What changed against {parent.id}:"), show_difference(parent.code, attempt.code)]
        parts.append(tag("p", "The whole program:"))
    parts.append(show_code(attempt.code))
    if attempt.text.strip() != attempt.code.strip():
        parts.append(tag("details", tag("summary", "What the model said, word for word"), show_text(attempt.text)))
    parts.append(_facts(story, attempt))
    if verdict:
        parts.append(checks_table(verdict))
    return parts


def _facts(story: Story, attempt: Tried) -> Markup:
    rows: list[tuple[str, Markup | str]] = []
    if attempt.parent is not None:
        parent = story.attempts[attempt.parent]
        rows.append(("revises", link(parent)))
    if attempt.verdict:
        rows.append(("ladder", ladder(attempt.verdict)))
        rows.append(("checking", f"{attempt.verdict.elapsed_ms:.0f} ms in sandbox tier {attempt.verdict.sandbox_tier}"))
        if attempt.verdict.prover:
            rows.append(("looked for proofs", attempt.verdict.prover.text))
    rows.append(("model", f"{attempt.num_tokens} tokens, {attempt.model_s:.2f} s since the event before"))
    rows.append(("ended by", attempt.finish_reason))
    if attempt.error:
        rows.append(("error", attempt.error))
    return facts(rows)


def ladder(verdict: Verdict) -> str:
    """How many checks of each level passed, in the order in which the levels were climbed."""
    levels: dict[str, list[Check]] = {}
    for check in verdict.checks:
        levels.setdefault(check.level, []).append(check)
    counts = [f"{level} {sum(item.passed for item in items)} of {len(items)}" for level, items in levels.items()]
    return ", ".join(counts) or "no check was made"
