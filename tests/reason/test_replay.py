"""Decisions are derived again from a trace: all agree when nothing was changed, and what was changed is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as limits
from hypothesis import strategies as st
from reason_fakes import Clock, OracleVerifier, ScriptedModel, fenced, judged, task_with

from armillary.core.errors import TraceError
from armillary.core.messages import Event, Request
from armillary.core.tasks import Budget, TaskSpec
from armillary.core.trace import Trace, read_trace
from armillary.core.values import Json
from armillary.core.verdicts import Status, Verdict
from armillary.reason.lease import CoreLease
from armillary.reason.loop import solve
from armillary.reason.replay import NO_ANSWERS, NO_CONFIDENCE, DecisionReport, DecisionRow, replay_decisions

CODES = [f"def f(x): return {number}\n" for number in range(8)]
RIGHT, ALSO_RIGHT, CLOSE, WRONG, WORSE, ODD, SUSPECT, UNDECIDED = CODES
TRUTH = {
    RIGHT: judged(3),
    ALSO_RIGHT: judged(3),
    CLOSE: judged(2),
    WRONG: judged(1),
    WORSE: judged(0),
    ODD: judged(3),
    SUSPECT: Verdict(Status.SPEC_SUSPECT, reason="examples 0 and 1 disagree"),
    UNDECIDED: Verdict(Status.UNKNOWN, reason="ran out of time"),
}
Change = Callable[[str, dict[str, Any]], dict[str, Any] | None]


def verifier(**more: Any) -> OracleVerifier:
    return OracleVerifier(TRUTH, answers=dict(zip(CODES, range(8), strict=True)), **more)


def run(
    path: Path, *rounds: list[str], task: TaskSpec | None = None, judge: OracleVerifier | None = None, **more: Any
) -> Path:
    """The trace of a search in which the model says this; what is no program is a vote."""
    script = [[fenced(text) if text in CODES else text for text in texts] for texts in rounds]
    model = ScriptedModel(script, **more)
    with Trace(path) as trace:
        solve(task or task_with(), model, judge or verifier(), trace, lease=CoreLease(model.clock), seed=5)
    return path


def changed(path: Path, change: Change) -> Path:
    """The same trace, its chain sound, with other bodies; None leaves the event out."""
    other = path.with_name("changed.jsonl")
    other.unlink(missing_ok=True)
    with Trace(other) as trace:
        for event in read_trace(path):
            body = change(event.kind, dict(event.body))
            if body is not None:
                trace.append(event.kind, body)
    return other


def without(kind: str, *fields: str) -> Change:
    """Leaves out events of a kind, or only some of their fields."""

    def change(at: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if at != kind:
            return body
        return {name: value for name, value in body.items() if name not in fields} if fields else None

    return change


def put(kind: str, *, place: int = 0, **fields: Json) -> Change:
    """Puts other values into the event of a kind that comes at a place."""
    seen = iter(range(100))

    def change(at: str, body: dict[str, Any]) -> dict[str, Any]:
        return body | fields if at == kind and next(seen) == place else body

    return change


def broken(report: DecisionReport) -> list[tuple[str, tuple[str, ...]]]:
    return [(row.about, row.differences) for row in report.rows if not row.matches]


TELLING: tuple[Json, ...] = ({"tuple": [9]},)
VOTES = ["assert f(9) == 1", "1", "f(9) == 0", "1", "`1`"]


def voted(path: Path, **more: Any) -> Path:
    return run(path, [RIGHT], [ALSO_RIGHT, ODD], VOTES, judge=verifier(telling=TELLING), **more)


def repaired(path: Path) -> Path:
    return run(path, [WORSE], [CLOSE, WRONG], [WRONG], [RIGHT])


def test_the_models_own_tests_and_the_choices_by_them_are_derived_again(tmp_path: Path) -> None:
    rows: list[DecisionRow] = []
    report = replay_decisions(voted(tmp_path / "t"), verifier(telling=TELLING), on_row=rows.append)
    assert broken(report) == []
    assert [row.about for row in report.rows] == [
        "more proposals after 1",
        "no more proposals after 3",
        "choice of a0",
        "2 tests by the model on 1 input",
        "choice of a1",
        "answer a1, TESTED",
    ]
    assert (tuple(rows), report.notes, report.matches) == (report.rows, (), True)


def test_revisions_are_derived_again(tmp_path: Path) -> None:
    report = replay_decisions(repaired(tmp_path / "t"), verifier())
    assert broken(report) == []
    assert [row.about for row in report.rows] == [
        "more proposals after 1",
        "no more proposals after 3",
        "choice of a1",
        "revision of a1",
        "choice of a3",
        "a3 not instead of a1",
        "revision of a1",
        "choice of a4",
        "a4 instead of a1",
        "answer a4, TESTED",
    ]


@pytest.mark.parametrize(
    ("rounds", "about"),
    [
        ([[UNDECIDED], [UNDECIDED, WORSE], [RIGHT]], "revision of a2"),
        ([[UNDECIDED], [UNDECIDED, UNDECIDED]], "answer a0, UNKNOWN"),
        ([[RIGHT], [SUSPECT, WRONG]], "answer a1, SPEC_SUSPECT"),
        ([[CLOSE], [WORSE, WRONG], [SUSPECT]], "answer a0, REFUTED"),
        ([[CLOSE], [CLOSE, CLOSE], [WORSE], [WORSE]], "answer a0, REFUTED"),
        ([[RIGHT], [RIGHT, RIGHT]], "answer a0, TESTED"),
    ],
)
def test_every_way_to_end_is_derived_again(tmp_path: Path, rounds: list[list[str]], about: str) -> None:
    report = replay_decisions(run(tmp_path / "t", *rounds), verifier())
    assert broken(report) == []
    assert about in [row.about for row in report.rows]


def test_a_task_without_evidence_is_derived_again(tmp_path: Path) -> None:
    path = run(tmp_path / "t", [UNDECIDED], [UNDECIDED, UNDECIDED], task=replace(task_with(), examples=()))
    assert replay_decisions(path, verifier()).rows[-1] == DecisionRow(11, "answer a0, UNKNOWN")


def test_a_task_that_contradicts_itself_needs_no_attempt(tmp_path: Path) -> None:
    path = run(tmp_path / "t", judge=verifier(on_task=TRUTH[SUSPECT]))
    report = replay_decisions(path, verifier())
    assert [(row.about, row.matches) for row in report.rows] == [("answer without an attempt, SPEC_SUSPECT", True)]
    forged = replay_decisions(changed(path, put("answer", attempt="a0")), verifier())
    assert broken(forged) == [("answer a0, SPEC_SUSPECT", ("attempt was a0, is null",))]


def test_what_ran_out_is_taken_as_it_stands(tmp_path: Path) -> None:
    path = run(tmp_path / "t", [RIGHT], task=task_with(max_tokens=4000), prompt_tokens=4000)
    assert replay_decisions(path, verifier()).matches
    clock = Clock()
    late = verifier(clock=clock, seconds_per_check=10.0)
    path = run(tmp_path / "u", [WORSE], [CLOSE, WRONG], task=task_with(max_seconds=25), clock=clock, judge=late)
    assert [event.body["stopped_by"] for event in read_trace(path) if event.kind == "answer"] == ["seconds"]
    assert replay_decisions(path, verifier()).matches


def test_proposals_that_agree_early_are_found_to_be_settled(tmp_path: Path) -> None:
    task = task_with(num_candidates=8)
    alike = {RIGHT: "same", ALSO_RIGHT: "same", ODD: "same"}
    path = run(tmp_path / "t", [RIGHT], [ALSO_RIGHT, ODD, RIGHT], task=task, judge=verifier(behaviour=alike))
    assert replay_decisions(path, verifier(behaviour=alike)).matches
    differing = replay_decisions(path, verifier())
    assert ("no more proposals after 4", ("the attempts were not settled",)) in broken(differing)


def test_proposals_beyond_what_was_settled_are_found(tmp_path: Path) -> None:
    path = run(tmp_path / "t", [RIGHT], [ALSO_RIGHT, ODD, RIGHT], [WRONG], task=task_with(num_candidates=5))
    alike = {RIGHT: "same", ALSO_RIGHT: "same", ODD: "same"}
    found = broken(replay_decisions(path, verifier(behaviour=alike)))
    assert ("more proposals after 4", ("the attempts were settled",)) in found


@pytest.mark.parametrize(
    ("change", "about", "difference"),
    [
        (put("selection", chosen="a2"), "choice of a2", "chosen was a2, is a0"),
        (put("selection", place=1, chosen="a0"), "choice of a0", "chosen was a0, is a1"),
        (put("selection", share=0.9), "choice of a0", "share was 0.9, is 0.5"),
        (put("selection", is_settled=True), "choice of a0", "is_settled was true, is false"),
        (put("selection", why="it is mine"), "choice of a0", "why was it is mine, is a0 passed 3 hard checks"),
        (put("votes", inputs=[{"tuple": [8]}]), "2 tests by the model on 1 input", "inputs was"),
        (put("votes", tests=[]), "0 tests by the model on 1 input", "tests was [], is"),
        (put("votes", passed={}), "2 tests by the model on 1 input", "passed was {}, is"),
        (put("answer", attempt="a0"), "answer a0, TESTED", "attempt was a0, is a1"),
        (put("answer", status="PROVED"), "answer a1, PROVED", "status was PROVED, is TESTED"),
        (put("answer", evidence=None), "answer a1, TESTED", "evidence was null, is"),
        (put("answer", stopped_by="undecided"), "answer a1, TESTED", "stopped_by was undecided, is accepted"),
        (without("votes"), "answer a1, TESTED", "accepted attempts differ, and the model was not heard"),
    ],
)
def test_a_changed_decision_is_named(tmp_path: Path, change: Change, about: str, difference: str) -> None:
    report = replay_decisions(changed(voted(tmp_path / "t"), change), verifier(telling=TELLING))
    assert not report.matches
    differences = dict(broken(report))[about]
    assert any(item.startswith(difference) for item in differences), differences


def test_other_words_of_the_model_lead_to_another_choice(tmp_path: Path) -> None:
    answers: Json = [[0, "0", 1, "stop"], [0, "nonsense", 1, "stop"]]
    report = replay_decisions(changed(voted(tmp_path / "t"), put("votes", answers=answers)), verifier(telling=TELLING))
    assert {about for about, _ in broken(report)} == {
        "2 tests by the model on 1 input",
        "choice of a1",
        "answer a1, TESTED",
    }


@pytest.mark.parametrize(
    ("change", "about", "difference"),
    [
        (put("proposal", place=2, parent="a0"), "revision of a0", "parent was a0, is a1"),
        (put("revision", accepted=True), "a3 instead of a1", "accepted was true, is false"),
        (put("revision", place=1, why="I like it"), "a4 instead of a1", "why was I like it, is keeps all"),
        (put("revision", place=1, accepted=False), "a4 not instead of a1", "accepted was false, is true"),
        (put("answer", attempt="a1"), "answer a1, TESTED", "attempt was a1, is a4"),
        (without("selection"), "answer a4, TESTED", "attempt was a4, is null"),
        (without("selection"), "revision of a1", "there was nothing to decide on yet"),
        (without("selection"), "a3 not instead of a1", "there was nothing to decide on yet"),
        (without("attempt"), "", ""),
    ],
)
def test_a_changed_revision_is_named(tmp_path: Path, change: Change, about: str, difference: str) -> None:
    path = changed(repaired(tmp_path / "t"), change)
    if not about:
        with pytest.raises(TraceError, match="event 3: not a sound verdict"):
            replay_decisions(path, verifier())
        return
    report = replay_decisions(path, verifier())
    differences = [item for found, row in broken(report) if found == about for item in row]
    assert any(item.startswith(difference) for item in differences), broken(report)


def test_a_revision_after_the_end_is_found(tmp_path: Path) -> None:
    path = run(tmp_path / "t", [WORSE], [CLOSE, WRONG], [WRONG], [WORSE], task=task_with(max_rounds=2))
    short = changed(
        path, put("task", budget={"num_candidates": 3, "max_rounds": 1, "max_tokens": 16000, "max_seconds": 300})
    )
    found = broken(replay_decisions(short, verifier()))
    assert ("revision of a1", ("the search had come to its end: rounds",)) in found


def test_events_that_come_twice_or_too_early_are_found(tmp_path: Path) -> None:
    path, other = voted(tmp_path / "t"), tmp_path / "other"
    events = list(read_trace(path))
    by_kind = {event.kind: event for event in events}
    with Trace(other) as trace:
        for event in events[:2]:
            trace.append(event.kind, event.body)
        trace.append("selection", by_kind["selection"].body)
        trace.append("votes", by_kind["votes"].body)
        for event in events[2:]:
            trace.append(event.kind, event.body)
            if event.kind == "votes":
                trace.append("votes", event.body)
    found = broken(replay_decisions(other, verifier(telling=TELLING)))
    assert found == [
        ("choice of a1", ("there was nothing to decide on yet",)),
        ("2 tests by the model on 1 input", ("there was nothing to decide on yet",)),
        ("2 tests by the model on 1 input", ("it was heard already",)),
    ]


def test_a_choice_that_should_have_followed_the_votes_is_missed(tmp_path: Path) -> None:
    last = put("selection", place=1, chosen="gone")
    path = changed(voted(tmp_path / "t"), last)
    path = changed(path.rename(tmp_path / "u"), lambda kind, body: None if body.get("chosen") == "gone" else body)
    found = dict(broken(replay_decisions(path, verifier(telling=TELLING))))
    assert "the model was heard, and nothing was chosen by it" in found["answer a1, TESTED"]


def test_an_interrupted_run_is_derived_as_far_as_it_goes(tmp_path: Path) -> None:
    events = list(read_trace(voted(tmp_path / "t")))
    for length in range(2, len(events)):
        path = tmp_path / f"{length}"
        with Trace(path) as trace:
            for event in events[:length]:
                trace.append(event.kind, event.body)
        assert broken(replay_decisions(path, verifier(telling=TELLING))) == []


def test_a_trace_without_what_the_model_said_is_taken_as_far_as_it_goes(tmp_path: Path) -> None:
    path = changed(voted(tmp_path / "t"), without("votes", "answers"))
    report = replay_decisions(path, verifier(telling=TELLING))
    assert (broken(report), report.notes) == ([], (NO_ANSWERS,))
    forged = changed(path.rename(tmp_path / "u"), put("votes", passed={}))
    assert not replay_decisions(forged, verifier(telling=TELLING)).matches


def test_a_trace_without_confidences_is_trusted_where_they_alone_decide(tmp_path: Path) -> None:
    tied = run(tmp_path / "t", [WORSE], [WRONG, WRONG], task=task_with(max_rounds=0))
    older = changed(tied, without("attempt", "mean_logprob"))
    report = replay_decisions(older, verifier())
    assert (broken(report), report.notes) == ([], (NO_CONFIDENCE,))
    other = changed(older.rename(tmp_path / "u"), put("selection", chosen="a2"))
    assert (
        not dict(broken(replay_decisions(other, verifier()))).get("choice of a2", ("chosen",))[0].startswith("chosen")
    )
    wrong = changed(other.rename(tmp_path / "v"), put("selection", chosen="a0"))
    assert any("chosen was a0" in item for _, row in broken(replay_decisions(wrong, verifier())) for item in row)


@pytest.mark.parametrize("rules", [0, 99])
def test_decisions_by_other_rules_are_told_and_not_held_against_the_trace(tmp_path: Path, rules: int) -> None:
    path = changed(voted(tmp_path / "t"), put("header", rules=rules))
    path = changed(path.rename(tmp_path / "u"), put("selection", chosen="a2"))
    report = replay_decisions(path, verifier(telling=TELLING))
    assert broken(report)
    assert report.matches
    assert report.notes[0].startswith(f"its decisions were taken by other rules than this version's ({rules}, here ")


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (put("task", examples=3), "event 1: not a sound task"),
        (put("header", seed="7"), "event 1: not a sound task"),
        (put("proposal", round=None), "event 2: not a sound proposal"),
        (put("attempt", mean_logprob="high"), "not a sound verdict"),
        (without("selection", "chosen"), "not a sound selection"),
        (put("votes", answers=[[0, "1", 1]]), "not a sound votes"),
        (put("votes", answers=[[5, "1", 1, "stop"]]), "not a sound votes"),
        (put("votes", inputs=[{"odd": 1}]), "not a sound votes"),
        (without("header"), "not the trace of a solve"),
    ],
)
def test_events_that_no_solve_writes_are_refused(tmp_path: Path, change: Change, place: str) -> None:
    with pytest.raises(TraceError, match=place):
        replay_decisions(changed(voted(tmp_path / "t"), change), verifier(telling=TELLING))


def test_events_of_kinds_that_are_not_known_decide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "u"
    with Trace(path) as trace:
        for event in read_trace(voted(tmp_path / "t")):
            trace.append(event.kind, event.body)
            if event.kind == "task":
                trace.append("weather", {"is": "fine"})
    assert replay_decisions(path, verifier(telling=TELLING)).matches


@dataclass
class Endless(ScriptedModel):
    """Says the same programs over and over; a short question is about a call, and gets votes."""

    texts: list[str] = field(default_factory=list)
    votes: list[str] = field(default_factory=list)

    def stream(self, request: Request) -> Iterator[Event]:
        is_vote = "Do not write the function" in request.messages[-1].content
        start = sum(item.num_candidates for item in self.requests)
        while len(self.script) <= len(self.requests):
            numbers = range(start, start + request.num_candidates)
            said = [fenced(self.texts[number % len(self.texts)]) for number in numbers]
            self.script.append(self.votes if is_vote else said)
        return super().stream(request)


@limits(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.sampled_from([*CODES[:6], UNDECIDED]), min_size=14, max_size=14),
    groups=st.lists(st.sampled_from("abc"), min_size=8, max_size=8),
    num_candidates=st.integers(1, 8),
    max_tokens=st.sampled_from([900, 2000, 16_000]),
    votes=st.lists(st.sampled_from(["0", "1", "5", "x"]), min_size=5, max_size=5),
)
def test_whatever_a_search_decides_comes_out_the_same_again(
    tmp_path: Path, texts: list[str], groups: list[str], num_candidates: int, max_tokens: int, votes: list[str]
) -> None:
    behaviour = dict(zip(CODES, groups, strict=True))
    path = tmp_path / "any.jsonl"
    path.unlink(missing_ok=True)
    judge = verifier(behaviour=behaviour, telling=TELLING)
    task = replace(task_with(), budget=Budget(num_candidates, 2, max_tokens))
    model = Endless([], texts=texts, votes=votes)
    with Trace(path) as trace:
        solve(task, model, judge, trace)
    report = replay_decisions(path, verifier(behaviour=behaviour, telling=TELLING))
    assert (broken(report), report.notes) == ([], ())
