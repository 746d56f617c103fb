"""Show on a page what a run spent its time on, and who had the cores. Judges nothing and reads no file."""

from __future__ import annotations

from armillary.reason.markup import NOTHING, Markup, join, tag
from armillary.reason.report_parts import table
from armillary.reason.report_spans import Cores, Span, Work
from armillary.reason.report_story import Story

TIMELINE_WIDTH = 1000
LANE_HEIGHT = 24
# Loading is the model's time, too: it has its lane and its colour.
LANES: tuple[Work, ...] = ("model", "checking", "other")
WORK_NAMES: dict[Work, str] = {
    "loading": "the model is loaded",
    "model": "the model writes",
    "checking": "code is checked",
    "other": "everything else",
}
TOLD = (
    "Told from the times at which events were written: what an attempt ends was the model's time, "
    "what a verdict, a choice or a request ends was checking; a candidate that was cut off leaves no event."
)
MEASURED = (
    "Measured while it ran, by a clock that nobody sets. Between two events only the sums are exact, not the order."
)


def times_section(story: Story) -> Markup:
    """A timeline, the sums by kind of work, and what the lease of the cores measured."""
    total_s = story.spans[-1].stop_s
    if total_s <= 0:
        return tag("p", "The trace tells of no time that passed.")
    chart = tag(
        "svg",
        tag("title", "When the model wrote and when code was checked"),
        *(_bar(span, total_s) for span in story.spans if span.length_s > 0),
        class_="timeline",
        viewBox=f"0 0 {TIMELINE_WIDTH} {LANE_HEIGHT * len(LANES)}",
        preserveAspectRatio="none",
        role="img",
    )
    marks = tag("p", *(tag("span", f"{total_s * part:.1f} s") for part in (0, 0.5, 1)), class_="scale")
    shown = [work for work in WORK_NAMES if work in LANES or story.total_s(work) > 0]
    rows = [_work_row(work, story.total_s(work), total_s) for work in shown]
    times = table("times", ("work", "seconds", "share"), rows)
    cores = story.answer.cores if story.answer else None
    source = MEASURED if cores else TOLD
    return join(chart, marks, times, _cores(cores) if cores else NOTHING, tag("p", source, class_="note"))


def _cores(cores: Cores) -> Markup:
    turns = f"{cores.num_handovers} time{'' if cores.num_handovers == 1 else 's'}"
    return tag(
        "p",
        f"The model had the cores for {cores.model_s:.2f} s, the verifier for {cores.verifier_s:.2f} s; they changed "
        f"hands {turns}. While code was checked, other threads of the process took {cores.overlap_s:.3f} s of a core.",
    )


def _bar(span: Span, total_s: float) -> Markup:
    scale = TIMELINE_WIDTH / total_s
    lane = _lane(span.work)
    return tag(
        "rect",
        tag("title", f"{span.label}: {span.length_s:.3f} s"),
        x=f"{span.start_s * scale:.2f}",
        y=str(LANES.index(lane) * LANE_HEIGHT + 2),
        # What is shorter than a pixel would not be seen.
        width=f"{max(span.length_s * scale, 1):.2f}",
        height=str(LANE_HEIGHT - 4),
        class_=lane,
    )


def _lane(work: Work) -> Work:
    return "model" if work == "loading" else work


def _work_row(work: Work, spent_s: float, total_s: float) -> tuple[Markup | str, ...]:
    swatch = tag("span", class_=f"swatch {_lane(work)}")
    return join(swatch, f" {WORK_NAMES[work]}"), f"{spent_s:.2f}", f"{spent_s / total_s:.0%}"
