"""Show what a reader looks for first: the verdict and why, the answer, and on what the rejected attempts went wrong.

Judges nothing and reads no file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from armillary.core.verdicts import Status
from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_code import show_code
from armillary.reason.report_parts import (
    badge,
    checks_table,
    counted,
    counterexample,
    facts,
    link,
    short_code,
    shorten,
    status_of,
    tone,
)
from armillary.reason.report_story import Answered, Story, Tried

MAX_FAULTS = 6
MAX_NAMES = 12
MEANINGS = {
    "PROVED": "What the user demands was proved for every input that the task allows, not only tried.",
    "TESTED": "Nothing was found against the answer on generated inputs. That is no proof.",
    "EXAMPLES_PASS": "The answer is right on the task's examples; there was nothing else to hold it to.",
    "REFUTED": "The answer is known to be wrong; the counterexample shows where.",
    "UNKNOWN": "Nothing speaks for the answer and nothing against it.",
    "SPEC_SUSPECT": "The task contradicts itself, so no answer can be right.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What some rejected attempts went wrong on.

    Attributes:
        call: as Python source; empty where no single call is at fault.
        wanted: what the call must do, or else why the attempts were rejected.
    """

    call: str
    wanted: str
    check_id: str


def verdict_section(story: Story) -> Markup:
    """The status, why, and the counterexample if there is one."""
    answer, chosen = story.answer, story.chosen
    if answer is None:
        best = join(" The best attempt so far was ", link(chosen), ".") if chosen else NOTHING
        return tag("div", tag("p", tag("strong", "No answer: the run was interrupted."), best), class_="verdict open")
    verdict = chosen.verdict if chosen else None
    return tag(
        "div",
        tag("p", badge(answer.status), f" {answer.why}", class_="status"),
        tag("p", MEANINGS[answer.status]) if answer.status in MEANINGS else NOTHING,
        counterexample(verdict.counterexample) if verdict else NOTHING,
        class_=f"verdict {tone(answer.status)}",
    )


def answer_section(story: Story) -> Markup:
    """The program that was chosen."""
    chosen = story.chosen
    if chosen is None:
        return tag("p", "There is none.")
    return join(tag("p", "Attempt ", link(chosen), ", ", status_of(chosen)), show_code(chosen.code))


def rejected_section(story: Story) -> Markup:
    """Each input on which an attempt other than the answer was refuted, and what came of it; the commonest first."""
    faults: dict[Fault, list[Tried]] = {}
    for attempt in story.attempts:
        if attempt is not story.chosen and attempt.verdict and attempt.verdict.status is Status.REFUTED:
            faults.setdefault(_fault(attempt), []).append(attempt)
    if not faults:
        return tag("p", "No other attempt was refuted." if story.chosen else "No attempt was refuted.")
    num_rejected = sum(map(len, faults.values()))
    count = tag("p", f"Refuted besides the answer: {num_rejected} of {counted(len(story.attempts), 'attempt')}.")
    ranked = sorted(faults.items(), key=lambda item: len(item[1]), reverse=True)
    rows = [tag("li", *_fault_row(fault, attempts)) for fault, attempts in ranked]
    shown = tag("ul", *rows[:MAX_FAULTS], class_="faults")
    if len(rows) <= MAX_FAULTS:
        return join(count, shown)
    more = tag("summary", f"{len(rows) - MAX_FAULTS} more")
    return join(count, shown, tag("details", more, tag("ul", *rows[MAX_FAULTS:], class_="faults")))


def _fault(attempt: Tried) -> Fault:
    assert attempt.verdict
    found = attempt.verdict.counterexample
    if found is None:
        return Fault("", attempt.verdict.reason or "no reason was given", "")
    return Fault(found.call, found.expected, found.check_id)


def _fault_row(fault: Fault, attempts: Sequence[Tried]) -> Iterator[Markup]:
    if not fault.call:
        yield tag("p", shorten(fault.wanted), " ", _names(attempts))
        return
    yield tag("p", short_code(fault.call), tag("span", f" {fault.check_id}", class_="faint"))
    results: dict[str, list[Tried]] = {}
    for attempt in attempts:
        assert attempt.verdict
        assert attempt.verdict.counterexample
        results.setdefault(attempt.verdict.counterexample.actual, []).append(attempt)
    rows: list[tuple[str, Markup | str]] = [("expected", short_code(fault.wanted))]
    rows += [("got", join(short_code(actual), " ", _names(group))) for actual, group in results.items()]
    yield facts(rows)


def _names(attempts: Sequence[Tried]) -> Markup:
    parts: list[Markup | str] = []
    for attempt in attempts[:MAX_NAMES]:
        parts += [", ", link(attempt)]
    num_more = len(attempts) - MAX_NAMES
    more = f" and {num_more} more" if num_more > 0 else ""
    return tag("span", "(", *parts[1:], more, ")", class_="faint")


def evidence_section(story: Story) -> Markup:
    """How much speaks for the answer, what exactly was tested of it, and what that took."""
    answer, chosen = story.answer, story.chosen
    parts: list[Markup] = [facts([*_evidence(answer), *_costs(story, answer)])] if answer else []
    if chosen and chosen.verdict:
        verdict = chosen.verdict
        counts = f"{counted(len(verdict.checks), 'check')} on {counted(verdict.num_inputs, 'input')}"
        head = f"What was tested: {counts}, seed {verdict.seed}"
        parts += [tag("h3", head), checks_table(verdict)]
    return join(*parts) if parts else tag("p", "There is none.")


def _evidence(answer: Answered) -> list[tuple[str, Markup | str]]:
    found = answer.evidence
    if found is None:
        return []
    rows: list[tuple[str, Markup | str]] = [
        ("speaks for it", f"{counted(found.num_examples, 'example')}, {counted(found.num_inputs, 'generated input')}"),
        ("agreement", f"{found.num_agreeing} of {found.num_rivals} first proposals behave like it"),
    ]
    if found.soft_total:
        rows.append(("model's own tests", f"passes {found.soft_passed} of {found.soft_total}"))
    return [*rows, ("strength", f"{found.strength:.2f}, by which answers are ranked for calibration")]


def _costs(story: Story, answer: Answered) -> list[tuple[str, Markup | str]]:
    return [
        ("attempts", str(len(story.attempts))),
        ("tokens", f"{answer.prompt_tokens} read, {answer.completion_tokens} written"),
        ("search ended by", answer.stopped_by),
    ]
