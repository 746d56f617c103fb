"""Reading the user's labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trace_kit import TraceKit

from armillary.core.errors import NotFoundError, TraceError, UsageError
from armillary.core.messages import ModelIdentity
from armillary.core.verdicts import Status
from armillary.reason.curves import Label
from armillary.reason.evidence import Evidence, evidence_to_json
from armillary.reason.labels import read_labels

EVIDENCE = Evidence(Status.TESTED, num_examples=2, num_agreeing=3, num_rivals=4)
GIVEN = {"evidence": evidence_to_json(EVIDENCE), "is_right": True}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "labels.jsonl"
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def traced(folder: Path, name: str, **header: Any) -> str:
    kit = TraceKit(folder / name, **header)
    kit.attempt("a0", "x = 1")
    kit.answer("a0", evidence=evidence_to_json(EVIDENCE))
    kit.close()
    return name


def test_labels_come_from_traces_and_from_evidence(tmp_path: Path) -> None:
    lines = [{"trace": traced(tmp_path, "run.jsonl"), "is_right": False}, "", GIVEN]
    labels, model = read_labels(written(tmp_path, *lines))
    assert labels == (Label(EVIDENCE.strength, True), Label(EVIDENCE.strength, False))
    assert model == ModelIdentity("tiny", "ab" * 32)


def test_evidence_may_name_its_model(tmp_path: Path) -> None:
    named = GIVEN | {"model": {"name": "other", "sha256": ""}}
    assert read_labels(written(tmp_path, GIVEN, named))[1] == ModelIdentity("other", "")


def test_labels_of_two_models_are_refused(tmp_path: Path) -> None:
    first = {"trace": traced(tmp_path, "one.jsonl"), "is_right": True}
    second = {"trace": traced(tmp_path, "two.jsonl", model={"name": "other", "sha256": "00"}), "is_right": True}
    with pytest.raises(UsageError, match=r"labels.jsonl:2: .* of the model other, those before are of tiny"):
        read_labels(written(tmp_path, first, second))


def test_a_trace_that_is_labelled_twice_is_refused(tmp_path: Path) -> None:
    name = traced(tmp_path, "run.jsonl")
    lines = [{"trace": name, "is_right": True}, {"trace": f"../{tmp_path.name}/{name}", "is_right": True}]
    with pytest.raises(UsageError, match=r"labels.jsonl:2: .* label already, on line 1"):
        read_labels(written(tmp_path, *lines))


def test_traces_that_are_not_there_are_named_together(tmp_path: Path) -> None:
    lines = [{"trace": f"{number}.jsonl", "is_right": True} for number in range(5)]
    with pytest.raises(NotFoundError, match=r"not there: 0.jsonl of line 1, .*, 2.jsonl of line 3 and 2 more"):
        read_labels(written(tmp_path, *lines))
    with pytest.raises(NotFoundError, match=r"not there: 0.jsonl of line 1$"):
        read_labels(written(tmp_path, lines[0]))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "[" * 100_000,
        {"is_right": True},
        {"evidence": GIVEN["evidence"]},
        GIVEN | {"is_right": 1},
        GIVEN | {"trace": "run.jsonl"},
        {"trace": 3, "is_right": True},
        GIVEN | {"model": "tiny"},
        {"evidence": evidence_to_json(Evidence(Status.TESTED, num_rivals=-2)), "is_right": True},
    ],
)
def test_a_line_that_is_no_label_is_named(tmp_path: Path, line: Any) -> None:
    with pytest.raises(UsageError, match=r"labels.jsonl:2: not a label: "):
        read_labels(written(tmp_path, GIVEN, line))


def test_evidence_that_is_none_and_traces_without_an_answer_are_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"labels.jsonl:1: not an answer's evidence"):
        read_labels(written(tmp_path, {"evidence": {}, "is_right": True}))
    TraceKit(tmp_path / "run.jsonl").close()
    with pytest.raises(TraceError, match=r"labels.jsonl:1: the trace has no answer"):
        read_labels(written(tmp_path, {"trace": "run.jsonl", "is_right": True}))


def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no file"):
        read_labels(tmp_path / "nothing.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_labels(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8 text"):
        read_labels(tmp_path / "binary")
