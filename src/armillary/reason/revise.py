"""Tell a model what is wrong with its answer, and decide whether a revision may replace it. Runs nothing."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.core.messages import Message
from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import Verdict
from armillary.reason.propose import clip, first_messages
from armillary.reason.select import standing

MAX_CALL_CHARS = 160
MAX_VALUE_CHARS = 110
MAX_REASON_CHARS = 300
MAX_CODE_CHARS = 4000
MAX_SHOWN_STEPS = 4


def accepts(incumbent: Verdict, revision: Verdict) -> bool:
    """Whether a revision may replace the incumbent: it keeps all hard evidence and adds to it.

    Nor does its standing fall: an accepted answer is never given up for one that is not, nor an undecided one for one
    that is known to be wrong. So no sequence of revisions loses a check.
    """
    return standing(revision) >= standing(incumbent) and revision.passed_hard > incumbent.passed_hard


def feedback(task: TaskSpec, verdict: Verdict, steps: Sequence[str] = ()) -> str:
    """The smallest counterexample in words and the last lines that it ran, some 200 tokens; never the whole log."""
    found = verdict.counterexample
    if found is None:
        facts = [f"Your code was rejected: {clip(verdict.reason, MAX_REASON_CHARS)}"]
    else:
        facts = [
            "Your function is wrong.",
            f"Call: {clip(found.call, MAX_CALL_CHARS)}",
            f"Expected: {clip(found.expected, MAX_VALUE_CHARS)}",
            f"Actual: {clip(found.actual, MAX_VALUE_CHARS)}",
        ]
        text = next((check.text for check in verdict.checks if check.id == found.check_id), "")
        if text:
            facts.append(f"Broken requirement: {clip(text, MAX_CALL_CHARS)}")
        if steps:
            facts += ["The last lines that ran, with the values that they found:", *steps[-MAX_SHOWN_STEPS:]]
    ask = f"Find the mistake and answer with the complete corrected `{task.entry_point}` in one ```python block."
    return "\n".join((*facts, ask))


def revision_messages(task: TaskSpec, code: str, verdict: Verdict, steps: Sequence[str] = ()) -> tuple[Message, ...]:
    """The first conversation, the failing code as the model's answer, and the feedback on it."""
    answer = f"```python\n{clip(code, MAX_CODE_CHARS)}\n```"
    return (*first_messages(task), Message("assistant", answer), Message("user", feedback(task, verdict, steps)))


def why_decided(incumbent: Verdict, revision: Verdict) -> str:
    """One sentence on what a revision gained and lost against the incumbent."""
    gained = sorted(revision.passed_hard - incumbent.passed_hard)
    lost = sorted(incumbent.passed_hard - revision.passed_hard)
    if accepts(incumbent, revision):
        return f"keeps all {len(incumbent.passed_hard)} hard checks and adds {', '.join(gained)}"
    if lost:
        return f"loses {', '.join(lost)}"
    return f"is {revision.status}, the incumbent is {incumbent.status}" if gained else "passes no hard check more"
