"""Draw a risk-coverage curve as an SVG of its own, with its interval as a band. Computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from armillary.reason.curves import Point
from armillary.reason.markup import Markup, tag

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 620, 40, 340
NUM_TICKS = 5
TOPS = (0.05, 0.1, 0.2, 0.5, 1.0)
# What fewer answers show says too little to stretch the axis for.
MIN_SHOWN = 20
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1c2026; } .title { font-size: 15px; font-weight: 600; }
.paper { fill: #ffffff; } .grid { stroke: #d5dae0; } .band { fill: #2f6fb5; fill-opacity: 0.2; }
.curve { fill: none; stroke: #2f6fb5; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e8ec; } .paper { fill: #14171b; } .grid { stroke: #3a424b; }
  .band { fill: #7db7f2; } .curve { stroke: #7db7f2; }
}
"""


def plot(points: Sequence[Point]) -> str:
    """The whole file.

    Args:
        points: of one curve, by rising coverage; at least one.
    """
    top = _top_of_axis(points)
    last = points[-1]
    title = f"Risk against coverage, {last.num_labels} labelled answers, 95 % interval"
    drawing = tag(
        "svg",
        tag("title", title),
        tag("style", Markup(STYLE)),
        tag("rect", class_="paper", width=str(WIDTH), height=str(HEIGHT)),
        *_axes(top),
        tag("polygon", class_="band", points=_band(points, top)),
        tag("polyline", class_="curve", points=_path([(*ends, _y(point.risk, top)) for point, ends in _steps(points)])),
        tag("text", title, class_="title", x=str(LEFT), y="24"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawing.source}\n'


def _top_of_axis(points: Sequence[Point]) -> float:
    shown = [point.risk for point in points if point.num_covered >= MIN_SHOWN] or [point.risk for point in points]
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
    return BOTTOM - (BOTTOM - TOP) * min(risk, top) / top


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
