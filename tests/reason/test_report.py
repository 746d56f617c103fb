"""Reports: complete, well-formed, and deaf to whatever a model or a task says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_kit import report, text_of
from trace_kit import REFUTED, TESTED, TraceKit, repaired

from armillary.core.errors import ArmillaryError, NotFoundError, TraceError, UsageError
from armillary.core.tasks import Example, Predicate, TaskSpec
from armillary.core.trace import Trace, read_trace
from armillary.core.values import Json
from armillary.core.verdicts import Check, Counterexample, Prover, Status, Verdict, verdict_to_json
from armillary.reason.evidence import Evidence, evidence_to_json
from armillary.reason.report import require_free, write_report

GOLDEN = Path(__file__).parents[1] / "golden" / "traces" / "compress-0.1.0.jsonl"
ATTACKS = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</pre></code></details></main></body></html>",
    "</style><style>@import 'http://evil.example/x.css';</style>",
    "<!-- <svg onload=alert(1)> --> ]]> &lt;b&gt; &#60;b&#62;",
    "javascript:alert(1)",
    "access = 'user\u202e \u2066# check\u2069 \u2066'",
    "\x00\x1b[31m\ud800\u200b\ufeff",
)


def golden_copy(folder: Path, num_lines: int, rest: bytes = b"") -> Path:
    lines = GOLDEN.read_bytes().splitlines(keepends=True)
    path = folder / f"run{num_lines}.jsonl"
    path.write_bytes(b"".join(lines[:num_lines]) + rest)
    return path


def test_a_report_tells_the_answer_and_what_was_tested(tmp_path: Path) -> None:
    text = text_of(report(golden_copy(tmp_path, 100)))
    for words in (
        "TESTED passed 3 examples and 200 generated inputs (seed 0)",
        "What was tested: 7 checks on 403 inputs, seed 0",
        "Attempt a11, TESTED",
        "11 takes the place of a0: keeps all 4 hard checks",
        "4 attempts: a11, a9, a10, a8",
        "qwen2.5-coder-0.5b",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        list(read_trace(GOLDEN))[-1].hash,
        "armillary replay run100.jsonl",
        "2026-11-30",
        "the model writes19.2095%",
    ):
        assert words in text, words


@pytest.mark.parametrize("num_lines", range(2, 33))
def test_an_interrupted_run_is_told_as_far_as_it_went(tmp_path: Path, num_lines: int) -> None:
    page = report(golden_copy(tmp_path, num_lines))
    assert "No answer: the run was interrupted." in page
    assert ("The best attempt so far was" in page) == (num_lines > 20)


def test_a_last_line_that_was_cut_is_left_out_with_a_note(tmp_path: Path) -> None:
    page = report(golden_copy(tmp_path, 30, rest=b'{"body":{"chosen":"a1'))
    assert "The last line was cut short" in page


@pytest.mark.parametrize("rest", [b"{}\n", b"{}\n{}"])
def test_a_damaged_trace_is_refused(tmp_path: Path, rest: bytes) -> None:
    with pytest.raises(TraceError):
        report(golden_copy(tmp_path, 30, rest))


def test_a_trace_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = golden_copy(tmp_path, 33)
    path.write_text(path.read_text().replace("text[0]", "text[1]", 1))
    with pytest.raises(TraceError, match="changed after it was written"):
        report(path)


def test_everything_that_the_task_demands_is_on_the_page(tmp_path: Path) -> None:
    text = text_of(report(repaired(tmp_path / "run.jsonl").close()))
    for words in (
        "n: int  # int | 0..9",
        "f(3)6user",
        "f(-1)raises ValueErrordocstring",
        "n >= 0 (user)",
        "result == 2 * n (user)",
        "f(n + 1) > f(n) (model)",
        "ValueError when n < 0",
        "steps <= 9",
        "Known-good program to compare withdef f(n):\n    return n + n",
    ):
        assert words in text, words


def test_a_revision_shows_what_it_changed(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert "<del>-    return n + <mark>1</mark>\n</del><ins>+    return n + <mark>n</mark>\n</ins>" in page
    assert "a1, revises a0 TESTED chosen" in text_of(page)


def test_only_the_chosen_attempt_is_unfolded(tmp_path: Path) -> None:
    page = report(repaired(tmp_path / "run.jsonl").close())
    assert re.findall(r'<details class="attempt" open=""><summary><h4>(\w+)', page) == ["a1"]


def test_a_revision_that_was_not_better_is_told(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1\n", REFUTED)
    kit.selection("a0", ["a0"])
    kit.attempt("a1", "x = 1\n", REFUTED, parent="a0", round=1, text="x = 1")
    kit.revision("a0", "a1", accepted=False)
    text = text_of(report(kit.close()))
    assert "a1 does not take the place of a0: " in text
    assert "The same program again." in text
    assert "The best attempt so far was a0." in text


def test_a_suspect_task_has_a_report_without_attempts(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl", TaskSpec("Odd.", "f", examples=(Example((1,), 2), Example((1,), 3))))
    kit.answer(None, "SPEC_SUSPECT", why="two examples of one call")
    text = text_of(report(kit.close()))
    assert "SPEC_SUSPECT two examples of one call" in text
    assert "no answer can be right" in text
    assert "There is none." in text
    assert "Nothing was tried." in text


def test_the_evidence_for_an_answer_is_told_as_numbers(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1")
    evidence = Evidence(Status.TESTED, 2, 90, 3, 4, 1, 2)
    kit.answer("a0", evidence=evidence_to_json(evidence))
    text = text_of(report(kit.close()))
    assert "2 examples, 90 generated inputs" in text
    assert "3 of 4 first proposals behave like it" in text
    assert "passes 1 of 2" in text
    assert f"strength{evidence.strength:.2f}" in text


def test_evidence_without_the_models_tests_does_not_mention_them(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.answer(None, evidence=evidence_to_json(Evidence(Status.TESTED)))
    assert "own tests" not in text_of(report(kit.close()))


def test_time_is_told_apart_by_what_came_out_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.time", lambda: now.__setitem__(0, now[0] + 1.0) or now[0])
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.proposal()
    kit.attempt("a0", "x = 1")
    kit.selection("a0")
    kit.votes(passed={})
    kit.answer("a0")
    text = text_of(report(kit.close()))
    assert "the model writes1.0014%" in text
    assert "code is checked4.0057%" in text
    assert "everything else2.0029%" in text
    assert "0.0 s3.5 s7.0 s" in text


TIMES = {"at_s": 0.0, "model_s": 0.0, "verifier_s": 0.0}
CORES = {"model_s": 3.0, "verifier_s": 4.5, "overlap_s": 0.0, "num_handovers": 1}


def measured(path: Path, **answer: Any) -> TraceKit:
    """One attempt with votes, its times measured."""
    kit = TraceKit(path, load_s=2.0)
    kit.trace.append("proposal", {"round": 0, "num_candidates": 1, "messages": [], "sampling": {}, "times": TIMES})
    kit.attempt("a0", "x = 1", None, times={"at_s": 3.0, "model_s": 2.5, "verifier_s": 0.0})
    times = {"at_s": 7.0, "model_s": 0.0, "verifier_s": 4.0}
    kit.trace.append("verdict", {"attempt": "a0", "verdict": verdict_to_json(TESTED), "times": times})
    kit.votes(passed={}, times={"at_s": 8.0, "model_s": 0.5, "verifier_s": 0.5})
    kit.answer("a0", **{"cores": CORES, "times": {"at_s": 8.0, "model_s": 0.0, "verifier_s": 0.0}} | answer)
    return kit


def test_times_that_were_measured_are_shown_whatever_the_wall_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(1000, 0, -1))
    monkeypatch.setattr("time.time", lambda: float(next(times)))
    page = report(measured(tmp_path / "run.jsonl").close())
    text = text_of(page)
    for words in (
        "the model is loaded2.0020%",
        "the model writes3.0030%",
        "code is checked4.5045%",
        "everything else0.505%",
        "0.0 s5.0 s10.0 s",
        "the model is loaded: 2.000 s",
        "The model had the cores for 3.00 s, the verifier for 4.50 s; they changed hands 1 time.",
        "other threads of the process took 0.000 s of a core",
        "Measured while it ran",
        "checked in 4.00 s",
    ):
        assert words in text, words


def test_hand_overs_are_counted_in_words(tmp_path: Path) -> None:
    kit = measured(tmp_path / "run.jsonl", cores=CORES | {"num_handovers": 12})
    assert "they changed hands 12 times." in text_of(report(kit.close()))


@pytest.mark.parametrize(
    "answer",
    [{"cores": 3}, {"cores": {}}, {"cores": CORES | {"model_s": "3"}}, {"times": 3}, {"times": {}}],
)
def test_times_that_no_solve_writes_are_refused(tmp_path: Path, answer: dict[str, Any]) -> None:
    with pytest.raises(TraceError, match="not a sound"):
        report(measured(tmp_path / "run.jsonl", **answer).close())


def test_a_clock_that_was_set_back_makes_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(1000, 0, -1))
    monkeypatch.setattr("time.time", lambda: float(next(times)))
    assert "no time that passed" in report(repaired(tmp_path / "run.jsonl").close())


def test_a_choice_that_was_made_again_replaces_the_first_one(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1")
    kit.attempt("a1", "x = 2")
    kit.selection("a0")
    kit.selection("a1")
    assert "The best attempt so far was a1." in text_of(report(kit.close()))


def test_the_models_own_tests_are_shown_with_who_passes_them(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1")
    kit.attempt("a1", "x = 2")
    kit.selection("a0", ["a0"], ["a1"])
    kit.votes()
    kit.trace.append("selection", {"chosen": "a0", "clusters": [["a0"], ["a1"]], "why": "heard", "share": 0.75})
    text = text_of(report(kit.close()))
    assert "f(0)03a0" in text
    assert "f(0)raises ValueError1none" in text
    assert "a0 chosen: heard; its group has 75% of the weight" in text


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "No input was found on which the groups differ, so the model was not asked."),
        ([{"tuple": [0]}], "on inputs on which the groups differ: it said nothing that could be tried."),
    ],
)
def test_a_hearing_without_result_is_told_in_a_sentence(tmp_path: Path, inputs: list[Json], words: str) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.votes(inputs=inputs, tests=[], passed={})
    assert words in text_of(report(kit.close()))


def test_what_looked_for_proofs_is_told_with_the_attempt(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    prover = Prover((("crosshair-tool", "0.0.1"), ("z3-solver", "4.1")), 5.0, 2000)
    kit.attempt("a0", "x = 1", replace(TESTED, prover=prover))
    words = "looked for proofscrosshair-tool 0.0.1 with z3-solver 4.1, 5 CPU-s and 2000 paths for each promise"
    assert words in text_of(report(kit.close()))


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": 3},
        {"tests": [[1]]},
        {"tests": [[{"tuple": [0]}, 0, "", 3]], "passed": {"a0": []}},
        {"tests": [[{"odd": 1}, 0, "", 3]]},
        {"passed": []},
    ],
)
def test_votes_that_no_solve_writes_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.votes(**change)
    with pytest.raises(TraceError, match="not a sound votes"):
        report(kit.close())


def test_a_choice_among_revisions_counts_only_once_it_was_accepted(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1", REFUTED)
    kit.selection("a0")
    kit.attempt("a1", "x = 2", parent="a0", round=1)
    kit.selection("a1")
    assert "The best attempt so far was a0." in text_of(report(kit.close()))


def test_a_model_error_is_on_the_page(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "", None, finish_reason="error", error="the line went dead")
    text = text_of(report(kit.close()))
    assert "errorthe line went dead" in text
    assert "never judged" in text


def test_an_answer_that_was_never_judged_is_shown_as_such(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1", None)
    kit.answer("a0", "UNHEARD")
    text = text_of(report(kit.close()))
    assert "Attempt a0, never judged" in text
    assert "UNHEARD passed" in text


def test_a_verdict_without_checks_has_no_table(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    kit.attempt("a0", "x = 1", Verdict(Status.UNKNOWN))
    kit.answer("a0", "UNKNOWN")
    assert "no check was made" in report(kit.close())


def test_events_of_unknown_kinds_are_shown(tmp_path: Path) -> None:
    kit = repaired(tmp_path / "run.jsonl")
    kit.trace.append("lease", {"cores": [0]})
    assert 'lease {"cores":[0]}' in text_of(report(kit.close()))


def test_two_hundred_attempts_stay_a_page_in_a_chain_or_side_by_side(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    code = "".join(f"def g{line}(n):\n    return n + {line}\n" for line in range(30))
    for number in range(200):
        parent = f"a{number - 1}" if number % 2 else None
        kit.attempt(f"a{number}", f"{code}# {number}\n", TESTED, parent=parent, round=number % 3)
    kit.selection("a3", [f"a{number}" for number in range(200)])
    kit.answer("a3")
    page = report(kit.close())
    assert page.count('<details class="attempt"') == 200
    assert len(page) < 10_000_000


def test_a_chain_of_a_thousand_revisions_is_no_deeper_than_a_reader_can_follow(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl")
    for number in range(1000):
        kit.attempt(f"a{number}", "x", None, parent=f"a{number - 1}" if number else None, round=number)
    page = report(kit.close())
    assert page.count('class="depth-4"') == 996


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_a_model_or_a_task_says_gets_out_of_its_place(tmp_path: Path, attack: str) -> None:
    task = TaskSpec(attack, "f" + attack, ensures=(Predicate(attack),), examples=(Example((attack,), attack),))
    found = Counterexample(attack, attack, attack, attack)
    verdict = Verdict(Status.REFUTED, (Check(attack, "examples", "user", False, 1, attack),), found, attack, attack)
    kit = TraceKit(tmp_path / "run.jsonl", task, model={"name": attack, "sha256": attack}, seed=attack)
    kit.proposal(0, attack)
    kit.attempt(attack, f"x = '{attack}'\n", verdict, error=attack, finish_reason=attack)
    kit.attempt("a1", f"y = '{attack}'\n{attack}\n", verdict, parent=attack)
    kit.selection(attack, [attack], why=attack)
    kit.trace.append(attack, {attack: attack})
    kit.answer(attack, attack, why=attack, stopped_by=attack)
    page = report(kit.close())
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", page)


def test_a_line_of_a_million_characters_is_cut_with_a_note(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl", TaskSpec("p" * 1_000_000, "f", ensures=(Predicate("x" * 1_000_000),)))
    kit.attempt("a0", "x = '" + "<" * 1_000_000 + "'\n", REFUTED)
    kit.answer("a0")
    page = report(kit.close())
    assert len(page) < 100_000
    assert page.count("more characters left out") >= 4


def test_an_unreadable_time_is_shown_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1e300)
    text = text_of(report(repaired(tmp_path / "run.jsonl").close()))
    assert "1e+300 s" in text
    assert "The trace tells of no time that passed." in text


def test_a_task_alone_has_a_report(tmp_path: Path) -> None:
    kit = TraceKit(tmp_path / "run.jsonl", TaskSpec("p", "f"), model=None)
    text = text_of(report(kit.close()))
    assert "Nothing was chosen." in text
    assert "not told" in text


def break_field(kind: str, name: str, value: Any) -> Callable[[str, dict[str, Any]], None]:
    def change(at: str, body: dict[str, Any]) -> None:
        if at == kind:
            body[name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        break_field("header", "format", 99),
        break_field("task", "examples", 3),
        break_field("attempt", "code", None),
        break_field("attempt", "id", 3),
        break_field("verdict", "attempt", "nobody"),
        break_field("verdict", "verdict", {}),
        break_field("proposal", "messages", [[1, 2]]),
        break_field("proposal", "messages", [[]]),
        break_field("proposal", "sampling", 1),
        break_field("selection", "clusters", [[1]]),
        break_field("revision", "accepted", "yes"),
        break_field("answer", "usage", 3),
    ],
)
def test_events_that_no_solve_writes_are_refused(tmp_path: Path, change: Callable[[str, dict[str, Any]], None]) -> None:
    with Trace(tmp_path / "run.jsonl") as trace:
        for event in read_trace(GOLDEN):
            body: dict[str, Json] = dict(event.body)
            change(event.kind, body)
            trace.append(event.kind, body)
    with pytest.raises(TraceError):
        report(tmp_path / "run.jsonl")


def test_what_is_no_trace_of_a_solve_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    with pytest.raises(TraceError, match="not the trace of a solve"):
        report(tmp_path / "empty.jsonl")
    with pytest.raises(NotFoundError):
        report(tmp_path / "nothing.jsonl")


def test_a_report_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "here.html").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        write_report(GOLDEN, tmp_path / "here.html")
    with pytest.raises(UsageError, match="exists already"):
        require_free(tmp_path)
    assert (tmp_path / "here.html").read_text() == "mine"


def test_the_folder_of_a_report_is_made(tmp_path: Path) -> None:
    write_report(GOLDEN, tmp_path / "new" / "here.html")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["here.html"]


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArmillaryError, match="cannot write"):
        write_report(GOLDEN, tmp_path / "file" / "here.html")
    with pytest.raises(ArmillaryError, match="cannot write"):
        write_report(GOLDEN, tmp_path / ("long" * 100))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
