"""Draw a risk-coverage curve as an SVG of its own, with its interval as a band. Computes nothing.

The axis is as high as the points of some answers need; what lies above it, such as the interval of a single answer, is
cut off at the frame.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.reason.curves import Point
from armillary.reason.markup import Markup, tag

WIDTH, HEIGHT = 640, 430
LEFT, RIGHT, TOP, BOTTOM = 70, 612, 70, 370
NUM_TICKS = 5
TOPS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
# What fewer answers show says too little to stretch the axis for.
MIN_SHOWN = 20
LEGEND = ((LEFT, "curve", "risk"), (LEFT + 90, "band", "95 % interval"), (LEFT + 240, "overall", "risk of all answers"))
STYLE = """
:root { color-scheme: light dark; background: #ffffff; }
text { font: 13px system-ui, sans-serif; fill: #1c2026; } .title { font-size: 15px; font-weight: 600; }
.paper { fill: #ffffff; } .grid { stroke: #d5dae0; } .band { fill: #2f6fb5; fill-opacity: 0.22; }
.curve { fill: none; stroke: #2f6fb5; stroke-width: 2.5; }
.overall { stroke: #9a4b00; stroke-width: 1.5; stroke-dasharray: 6 4; }
@media (prefers-color-scheme: dark) {
  :root { background: #14171b; }
  text { fill: #e4e8ec; } .paper { fill: #14171b; } .grid { stroke: #3a424b; }
  .band { fill: #7db7f2; fill-opacity: 0.25; } .curve { stroke: #7db7f2; } .overall { stroke: #f0ad6a; }
}
"""


def plot(points: Sequence[Point]) -> str:
    """The whole file.

    Args:
        points: of one curve, by rising coverage; at least one.
    """
    top = _top_of_axis(points)
    last = points[-1]
    title = f"Risk against coverage, {last.num_labels} labelled answers"
    overall = f"{last.risk:.0%}"
    drawing = tag(
        "svg",
        tag("title", f"{title}; of all {overall} are wrong"),
        tag("style", Markup(STYLE)),
        tag("rect", class_="paper", width=str(WIDTH), height=str(HEIGHT)),
        tag("text", title, class_="title", x=str(LEFT), y="24"),
        *_legend(overall),
        *_axes(top),
        _curve(points, top),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing.source}\n'


def _curve(points: Sequence[Point], top: float) -> Markup:
    """What the plot is for; the inner drawing cuts off what is outside of the frame."""
    frame = (str(LEFT), str(TOP), str(RIGHT - LEFT), str(BOTTOM - TOP))
    overall_y = f"{_y(points[-1].risk, top):.1f}"
    return tag(
        "svg",
        tag("polygon", class_="band", points=_band(points, top)),
        tag("line", class_="overall", x1=str(LEFT), x2=str(RIGHT), y1=overall_y, y2=overall_y),
        tag("polyline", class_="curve", points=_path([(*ends, _y(point.risk, top)) for point, ends in _steps(points)])),
        **dict(zip(("x", "y", "width", "height"), frame, strict=True)),
        viewBox=" ".join(frame),
    )


def _legend(overall: str) -> list[Markup]:
    parts = []
    for x, kind, name in LEGEND:
        if kind == "band":
            parts.append(tag("rect", class_=kind, x=str(x), y="40", width="30", height="14"))
        else:
            parts.append(tag("line", class_=kind, x1=str(x), x2=str(x + 30), y1="47", y2="47"))
        shown = f"{name}, {overall}" if kind == "overall" else name
        parts.append(tag("text", shown, x=str(x + 38), y="51"))
    return parts


def _top_of_axis(points: Sequence[Point]) -> float:
    shown = [point.high for point in points if point.num_covered >= MIN_SHOWN] or [point.high for point in points]
    return next(top for top in TOPS if top >= max(shown))


def _axes(top: float) -> list[Markup]:
    parts = []
    for tick in range(NUM_TICKS + 1):
        share = tick / NUM_TICKS
        x, y = f"{_x(share):.1f}", f"{_y(top * share, top):.1f}"
        parts += [
            tag("line", class_="grid", x1=x, x2=x, y1=str(TOP), y2=str(BOTTOM)),
            tag("line", class_="grid", x1=str(LEFT), x2=str(RIGHT), y1=y, y2=y),
            tag("text", f"{share:.0%}", x=x, y=str(BOTTOM + 20), text_anchor="middle"),
            tag("text", f"{top * share:.0%}", x=str(LEFT - 8), y=y, dy="4", text_anchor="end"),
        ]
    middle_x, middle_y = str((LEFT + RIGHT) // 2), str((TOP + BOTTOM) // 2)
    parts.append(
        tag("text", "coverage (% of the labelled tasks)", x=middle_x, y=str(HEIGHT - 16), text_anchor="middle")
    )
    turn = f"rotate(-90 18 {middle_y})"
    parts.append(tag("text", "risk (% wrong of the covered)", x="18", y=middle_y, text_anchor="middle", transform=turn))
    return parts


def _x(coverage: float) -> float:
    return LEFT + (RIGHT - LEFT) * coverage


def _y(risk: float, top: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * risk / top


def _steps(points: Sequence[Point]) -> list[tuple[Point, tuple[float, float]]]:
    """Each point with the left and the right end of its step."""
    lefts = [0.0, *(point.coverage for point in points[:-1])]
    return [(point, (_x(left), _x(point.coverage))) for left, point in zip(lefts, points, strict=True)]


def _band(points: Sequence[Point], top: float) -> str:
    steps = _steps(points)
    above = [(left, right, _y(point.high, top)) for point, (left, right) in steps]
    below = [(right, left, _y(point.low, top)) for point, (left, right) in reversed(steps)]
    return _path(above + below)


def _path(steps: Sequence[tuple[float, float, float]]) -> str:
    return " ".join(f"{start:.1f},{y:.1f} {stop:.1f},{y:.1f}" for start, stop, y in steps)
