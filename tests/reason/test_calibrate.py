"""Risks from labels: monotone, honest about their size, and kept whole."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary.core.errors import ArmillaryError, UsageError
from armillary.core.messages import ModelIdentity
from armillary.core.verdicts import Status, Verdict
from armillary.reason.calibrate import Calibration, Group, attach_risk, calibrate, check, expected_error, fit, group_of
from armillary.reason.calibration_file import load_calibration, save_calibration
from armillary.reason.curves import Label
from armillary.reason.evidence import Evidence

MODEL = ModelIdentity("tiny", "ab" * 32)
LABEL_LISTS = st.lists(st.builds(Label, st.sampled_from([0.5, 1.0, 1.7, 2.2, 3.0, 3.9]), st.booleans()), min_size=1)


def made_up(num_labels: int, *, seed: int = 0) -> list[Label]:
    """Answers that are wrong the more often the weaker their evidence is."""
    stream = random.Random(seed)
    strengths = [stream.choice([1.0, 2.0, 3.0]) for _ in range(num_labels)]
    return [Label(strength, stream.random() < 0.6 / strength**2) for strength in strengths]


def calibrated(labels: list[Label], **options: Any) -> Calibration:
    return calibrate(labels, model=MODEL, source="labels.jsonl", created="2026-01-01T00:00:00Z", **options)


def counts(groups: tuple[Group, ...]) -> list[tuple[float, int, int]]:
    return [(group.lowest_strength, group.num_labels, group.num_wrong) for group in groups]


def test_groups_follow_the_evidence() -> None:
    labels = [Label(1.0, True)] * 6 + [Label(1.0, False)] * 4 + [Label(3.0, True)] * 1 + [Label(3.0, False)] * 9
    assert counts(fit(labels, 10)) == [(1.0, 10, 6), (3.0, 10, 1)]


def test_neighbours_whose_risk_rises_with_the_evidence_are_pooled() -> None:
    labels = [Label(1.0, False)] * 10 + [Label(2.0, True)] * 5 + [Label(2.0, False)] * 5 + [Label(3.0, False)] * 10
    assert counts(fit(labels, 1)) == [(1.0, 20, 5), (3.0, 10, 0)]


def test_small_groups_join_the_neighbour_that_is_closest_in_risk() -> None:
    labels = [Label(1.0, True)] * 10 + [Label(2.0, True)] + [Label(2.0, False)] * 3 + [Label(3.0, False)] * 10
    assert counts(fit(labels, 10)) == [(1.0, 10, 10), (2.0, 14, 1)]
    assert counts(fit(labels, 15)) == [(1.0, 24, 11)]


@settings(max_examples=100, deadline=None)
@given(labels=LABEL_LISTS, min_group=st.integers(1, 12))
def test_more_evidence_never_means_more_risk(labels: list[Label], min_group: int) -> None:
    groups = fit(labels, min_group)
    assert all(before.risk > after.risk for before, after in pairwise(groups))
    assert all(before.lowest_strength < after.lowest_strength for before, after in pairwise(groups))
    assert sum(group.num_labels for group in groups) == len(labels)
    assert sum(group.num_wrong for group in groups) == sum(label.is_wrong for label in labels)
    assert len(groups) == 1 or min(group.num_labels for group in groups) >= min_group
    assert groups[0].lowest_strength == min(label.strength for label in labels)


def test_a_strength_between_two_groups_belongs_to_the_weaker() -> None:
    groups = (Group(1.0, 10, 5), Group(3.0, 10, 1))
    assert group_of(groups, 2.99) == groups[0]
    assert group_of(groups, 3.0) == groups[1]
    assert group_of(groups, 0.99) is None


def test_a_verdict_gets_the_risk_of_its_evidence() -> None:
    evidence = Evidence(Status.TESTED, num_agreeing=3, num_rivals=4)
    strong = evidence.strength
    calibration = calibrated([Label(strong, number == 0) for number in range(20)] + [Label(0.5, True)] * 10)
    risk = attach_risk(Verdict(Status.TESTED), evidence, calibration).risk
    assert risk is not None
    assert (risk.probability, risk.num_labels, risk.source) == (0.05, 20, "labels.jsonl")
    assert 0 < risk.low < 0.05 < risk.high < 0.3


@pytest.mark.parametrize("status", [Status.REFUTED, Status.SPEC_SUSPECT])
def test_what_is_known_to_be_wrong_has_no_risk(status: Status) -> None:
    assert attach_risk(Verdict(status), Evidence(Status.TESTED), calibrated(made_up(100))).risk is None


def test_weaker_evidence_than_any_label_has_no_risk() -> None:
    calibration = calibrated(made_up(100))
    assert calibration.risk_of(0.99) is None
    assert calibration.risk_of(99.0) is not None


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(UsageError, match="19 labels say too little about a risk"):
        calibrated(made_up(19))


@pytest.mark.parametrize(("is_wrong", "word"), [(True, "wrong"), (False, "right")])
def test_labels_of_one_kind_are_refused(is_wrong: bool, word: str) -> None:
    with pytest.raises(UsageError, match=f"all 30 labels are {word}"):
        calibrated([Label(1.0, is_wrong)] * 30)


def test_a_sound_calibration_errs_no_more_than_chance() -> None:
    expected, chance = check(made_up(600), 10)
    assert expected < 2 * chance
    assert 0 < chance < 0.06


@pytest.mark.parametrize(("num_labels", "share"), [(60, 0.8), (300, 0.9)])
def test_intervals_hold_the_true_risk_of_each_strength_nearly_as_often_as_they_say(
    num_labels: int, share: float
) -> None:
    true_risks = {1.0: 0.5, 2.0: 0.3, 2.5: 0.2, 3.0: 0.12, 3.3: 0.07, 3.6: 0.03}
    stream = random.Random(5)
    num_held = 0
    for _ in range(100):
        strengths = stream.choices(list(true_risks), k=num_labels)
        groups = fit([Label(strength, stream.random() < true_risks[strength]) for strength in strengths], 10)
        for strength, risk in true_risks.items():
            group = group_of(groups, strength) or groups[0]
            num_held += group.interval[0] <= risk <= group.interval[1]
    assert num_held / (100 * len(true_risks)) >= share


def test_labels_that_the_evidence_misleads_show_in_the_check() -> None:
    assert expected_error([(0.9, False)] * 40) == pytest.approx(0.9)
    assert expected_error([(0.5, number % 2 == 0) for number in range(40)]) == 0
    assert expected_error([(0.0, False)] * 20 + [(1.0, False)] * 20) == pytest.approx(0.5)


def test_a_label_that_is_weaker_than_all_in_its_training_part_is_still_checked() -> None:
    labels = [Label(0.1, True), *[Label(1.0, number % 2 == 0) for number in range(30)]]
    assert 0 <= check(labels, 5)[0] <= 1


def test_the_same_labels_give_the_same_calibration() -> None:
    assert calibrated(made_up(80)) == calibrated(made_up(80))


@pytest.mark.parametrize(
    ("labelled", "other", "fits"),
    [
        (ModelIdentity("", ""), MODEL, True),
        (MODEL, MODEL, True),
        (MODEL, ModelIdentity("/elsewhere/tiny.gguf", MODEL.sha256), True),
        (MODEL, ModelIdentity("tiny", "cd" * 32), False),
        (ModelIdentity("tiny"), MODEL, True),
        (MODEL, ModelIdentity("tiny"), True),
        (MODEL, ModelIdentity("other"), False),
    ],
)
def test_a_calibration_speaks_of_its_own_model_only(labelled: ModelIdentity, other: ModelIdentity, fits: bool) -> None:
    calibration = calibrate(made_up(40), model=labelled, source="s", created="c")
    assert calibration.fits(other) is fits


def test_a_calibration_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    calibration = calibrated(made_up(200))
    path = tmp_path / "home" / "calibration.json"
    save_calibration(calibrated(made_up(40)), path)
    save_calibration(calibration, path)
    assert load_calibration(path) == calibration
    assert [item.name for item in path.parent.iterdir()] == ["calibration.json"]


def test_no_file_is_no_calibration(tmp_path: Path) -> None:
    assert load_calibration(tmp_path / "calibration.json") is None


def test_a_calibration_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArmillaryError, match="cannot write"):
        save_calibration(calibrated(made_up(40)), tmp_path / "file" / "calibration.json")


def broken(**changes: Any) -> str:
    group = {"lowest_strength": 1.0, "num_labels": 20, "num_wrong": 10}
    body = {
        "format": 1,
        "model": {"name": "tiny", "sha256": ""},
        "source": "s",
        "created": "c",
        "expected_error": 0.1,
        "chance_error": 0.1,
        "groups": [group],
    }
    return json.dumps(body | changes)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        "[" * 100_000,
        broken(format=2),
        broken(groups=[]),
        broken(groups=[{"lowest_strength": 1.0, "num_labels": 0, "num_wrong": 0}]),
        broken(groups=[{"lowest_strength": 1.0, "num_labels": 5, "num_wrong": 6}]),
        broken(groups=[{"lowest_strength": level, "num_labels": 20, "num_wrong": 5} for level in (1.0, 2.0)]),
        broken(
            groups=[{"lowest_strength": level, "num_labels": 20, "num_wrong": 5 - int(level)} for level in (2.0, 1)]
        ),
        broken(model=None),
        broken(chance_error="no"),
    ],
)
def test_a_damaged_calibration_is_one_error_with_a_way_out(tmp_path: Path, content: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(content)
    with pytest.raises(UsageError, match="run armillary calibrate again"):
        load_calibration(path)
