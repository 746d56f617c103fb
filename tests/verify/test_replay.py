from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from armillary.core.errors import NotFoundError, TraceError
from armillary.core.tasks import Example, Parameter, TaskSpec, task_to_json
from armillary.core.trace import FORMAT_VERSION, Trace
from armillary.core.verdicts import Behaviour, Prover, Status, Verdict, verdict_to_json
from armillary.verify.execution import Jail
from armillary.verify.replay import ReplayRow, has_looked_for_proofs, replay
from armillary.verify.verifier import CodeVerifier

TASK = TaskSpec(
    "p", "f", parameters=(Parameter("x", "int"),), examples=(Example((1,), 2),), reference="def f(x): return x + 1"
)
CODES = {"a0": "def f(x): return x", "a1": "def f(x): return x + 1"}


def body(verdict: Verdict) -> dict[str, Any]:
    return dict(verdict_to_json(verdict))


def write(path: Path, events: Sequence[tuple[str, dict[str, Any]]]) -> Path:
    with Trace(path) as trace:
        for kind, fields in events:
            trace.append(kind, fields)
    return path


class Echo:
    """Judges from a table: right code is TESTED, the rest REFUTED."""

    sandbox_tier = "A"

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        if not code:
            return Verdict(Status.SPEC_SUSPECT, seed=seed)
        return Verdict(Status.TESTED if "+ 1" in code else Status.REFUTED, seed=seed, elapsed_ms=3.0)

    def behaviours(self, task: TaskSpec, codes: Sequence[str], *, seed: int = 0) -> list[Behaviour]:
        return [(code,) for code in codes]


REFUTED, TESTED = Verdict(Status.REFUTED, seed=5), Verdict(Status.TESTED, seed=5)
START: list[tuple[str, dict[str, Any]]] = [
    ("header", {"format": FORMAT_VERSION, "seed": 5}),
    ("task", dict(task_to_json(TASK))),
]
ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("attempt", {"id": "a0", "code": CODES["a0"]}),
    ("verdict", {"attempt": "a0", "verdict": body(REFUTED)}),
    ("attempt", {"id": "a1", "code": CODES["a1"]}),
    ("verdict", {"attempt": "a1", "verdict": body(TESTED)}),
    ("selection", {"whatever": 1}),
]
ANSWER: list[tuple[str, dict[str, Any]]] = [("answer", {"attempt": "a1", "status": "TESTED"})]


def test_a_real_trace_is_derived_again_bit_for_bit(tmp_path: Path, jail: Jail) -> None:
    verifier = CodeVerifier(jail, num_inputs=20)
    verdicts = {name: verifier.verify(TASK, code, seed=5) for name, code in CODES.items()}
    events = [*START]
    for name, code in CODES.items():
        events += [
            ("attempt", {"id": name, "code": code}),
            ("verdict", {"attempt": name, "verdict": body(verdicts[name])}),
        ]
    rows: list[ReplayRow] = []
    report = replay(write(tmp_path / "t", [*events, *ANSWER]), CodeVerifier(jail, num_inputs=20), on_row=rows.append)
    assert report.matches
    assert [(row.attempt, row.recorded, row.replayed) for row in rows] == [
        ("a0", "REFUTED", "REFUTED"),
        ("a1", "TESTED", "TESTED"),
    ]
    assert report.rows == tuple(rows)


def test_a_verdict_that_differs_is_named_with_its_fields(tmp_path: Path) -> None:
    forged = [
        ("verdict", {"attempt": "a0", "verdict": body(Verdict(Status.TESTED, seed=4))})
        if event[0] == "verdict" and event[1]["attempt"] == "a0"
        else event
        for event in ATTEMPTS
    ]
    report = replay(write(tmp_path / "t", [*START, *forged, *ANSWER]), Echo())
    assert not report.matches
    assert [(row.attempt, row.matches, row.differences) for row in report.rows] == [
        ("a0", False, ("status", "seed")),
        ("a1", True, ()),
    ]


PROVER = Prover((("solver", "2.0"), ("tool", "1.0")), 5.0, 2000)


