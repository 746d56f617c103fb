"""Tell from a trace's events what was done when: loading, writing, checking or anything else. Judges nothing.

Newer traces measured it. In older ones only the times at which events were written tell, and what came out then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from armillary.core.forms import exactly, number
from armillary.core.trace import TraceEvent

Work = Literal["loading", "model", "checking", "other"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the run in which one kind of work was done.

    Attributes:
        label: what came out at its end.
    """

    work: Work
    start_s: float
    stop_s: float
    label: str

    @property
    def length_s(self) -> float:
        """Seconds that it took."""
        return self.stop_s - self.start_s


@dataclass(frozen=True, slots=True)
class Cores:
    """Who had the cores during the search, as it was measured.

    Attributes:
        overlap_s: processor seconds of other threads while code was checked.
    """

    model_s: float
    verifier_s: float
    overlap_s: float
    num_handovers: int


def spent_s(before: TraceEvent, event: TraceEvent) -> dict[Work, float]:
    """Seconds from one event to the next by kind of work, in the order in which most of it was done.

    Raises:
        LookupError, TypeError: the event was not written by a solve.
    """
    if "times" not in event.body:
        return {_work(event): max(0.0, float(event.time) - float(before.time))}
    times, earlier = _times(event), _times(before)
    model_s, checking_s = (max(0.0, number(times[name])) for name in ("model_s", "verifier_s"))
    gap_s = number(times["at_s"]) - (number(earlier["at_s"]) if earlier else 0.0)
    return {"model": model_s, "checking": checking_s, "other": max(0.0, gap_s - model_s - checking_s)}


def spans_of(events: Sequence[TraceEvent]) -> tuple[Span, ...]:
    """All stretches of a run, from the loading of its model on; some took no time.

    Raises:
        LookupError, TypeError: the events were not written by a solve.
    """
    load_s = max(0.0, number(events[0].body.get("load_s") or 0.0))
    found = [Span("loading", 0.0, load_s, "the model is loaded")]
    is_measured = any("times" in event.body for event in events)
    for before, event in pairwise(events):
        if event.kind == "task" and is_measured:
            # The clock of the measured times runs already.
            continue
        for work, length_s in spent_s(before, event).items():
            start_s = found[-1].stop_s
            found.append(Span(work, start_s, start_s + length_s, _label(event)))
    return tuple(found)


def cores_of(body: Mapping[str, Any]) -> Cores | None:
    """Who had the cores, from the body of an answer; None in older traces.

    Raises:
        LookupError, TypeError: it was not written by a solve.
    """
    if "cores" not in body:
        return None
    found = exactly(body["cores"], dict)
    model_s, verifier_s, overlap_s = (number(found[name]) for name in ("model_s", "verifier_s", "overlap_s"))
    return Cores(model_s, verifier_s, overlap_s, exactly(found["num_handovers"], int))


def _times(event: TraceEvent) -> dict[str, Any]:
    return exactly(event.body.get("times", {}), dict)


def _work(event: TraceEvent) -> Work:
    """What was done until an event, told from what came out: the model stands still while code is checked.

    Before a request, programs are compared or traced; before the votes, it is both: inputs are searched, the model is
    asked, and what it says is tried. Candidates that were cut off leave no event, so their time counts as checking.
    """
    if event.kind == "attempt":
        return "model"
    return "checking" if event.kind in ("verdict", "selection", "proposal", "answer") else "other"


def _label(event: TraceEvent) -> str:
    name = event.body.get("id") or event.body.get("attempt") or event.body.get("chosen")
    return f"{event.kind} {name}" if isinstance(name, str) else event.kind
