"""Which attempt wins, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reason_fakes import judged

from armillary.core.verdicts import Status, Verdict
from armillary.reason import select as choice
from armillary.reason.select import Attempt, Selection, contenders, likeness

ACCEPTED, REFUTED = judged(3), judged(1)
UNKNOWN, SUSPECT = Verdict(Status.UNKNOWN), Verdict(Status.SPEC_SUSPECT)


def attempt(name: str, verdict: Verdict = ACCEPTED, code: str = "code", logprob: float | None = -1.0) -> Attempt:
    return Attempt(name, 0, None, code, verdict, 10, logprob)


def select(rivals: Sequence[Attempt], words: Sequence[str], votes: Mapping[str, float] | None = None) -> Selection:
    """The choice where one shared input tells behaviours apart."""
    heard = {(word,): vote for word, vote in (votes or {}).items()}
    return choice.select(rivals, [(word,) for word in words], heard)


def names(attempts: tuple[Attempt, ...]) -> list[str]:
    return [item.id for item in attempts]


def test_only_accepted_attempts_compete_when_there_are_any() -> None:
    attempts = [attempt("a0", REFUTED), attempt("a1"), attempt("a2", UNKNOWN), attempt("a3")]
    assert names(contenders(attempts)) == ["a1", "a3"]


def test_an_accepted_attempt_beats_a_refuted_one_that_passed_more() -> None:
    few = judged(1, checks=("examples[0]",))
    many = judged(2)
    assert names(contenders([attempt("a0", many), attempt("a1", few)])) == ["a1"]


def test_an_untested_attempt_beats_a_refuted_one() -> None:
    assert names(contenders([attempt("a0", REFUTED), attempt("a1", UNKNOWN)])) == ["a1"]


def test_refuted_attempts_compete_when_there_is_nothing_else() -> None:
    assert names(contenders([attempt("a0", REFUTED), attempt("a1", judged(0))])) == ["a0", "a1"]


def test_a_contradiction_in_the_task_comes_before_everything() -> None:
    assert names(contenders([attempt("a0"), attempt("a1", SUSPECT)])) == ["a1"]


def test_hard_evidence_beats_agreement() -> None:
    rivals = [attempt("a0", judged(1)), attempt("a1", judged(1)), attempt("a2", judged(2))]
    assert select(rivals, ["same", "same", "other"]).chosen.id == "a2"


def test_agreement_beats_confidence() -> None:
    rivals = [attempt("a1", logprob=-0.1), attempt("a2", logprob=-3.0), attempt("a3", logprob=-2.0)]
    found = select(rivals, ["odd", "same", "same"])
    assert (found.chosen.id, found.num_agreeing, round(found.share, 2)) == ("a3", 2, 0.67)


def test_the_likeliest_answer_weighs_as_much_as_two() -> None:
    rivals = [attempt("a0", logprob=-0.1), attempt("a1", logprob=-3.0), attempt("a2", logprob=-2.0)]
    assert select(rivals, ["odd", "same", "same"]).chosen.id == "a0"
    assert select([*rivals, attempt("a3")], ["odd", "same", "same", "same"]).chosen.id == "a3"


def test_the_models_own_tests_are_heard() -> None:
    rivals = [attempt("a1", logprob=-0.1), attempt("a2", logprob=-3.0), attempt("a3", logprob=-2.0)]
    found = select(rivals, ["odd", "same", "same"], {"odd": 1.5})
    assert (found.chosen.id, found.why.endswith("; the model's own tests were heard")) == ("a1", True)


def test_agreement_of_enough_attempts_settles_the_choice() -> None:
    rivals = [attempt(f"a{number}") for number in range(1, 6)]
    assert not select(rivals[:2], ["same", "same"]).is_settled
    assert select(rivals[:3], ["same"] * 3).is_settled
    assert select(rivals, ["same"] * 4 + ["odd"]).is_settled
    assert not select(rivals, ["same"] * 3 + ["odd"] * 2).is_settled


def test_confidence_beats_brevity() -> None:
    rivals = [attempt("a0", code="x"), attempt("a1", code="longer", logprob=-0.5)]
    assert select(rivals, ["same", "same"]).chosen.id == "a1"


def test_a_known_confidence_beats_an_unknown_one() -> None:
    assert select([attempt("a0", logprob=None), attempt("a1", logprob=-9.0)], ["s", "s"]).chosen.id == "a1"


def test_shorter_code_wins_a_tie_of_confidence() -> None:
    assert select([attempt("a0", code="longer"), attempt("a1", code="x")], ["s", "s"]).chosen.id == "a1"


def test_the_earlier_attempt_wins_a_full_tie() -> None:
    assert select([attempt("a0"), attempt("a1")], ["s", "s"]).chosen.id == "a0"


def test_likeness_is_the_share_of_inputs_on_which_behaviours_are_equal() -> None:
    assert likeness(("x", "y"), ("x", "y")) == 1.0
    assert likeness(("x", "y", "z", "z"), ("x", "y", "z", "odd")) == 0.75
    assert likeness(("unloadable",), ("x", "y")) == 0.0


def test_attempts_that_do_nearly_the_same_count_for_each_other() -> None:
    rivals = [attempt(f"a{number}") for number in range(1, 6)]
    loner, near, nearer = ("p", "q", "r", "s"), ("x", "x", "x", "x"), ("x", "x", "x", "y")
    found = choice.select(rivals, [loner, loner, near, nearer, ("x", "x", "x", "z")])
    assert found.chosen.id == "a3"
    assert found.num_agreeing == 1
    assert found.share == 0.2


def test_clusters_are_listed_by_size() -> None:
    rivals = [attempt("a0"), attempt("a1"), attempt("a2")]
    assert select(rivals, ["odd", "same", "same"]).clusters == (("a1", "a2"), ("a0",))


@pytest.mark.parametrize(
    ("rivals", "behaviours", "why"),
    [
        ([attempt("a0")], ["s"], "a0 passed 3 hard checks and stands alone"),
        ([attempt("a0", judged(1, checks=("one",)))], ["s"], "a0 passed 1 hard check and stands alone"),
        (
            [attempt("a0"), attempt("a1")],
            ["s", "s"],
            "a0 passed 3 hard checks; 2 of 2 attempts of its standing behave alike",
        ),
        (
            [attempt("a0", REFUTED), attempt("a1", judged(0))],
            ["s", "t"],
            "every attempt was refuted; a0 passed 1 hard check, no other passed more",
        ),
    ],
)
def test_the_reason_is_one_sentence(rivals: list[Attempt], behaviours: list[str], why: str) -> None:
    assert select(rivals, behaviours).why == why


@given(st.lists(st.tuples(st.sampled_from([ACCEPTED, REFUTED, UNKNOWN]), st.sampled_from("xyz")), min_size=1))
def test_a_refuted_attempt_never_wins_while_another_is_not(cases: list[tuple[Verdict, str]]) -> None:
    rivals = contenders([attempt(f"a{number}", verdict) for number, (verdict, _) in enumerate(cases)])
    chosen = select(rivals, [cases[int(item.id[1:])][1] for item in rivals]).chosen
    if any(verdict is not REFUTED for verdict, _ in cases):
        assert chosen.verdict is not REFUTED