class Proving(Echo):
    """Gives the same verdict on everything."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def verify(self, task: TaskSpec, code: str, *, seed: int = 0) -> Verdict:
        return self.verdict


def proving(status: Status, reason: str, prover: Prover | None = PROVER) -> Verdict:
    return Verdict(status, reason=reason, seed=5, prover=prover)


@pytest.mark.parametrize(
    ("recorded", "again", "differences", "note"),
    [
        (proving(Status.TESTED, "37 paths"), proving(Status.TESTED, "37 paths"), (), ""),
        (
            proving(Status.TESTED, "37 paths"),
            proving(Status.TESTED, "35 paths"),
            (),
            "what was not proved is told in other words",
        ),
        (proving(Status.TESTED, "a", None), proving(Status.TESTED, "b", None), ("reason",), ""),
        (proving(Status.PROVED, "37 paths"), proving(Status.PROVED, "35 paths"), ("reason",), ""),
        (proving(Status.PROVED, "a"), proving(Status.TESTED, "b"), ("status", "reason"), ""),
        (
            proving(Status.PROVED, "a"),
            proving(Status.PROVED, "a", Prover((("tool", "1.1"),), 2.5, 9)),
            (),
            "the prover was solver 2.0 with tool 1.0, 5 CPU-s and 2000 paths for each promise, "
            "is tool 1.1, 2.5 CPU-s and 9 paths for each promise",
        ),
        (
            proving(Status.TESTED, "a", None),
            proving(Status.TESTED, "a", Prover((("tool", "1.1"),), 2.5, 9)),
            (),
            "the prover was none, is tool 1.1, 2.5 CPU-s and 9 paths for each promise",
        ),
    ],
)
def test_a_proof_must_come_again_and_only_what_was_not_proved_may_be_told_otherwise(
    tmp_path: Path, recorded: Verdict, again: Verdict, differences: tuple[str, ...], note: str
) -> None:
    events = [
        ("attempt", {"id": "a0", "code": CODES["a0"]}),
        ("verdict", {"attempt": "a0", "verdict": body(recorded)}),
        ("answer", {"attempt": "a0", "status": recorded.status.value}),
    ]
    path = write(tmp_path / "t", [*START, *events])
    [row] = replay(path, Proving(again)).rows
    assert (row.differences, row.note) == (differences, note)
    assert has_looked_for_proofs(path) == (recorded.prover is not None)


def test_an_attempt_without_verdict_is_listed(tmp_path: Path) -> None:
    events = [*START, *ATTEMPTS, ("attempt", {"id": 7, "code": "x"}), *ANSWER]
    report = replay(write(tmp_path / "t", events), Echo())
    assert (report.unjudged, report.matches) == (("7",), True)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        (ATTEMPTS, "the trace has no answer"),
        (
            [*ATTEMPTS, ("answer", {"attempt": "a0", "status": "TESTED"})],
            "the answer says TESTED, its attempt a0 was judged REFUTED",
        ),
        (
            [*ATTEMPTS, ("answer", {"attempt": "a9", "status": "TESTED"})],
            "rests on attempt a9, of which the trace holds no verdict",
        ),
        ([*ATTEMPTS, ("answer", {"attempt": None, "status": "TESTED"})], "the answer says TESTED and names no attempt"),
        ([*ATTEMPTS, ("answer", {"attempt": None, "status": "UNKNOWN"})], "says UNKNOWN and names no attempt"),
        ([*ATTEMPTS[1:], *ANSWER], "event 2: verdict on attempt a0, which the trace does not hold yet"),
        (
            [*ATTEMPTS[1::-1], *ATTEMPTS[2:], *ANSWER],
            "event 2: verdict on attempt a0, which the trace does not hold yet",
        ),
        ([*ATTEMPTS, ATTEMPTS[2], *ANSWER], "event 7: attempt a1 stands here a second time"),
        (
            [*ATTEMPTS, ("verdict", {"attempt": "a0", "verdict": body(TESTED)}), *ANSWER],
            "event 7: a second verdict on attempt a0",
        ),
        ([*ATTEMPTS, *ANSWER, *ANSWER], "event 8: answer after the answer"),
        ([*ATTEMPTS[:3], *ANSWER, ATTEMPTS[3]], "event 6: verdict after the answer"),
    ],
)
def test_an_answer_must_rest_on_a_verdict(
    tmp_path: Path, events: list[tuple[str, dict[str, Any]]], problem: str
) -> None:
    report = replay(write(tmp_path / "t", [*START, *events]), Echo())
    assert not report.matches
    assert any(problem in found for found in report.problems)


def test_a_suspected_task_is_judged_again_without_an_attempt(tmp_path: Path) -> None:
    path = write(tmp_path / "t", [*START, ("answer", {"attempt": None, "status": "SPEC_SUSPECT"})])
    assert replay(path, Echo()).matches
    path = write(tmp_path / "u", [*START, ("answer", {"attempt": None, "status": "UNKNOWN"})])
    assert replay(path, Echo()).matches


def test_a_suspicion_that_does_not_come_back_is_a_problem(tmp_path: Path, jail: Jail) -> None:
    path = write(tmp_path / "t", [*START, ("answer", {"attempt": None, "status": "SPEC_SUSPECT"})])
    report = replay(path, CodeVerifier(jail, num_inputs=5))
    assert report.problems == ("the answer says SPEC_SUSPECT, the task was judged REFUTED now",)


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ([], "not the trace of a solve"),
        (START[:1], "not the trace of a solve"),
        (START[::-1], "not the trace of a solve"),
        ([ATTEMPTS[0], *START], "not the trace of a solve"),
        ([START[0], ATTEMPTS[0], START[1]], "not the trace of a solve"),
        ([*START, START[0]], "event 2: a second header"),
        ([*START, *ATTEMPTS, START[1]], "event 7: a second task"),
        ([("header", {"seed": 5}), START[1]], "no int 'format'"),
        (
            [("header", {"format": FORMAT_VERSION + 1, "seed": 5}), START[1]],
            "format 2 is not known, this version reads 1",
        ),
        ([("header", {"format": FORMAT_VERSION}), START[1]], "no int 'seed'"),
        ([("header", {"format": FORMAT_VERSION, "seed": True}), START[1]], "no int 'seed'"),
        ([START[0], ("task", {})], "event 1: not a task"),
        ([*START, ("attempt", {"id": "a"})], "no str 'code'"),
        ([*START, ("attempt", {"code": "a"})], "needs the field 'id'"),
        ([*START, ("attempt", {"id": True, "code": "a"})], "needs the field 'id'"),
        ([*START, ("verdict", {"attempt": "a"})], "not a verdict"),
        ([*START, ("answer", {"attempt": "a"})], "no str 'status'"),
    ],
)
def test_a_trace_of_another_form_is_refused(
    tmp_path: Path, events: list[tuple[str, dict[str, Any]]], problem: str
) -> None:
    with pytest.raises(TraceError, match=problem):
        replay(write(tmp_path / "t", events), Echo())


def test_a_changed_line_breaks_the_chain(tmp_path: Path) -> None:
    path = write(tmp_path / "t", [*START, *ATTEMPTS, *ANSWER])
    path.write_text(path.read_text(encoding="utf-8").replace("return x + 1", "return x + 2"), encoding="utf-8")
    with pytest.raises(TraceError, match="changed after it was written"):
        replay(path, Echo())


def test_a_missing_trace_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        replay(tmp_path / "none", Echo())
