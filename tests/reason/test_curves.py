"""Risk against coverage, as numbers and as a drawing."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from armillary.reason.curve_plot import plot
from armillary.reason.curves import Label, area, as_csv, risk_coverage, wilson

NAMESPACE = "{http://www.w3.org/2000/svg}"
LABELS = [Label(3.0, False), Label(3.0, False), Label(2.0, True), Label(2.0, False), Label(1.0, True)]


@pytest.mark.parametrize(
    ("num_hits", "n", "low", "high"),
    [(0, 20, 0.0, 0.1611), (20, 20, 0.8389, 1.0), (3, 120, 0.0085, 0.0709), (1, 2, 0.0945, 0.9055)],
)
def test_the_interval_is_wilsons(num_hits: int, n: int, low: float, high: float) -> None:
    assert wilson(num_hits, n) == pytest.approx((low, high), abs=1e-4)


def test_equal_evidence_comes_in_together_the_strongest_first() -> None:
    points = risk_coverage(LABELS)
    assert [(point.strength, point.coverage, point.risk) for point in points] == [
        (3.0, 0.4, 0.0),
        (2.0, 0.8, 0.25),
        (1.0, 1.0, 0.4),
    ]


def test_the_order_of_the_labels_does_not_matter() -> None:
    assert risk_coverage(LABELS[::-1]) == risk_coverage(LABELS)


def test_the_area_is_the_mean_risk_over_coverage() -> None:
    assert area(risk_coverage(LABELS)) == pytest.approx(0.0 * 0.4 + 0.25 * 0.4 + 0.4 * 0.2)


def test_evidence_that_tells_nothing_has_the_share_of_wrong_answers_as_area() -> None:
    assert area(risk_coverage([Label(1.0, number < 3) for number in range(10)])) == pytest.approx(0.3)


def test_the_table_has_a_head_and_a_line_per_point() -> None:
    lines = as_csv(risk_coverage(LABELS)).splitlines()
    assert lines[0] == "strength,num_covered,coverage,num_wrong,risk,low,high"
    assert lines[2].startswith("2.0,4,0.800000,1,0.250000,0.0455")
    assert len(lines) == 4


def test_the_plot_is_a_drawing_with_units_on_both_axes() -> None:
    root = ElementTree.fromstring(plot(risk_coverage(LABELS)).encode())
    texts = ["".join(item.itertext()) for item in root.iter(f"{NAMESPACE}text")]
    assert "coverage (% of the labelled tasks)" in texts
    assert "risk (% wrong of the covered)" in texts
    assert {"risk", "95 % interval", "risk of all answers, 40%"} <= set(texts)
    assert "Risk against coverage, 5 labelled answers" in texts
    assert {"0%", "100%", "20%"} <= set(texts)


def test_the_plotted_curve_is_a_step_per_point() -> None:
    root = ElementTree.fromstring(plot(risk_coverage(LABELS)).encode())
    curve = next(root.iter(f"{NAMESPACE}polyline")).attrib["points"]
    assert curve == "70.0,370.0 286.8,370.0 286.8,295.0 503.6,295.0 503.6,250.0 612.0,250.0"
    band = next(root.iter(f"{NAMESPACE}polygon")).attrib["points"].split()
    assert len(band) == 12
    assert all(70 <= float(pair.split(",")[1]) <= 370 for pair in band)


def test_what_a_few_answers_show_is_cut_off_at_the_frame() -> None:
    labels = [Label(float(number), number in (97, 99)) for number in range(100)]
    root = ElementTree.fromstring(plot(risk_coverage(labels)).encode())
    frame = next(item for item in root if item.tag == f"{NAMESPACE}svg")
    heights = [float(pair.split(",")[1]) for pair in frame.find(f"{NAMESPACE}polyline").attrib["points"].split()]
    assert min(heights) < float(frame.attrib["y"])
    assert frame.attrib["viewBox"] == "70 70 542 300"


@pytest.mark.parametrize(("num_wrong", "top"), [(0, "20%"), (8, "20%"), (15, "25%"), (90, "100%")])
def test_the_axis_is_as_high_as_the_interval_needs(num_wrong: int, top: str) -> None:
    labels = [Label(100.0 - number, number >= 100 - num_wrong) for number in range(100)]
    root = ElementTree.fromstring(plot(risk_coverage(labels)).encode())
    texts = [item.text for item in root.iter(f"{NAMESPACE}text") if item.attrib.get("text-anchor") == "end"]
    assert texts[-1] == top
