"""The loop from proposal to answer, on a scripted model and a verifier that knows the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from reason_fakes import Clock, OracleVerifier, ScriptedModel, fenced, judged, task_with

from armillary.core.errors import ArmillaryError, BudgetError, ExitCode
from armillary.core.messages import Token, Usage
from armillary.core.tasks import Budget, TaskSpec, task_from_json
from armillary.core.trace import Trace, read_trace
from armillary.core.verdicts import Status, Verdict, verdict_from_json
from armillary.reason.evidence import Evidence
from armillary.reason.lease import CoreLease
from armillary.reason.loop import solve
from armillary.reason.search import Solution

RIGHT, ALSO_RIGHT, CLOSE, WRONG, WORSE = (f"def f(x): return {number}\n" for number in range(5))
TRUTH = {RIGHT: judged(3), ALSO_RIGHT: judged(3), CLOSE: judged(2), WRONG: judged(1), WORSE: judged(0)}


def model_of(*rounds: list[str], **more: Any) -> ScriptedModel:
    return ScriptedModel([[fenced(code) for code in codes] for codes in rounds], **more)


def run(
    model: ScriptedModel,
    *,
    task: TaskSpec | None = None,
    verifier: OracleVerifier | None = None,
    trace: Trace | None = None,
    **more: Any,
) -> Solution:
    verifier = verifier or OracleVerifier(TRUTH)
    lease = CoreLease(model.clock)
    return solve(task or task_with(), model, verifier, trace or Trace(), lease=lease, **more)


def kinds(trace: Trace) -> list[str]:
    return [event.kind for event in trace.events]


def bodies(trace: Trace, kind: str) -> list[dict[str, Any]]:
    return [event.body for event in trace.events if event.kind == kind]


def test_the_first_candidate_is_greedy_and_the_others_are_sampled_with_the_seed() -> None:
    model = model_of([RIGHT], [WRONG, WRONG])
    run(model, seed=7)
    greedy, sampled = model.requests
    assert (greedy.num_candidates, greedy.sampling.temperature) == (1, 0.0)
    assert (sampled.num_candidates, sampled.sampling.temperature, sampled.sampling.seed) == (2, 0.8, 7)


def test_a_right_candidate_is_found_among_wrong_ones() -> None:
    solution = run(model_of([WRONG], [WORSE, RIGHT]))
    assert (solution.code, solution.verdict.status, solution.stopped_by) == (RIGHT, Status.TESTED, "accepted")
    assert solution.attempt_id == "a2"
    assert len(solution.attempts) == 3


def test_the_round_is_finished_even_when_the_first_candidate_is_accepted() -> None:
    assert len(run(model_of([RIGHT], [WRONG, WORSE])).attempts) == 3


def test_the_biggest_cluster_of_accepted_answers_wins() -> None:
    others = [f"def f(x): return {number}\n" for number in (5, 6)]
    behaviour = {RIGHT: "odd", **dict.fromkeys([ALSO_RIGHT, *others], "common")}
    verifier = OracleVerifier(TRUTH | dict.fromkeys(others, judged(3)), behaviour)
    trace = Trace()
    model = model_of([RIGHT], [ALSO_RIGHT, *others])
    solution = run(model, verifier=verifier, trace=trace, task=task_with(num_candidates=4))
    assert solution.code == ALSO_RIGHT
    (selection,) = bodies(trace, "selection")
    assert selection["clusters"] == [["a1", "a2", "a3"], ["a0"]]
    assert solution.evidence == Evidence(Status.TESTED, num_examples=3, num_agreeing=3, num_rivals=4)


MANY = [f"def f(x): return {number}\n" for number in range(5, 30)]


def wave_sizes(agreement: str, num_candidates: int) -> list[int]:
    """Sizes of the requests when all answers are accepted and behave as told."""
    behaviour = {code: (agreement or code) for code in MANY}
    verifier = OracleVerifier(dict.fromkeys(MANY, judged(3)), behaviour)
    model = model_of(MANY[:1], MANY[1:4], MANY[4:8], MANY[8:16], MANY[16:])
    run(model, verifier=verifier, task=task_with(num_candidates=num_candidates))
    numbers = [(request.first_candidate, request.num_candidates) for request in model.requests]
    assert numbers[1:] == [(sum(n for _, n in numbers[1:place]), numbers[place][1]) for place in range(1, len(numbers))]
    return [count for _, count in numbers]


def test_proposals_end_as_soon_as_they_agree() -> None:
    assert wave_sizes("same", 16) == [1, 3]


def test_proposals_that_differ_go_on_to_the_budgets_end() -> None:
    assert wave_sizes("", 16) == [1, 3, 4, 8]
    assert wave_sizes("", 10) == [1, 3, 4, 2]
    assert wave_sizes("", 20) == [1, 3, 4, 8, 4]


VOTED = ["def f(x): return 5\n", "def f(x): return 6\n", "def f(x): return 7\n"]


def vote(verifier: OracleVerifier, *texts: str, trace: Trace | None = None) -> Solution:
    model = ScriptedModel([[fenced(VOTED[0])], [fenced(code) for code in VOTED[1:]], list(texts)])
    return run(model, verifier=verifier, trace=trace)


def test_where_accepted_answers_differ_the_models_own_tests_decide() -> None:
    verifier = OracleVerifier(dict.fromkeys(VOTED, judged(3)), answers=dict(zip(VOTED, (5, 6, 7), strict=True)))
    verifier.telling = ({"tuple": [9]},)
    trace = Trace()
    solution = vote(verifier, "assert f(9) == 6", "f(9) == 6", "6", "assert f(9) == 5", "`6`", trace=trace)
    assert solution.code == VOTED[1]
    (votes,) = bodies(trace, "votes")
    assert votes["inputs"] == [{"tuple": [9]}]
    assert [0, "assert f(9) == 6", 4, "stop"] in votes["answers"]
    assert len(votes["answers"]) == 5
    assert votes["tests"] == [[{"tuple": [9]}, 6, "", 4], [{"tuple": [9]}, 5, "", 1]]
    assert votes["passed"] == {"a0": [False, True], "a1": [True, False], "a2": [False, False]}
    assert [body["chosen"] for body in bodies(trace, "selection")] == ["a0", "a1"]
    assert solution.evidence is not None
    assert (solution.evidence.soft_passed, solution.evidence.soft_total) == (1, 2)


def test_what_the_model_says_of_other_calls_is_not_heard() -> None:
    verifier = OracleVerifier(dict.fromkeys(VOTED, judged(3)), telling=({"tuple": [9]},))
    trace = Trace()
    assert vote(verifier, "assert f(8) == 6", "", "I", "f", "assert", trace=trace).code == VOTED[0]
    (votes,) = bodies(trace, "votes")
    assert (votes["tests"], votes["passed"]) == ([], {"a0": [], "a1": [], "a2": []})
    assert [body["chosen"] for body in bodies(trace, "selection")] == ["a0"]


def test_no_votes_are_asked_for_without_tokens_for_them() -> None:
    verifier = OracleVerifier(dict.fromkeys(VOTED, judged(3)), telling=({"tuple": [9]},))
    model = ScriptedModel([[fenced(VOTED[0])], [fenced(code) for code in VOTED[1:]]])
    solution = run(model, verifier=verifier, task=task_with(max_tokens=360))
    assert solution.code == VOTED[0]
    assert len(model.requests) == 2


def test_the_last_lines_of_the_counterexample_are_shown_to_the_model() -> None:
    model = model_of([WRONG], [WORSE, WORSE], [RIGHT])
    run(model, verifier=OracleVerifier(TRUTH, steps=("line 1: return 3    x=1",)))
    assert "line 1: return 3    x=1" in model.requests[2].messages[-1].content


def test_a_rejection_without_a_counterexample_has_no_last_lines() -> None:
    rejected = replace(judged(1), counterexample=None, reason="the code does not load")
    model = model_of([WRONG], [WRONG, WRONG], [RIGHT])
    run(model, verifier=OracleVerifier(TRUTH | {WRONG: rejected}, steps=("line 1: return 3",)))
    assert "Your code was rejected: the code does not load" in model.requests[2].messages[-1].content
    assert "line 1" not in model.requests[2].messages[-1].content


def test_answers_that_no_input_tells_apart_ask_the_model_nothing() -> None:
    assert vote(OracleVerifier(dict.fromkeys(VOTED, judged(3)))).code == VOTED[0]


def test_behaviours_are_compared_only_where_they_can_decide() -> None:
    verifier = OracleVerifier(TRUTH)
    run(model_of([RIGHT], [RIGHT, WRONG]), verifier=verifier)
    run(model_of([WRONG], [WORSE, CLOSE]), verifier=verifier, task=task_with(max_rounds=0))
    assert verifier.compared == []
    run(model_of([RIGHT], [ALSO_RIGHT, WRONG]), verifier=verifier)
    assert verifier.compared == [[RIGHT, ALSO_RIGHT]]


def test_the_same_code_is_verified_once() -> None:
    verifier = OracleVerifier(TRUTH)
    solution = run(model_of([RIGHT], [RIGHT, RIGHT]), verifier=verifier)
    assert verifier.verified == [RIGHT]
    assert len(solution.attempts) == 3


def test_the_verifier_gets_the_seed() -> None:
    verifier = OracleVerifier(TRUTH)
    run(model_of([WRONG], [CLOSE, RIGHT]), verifier=verifier, seed=11)
    assert verifier.seeds == [11, 11, 11]


def test_the_best_refuted_answer_is_repaired_with_its_counterexample() -> None:
    model = model_of([WORSE], [CLOSE, WRONG], [RIGHT])
    solution = run(model)
    assert (solution.code, solution.stopped_by) == (RIGHT, "accepted")
    (*_, repair) = model.requests
    assert CLOSE in repair.messages[-2].content
    assert "f(2)" in repair.messages[-1].content
    assert repair.num_candidates == 1
    last = solution.attempts[-1]
    assert (last.id, last.round, last.parent) == ("a3", 1, "a1")


def test_revisions_are_half_as_many_and_sampled_anew_each_round() -> None:
    model = model_of([WORSE], [WORSE] * 3, [WORSE, WRONG], [WORSE, WORSE])
    run(model, task=task_with(num_candidates=4), seed=3)
    assert [(request.num_candidates, request.sampling.seed) for request in model.requests[2:]] == [(2, 4), (2, 5)]


def test_a_model_that_was_shown_its_mistake_in_vain_is_asked_from_the_start_in_steps() -> None:
    model = model_of([WRONG], [WRONG, WORSE], [WRONG], [WORSE])
    run(model)
    first, _, shown, afresh = model.requests
    assert WRONG in shown.messages[-2].content
    assert len(afresh.messages) == len(first.messages)
    assert "Write the steps" in afresh.messages[-1].content


def test_a_model_that_repeats_itself_is_sampled_hotter_in_the_next_wave() -> None:
    model = model_of([WRONG], [WRONG] * 3, [RIGHT] * 4)
    run(model, task=task_with(num_candidates=8))
    assert [request.sampling.temperature for request in model.requests] == [0.0, 0.8, 1.1]


def test_a_revision_that_gains_becomes_the_one_to_revise() -> None:
    model = model_of([WORSE], [WORSE, WORSE], [CLOSE], [RIGHT])
    assert run(model).code == RIGHT
    assert CLOSE in model.requests[-1].messages[-2].content


def test_a_revision_that_loses_evidence_is_thrown_away() -> None:
    trace = Trace()
    solution = run(model_of([CLOSE], [CLOSE, CLOSE], [WORSE], [WRONG]), trace=trace)
    assert (solution.code, solution.attempt_id) == (CLOSE, "a0")
    assert [body["accepted"] for body in bodies(trace, "revision")] == [False, False]
    assert bodies(trace, "revision")[0]["why"] == "loses examples[0], examples[1]"


def test_a_refuted_answer_is_handed_back_as_refuted() -> None:
    solution = run(model_of([WRONG], [WORSE, WORSE], [WRONG], [WRONG]))
    assert (solution.code, solution.verdict.status, solution.stopped_by) == (WRONG, Status.REFUTED, "rounds")
    assert not solution.verdict.is_accepted


def test_without_rounds_nothing_is_revised() -> None:
    model = model_of([WRONG], [WORSE, WORSE])
    assert run(model, task=task_with(max_rounds=0)).stopped_by == "rounds"
    assert len(model.requests) == 2


def test_a_single_candidate_makes_one_request() -> None:
    model = model_of([RIGHT])
    assert run(model, task=task_with(num_candidates=1)).code == RIGHT
    assert len(model.requests) == 1


def test_a_task_without_evidence_is_answered_by_agreement_and_stays_unknown() -> None:
    task = replace(task_with(), examples=())
    unknown = Verdict(Status.UNKNOWN, reason="nothing to test against")
    verifier = OracleVerifier(dict.fromkeys(TRUTH, unknown), {RIGHT: "odd", WRONG: "same", WORSE: "same"})
    model = model_of([RIGHT], [WRONG, WORSE, WRONG])
    solution = run(model, task=replace(task, budget=Budget(num_candidates=4)), verifier=verifier)
    assert (solution.code, solution.verdict.status, solution.stopped_by) == (WRONG, Status.UNKNOWN, "no_evidence")


UNDECIDED = Verdict(Status.UNKNOWN, reason="ran out of time")


def test_answers_that_can_all_not_be_decided_are_not_called_accepted() -> None:
    verifier = OracleVerifier({RIGHT: UNDECIDED, WRONG: UNDECIDED})
    solution = run(model_of([RIGHT], [WRONG, WRONG]), verifier=verifier)
    assert (solution.verdict.status, solution.stopped_by) == (Status.UNKNOWN, "undecided")


def test_beside_an_undecided_answer_the_best_refuted_one_is_revised() -> None:
    model, trace = model_of([CLOSE], [WORSE, WRONG], [RIGHT]), Trace()
    solution = run(model, verifier=OracleVerifier(TRUTH | {CLOSE: UNDECIDED}), trace=trace)
    assert WRONG in model.requests[-1].messages[-2].content
    assert (solution.code, solution.stopped_by) == (RIGHT, "accepted")
    (revision,) = bodies(trace, "revision")
    assert (revision["incumbent"], revision["accepted"]) == ("a0", True)


def test_an_undecided_answer_is_not_given_up_for_a_refuted_one() -> None:
    verifier = OracleVerifier(TRUTH | {RIGHT: UNDECIDED})
    solution = run(model_of([RIGHT], [WORSE, WORSE], [CLOSE], [CLOSE]), verifier=verifier)
    assert (solution.code, solution.stopped_by) == (RIGHT, "rounds")


def test_a_contradictory_task_costs_no_token() -> None:
    model, trace = model_of([RIGHT]), Trace()
    suspect = Verdict(Status.SPEC_SUSPECT, reason="examples 0 and 1 disagree")
    solution = run(model, verifier=OracleVerifier({}, on_task=suspect), trace=trace)
    assert (solution.verdict, solution.stopped_by) == (suspect, "spec_suspect")
    assert (solution.code, solution.attempt_id, solution.attempts, solution.usage) == ("", None, (), Usage())
    assert model.requests == []
    assert kinds(trace) == ["header", "task", "answer"]
    assert bodies(trace, "answer")[0]["why"] == "examples 0 and 1 disagree"


def test_a_contradiction_found_late_stops_the_batch_and_is_the_answer() -> None:
    model = model_of([RIGHT], [WRONG, "def f(x): return 'a very long one'\n"])
    verifier = OracleVerifier(TRUTH | {WRONG: Verdict(Status.SPEC_SUSPECT)})
    solution = run(model, verifier=verifier)
    assert (solution.attempt_id, solution.stopped_by) == ("a1", "spec_suspect")
    assert model.num_closed == 2
    assert [attempt.id for attempt in solution.attempts] == ["a0", "a1"]


def test_the_token_budget_shortens_answers_then_ends_the_search() -> None:
    model = model_of([WRONG], [WORSE, WORSE], [WRONG], prompt_tokens=200)
    solution = run(model, task=task_with(max_tokens=700, num_candidates=3, max_rounds=9))
    assert solution.stopped_by == "tokens"
    assert solution.usage.total_tokens <= 700
    assert all(request.sampling.max_tokens < 640 for request in model.requests)


def test_a_search_that_runs_out_of_tokens_still_answers_with_what_it_has() -> None:
    solution = run(model_of([RIGHT], prompt_tokens=4000), task=task_with(max_tokens=4000))
    assert (solution.code, solution.stopped_by) == (RIGHT, "tokens")
    assert solution.verdict.is_accepted


def test_the_time_budget_ends_the_search_between_two_tokens() -> None:
    model = model_of([RIGHT], [WRONG, WRONG], seconds_per_token=1.0)
    num_words = len(fenced(RIGHT).split(" "))
    solution = run(model, task=task_with(max_seconds=num_words + 3))
    assert (solution.code, solution.stopped_by) == (RIGHT, "seconds")
    assert solution.elapsed_s == num_words + 3
    assert solution.usage == Usage(100, num_words + 3)
    assert model.num_closed == 2


def test_time_that_ends_during_a_check_starts_no_further_request() -> None:
    clock = Clock()
    verifier = OracleVerifier(TRUTH, clock=clock, seconds_per_check=10.0)
    model = model_of([WRONG], clock=clock)
    assert run(model, verifier=verifier, task=task_with(max_seconds=5)).stopped_by == "seconds"
    assert len(model.requests) == 1


def test_time_that_ends_before_a_revision_keeps_the_incumbent() -> None:
    clock = Clock()
    trace = Trace(listeners=(lambda event: setattr(clock, "now_s", 99.0) if event.kind == "selection" else None,))
    solution = run(model_of([WRONG], [WORSE, WORSE], clock=clock), trace=trace, task=task_with(max_seconds=50))
    assert (solution.code, solution.stopped_by) == (WRONG, "seconds")


def test_a_budget_too_small_for_one_answer_is_an_error_that_says_what_is_needed() -> None:
    with pytest.raises(BudgetError, match=r"10 tokens.*need about") as caught:
        run(model_of([RIGHT]), task=task_with(max_tokens=10))
    assert caught.value.exit_code == ExitCode.BUDGET


def test_a_model_too_slow_for_one_answer_is_an_error() -> None:
    with pytest.raises(BudgetError, match="2 s"):
        run(model_of([RIGHT], seconds_per_token=1.0), task=task_with(max_seconds=2))


def test_a_model_that_fails_on_every_candidate_is_an_error_that_says_why() -> None:
    model = ScriptedModel([["x"], ["y", "z"]], reasons={"x": "error", "y": "error", "z": "error"})
    with pytest.raises(ArmillaryError, match="all 3 candidates: the line went dead"):
        run(model)


def test_a_model_that_fails_once_is_forgiven_and_recorded() -> None:
    trace = Trace()
    model = ScriptedModel([["half"], [fenced(RIGHT), fenced(WRONG)]], reasons={"half": "error"})
    assert run(model, trace=trace).code == RIGHT
    assert bodies(trace, "attempt")[0]["error"] == "the line went dead"
    assert "error" not in bodies(trace, "attempt")[1]


def test_code_that_passes_counts_even_if_the_model_broke_off_after_it() -> None:
    text = fenced(RIGHT)
    model = ScriptedModel([[text]], reasons={text: "error"})
    assert run(model, task=task_with(num_candidates=1)).verdict.is_accepted


def test_the_cost_is_the_sum_over_all_requests() -> None:
    solution = run(model_of([WRONG], [WORSE, WORSE], [RIGHT]))
    assert solution.usage.prompt_tokens == 300
    assert solution.usage.completion_tokens == sum(attempt.num_tokens for attempt in solution.attempts)


def test_times_are_those_of_the_clock() -> None:
    clock = Clock()
    model = model_of([RIGHT], [WRONG, WRONG], clock=clock, seconds_per_token=0.5)
    solution = run(model, verifier=OracleVerifier(TRUTH, clock=clock, seconds_per_check=2.0))
    num_words = len(fenced(RIGHT).split(" "))
    assert solution.first_verdict_s == num_words * 0.5 + 2.0
    assert solution.elapsed_s == 3 * num_words * 0.5 + 2 * 2.0
    assert solution.tokens_per_s == 2.0


def test_tokens_are_reported_under_the_number_of_their_attempt() -> None:
    seen: list[Token] = []
    solution = run(model_of([WRONG], [WORSE, WRONG], [RIGHT]), on_token=seen.append)
    assert {f"a{token.candidate}" for token in seen} == {attempt.id for attempt in solution.attempts}


def test_every_decision_is_in_the_trace_in_order(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    with Trace(path) as trace:
        run(model_of([WRONG], [WORSE, CLOSE], [RIGHT]), trace=trace)
    assert [event.kind for event in read_trace(path)] == [
        *("header", "task"),
        *("proposal", "attempt", "verdict"),
        *("proposal", "attempt", "verdict", "attempt", "verdict"),
        "selection",
        *("proposal", "attempt", "verdict"),
        *("selection", "revision"),
        "answer",
    ]


def test_the_header_names_format_model_jail_and_seed() -> None:
    trace = Trace()
    run(model_of([RIGHT], [RIGHT, RIGHT]), trace=trace, seed=4)
    (header,) = bodies(trace, "header")
    assert set(header) == {"format", "rules", "armillary", "python", "model", "sandbox_tier", "seed", "load_s"}
    assert header["model"] == {"name": "scripted", "sha256": "0" * 64}
    assert (header["format"], header["sandbox_tier"], header["seed"], header["load_s"]) == (1, "A", 4, None)


def test_task_and_verdicts_can_be_read_back_from_the_trace() -> None:
    trace = Trace()
    task = task_with()
    solution = run(model_of([RIGHT], [WRONG, WORSE]), task=task, trace=trace)
    assert task_from_json(bodies(trace, "task")[0]) == task
    verdicts = {body["attempt"]: verdict_from_json(body["verdict"]) for body in bodies(trace, "verdict")}
    assert verdicts == {attempt.id: attempt.verdict for attempt in solution.attempts}


def test_proposals_and_attempts_are_recorded_whole() -> None:
    trace = Trace()
    model = model_of([WRONG], [WORSE, WORSE], [RIGHT])
    run(model, trace=trace)
    proposal = bodies(trace, "proposal")[-1]
    assert (proposal["round"], proposal["parent"], proposal["num_candidates"]) == (1, "a0", 1)
    assert proposal["messages"] == [[item.role, item.content] for item in model.requests[-1].messages]
    assert proposal["sampling"]["temperature"] == 0.8
    attempt = bodies(trace, "attempt")[-1]
    assert attempt["text"] == fenced(RIGHT)
    assert attempt["code"] == RIGHT
    assert (attempt["id"], attempt["finish_reason"]) == ("a3", "stop")


def test_the_answer_event_names_attempt_status_and_cost() -> None:
    trace = Trace()
    solution = run(model_of([RIGHT], [WRONG, WRONG]), trace=trace)
    (body,) = bodies(trace, "answer")
    assert (body["attempt"], body["status"], body["stopped_by"]) == ("a0", "TESTED", "accepted")
    assert body["usage"]["completion_tokens"] == solution.usage.completion_tokens


def test_an_interrupt_lets_the_model_go_and_leaves_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    model = model_of([WRONG], [WORSE, RIGHT])

    class Interrupted(OracleVerifier):
        def verify(self, *arguments: Any, **more: Any) -> Verdict:
            if len(self.verified) == 1:
                raise KeyboardInterrupt
            return super().verify(*arguments, **more)

    with pytest.raises(KeyboardInterrupt), Trace(path) as trace:
        run(model, verifier=Interrupted(TRUTH), trace=trace)
    assert model.num_closed == 2
    assert [event.kind for event in read_trace(path)][-3:] == ["verdict", "proposal", "attempt"]


def test_each_request_is_given_the_seconds_that_are_left() -> None:
    model = model_of([WRONG], [WRONG, WORSE], seconds_per_token=0.5)
    run(model, task=task_with(max_seconds=1000, max_rounds=0))
    first, second = (request.max_seconds for request in model.requests)
    assert first == 1000
    assert second is not None
    assert second < first


def test_candidates_that_a_model_cancels_are_no_attempts() -> None:
    with pytest.raises(BudgetError, match="no answer was finished"):
        run(model_of([WRONG], [WORSE, WORSE], reasons={fenced(WRONG): "cancelled", fenced(WORSE): "cancelled"}))
    model = model_of([RIGHT], [WRONG, WORSE], reasons={fenced(WRONG): "cancelled"})
    solution = run(model)
    assert [attempt.id for attempt in solution.attempts] == ["a0", "a2"]
    assert solution.usage.completion_tokens == model.num_sent_tokens
