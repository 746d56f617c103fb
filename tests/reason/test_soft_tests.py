from __future__ import annotations

import pytest

from armillary.core.tasks import Example, Parameter, TaskSpec
from armillary.core.values import encode
from armillary.reason.soft_tests import distinct, read_vote, vote_messages

TASK = TaskSpec("Add one.", "f", parameters=(Parameter("x", "int"),))
CALL = encode((9,))
VOTE = Example((9,), 10, origin="model")


@pytest.mark.parametrize(
    "text",
    [
        "assert f(9) == 10",
        "```python\nassert f(9) == 10\n```",
        "`f(9) == 10`",
        "f(x=9) == 10",
        "10",
        "\nassert f(9) == 10\nassert f(8) == 3",
    ],
)
def test_a_vote_is_read_in_the_usual_spellings(text: str) -> None:
    assert read_vote(TASK, CALL, text) == VOTE


def test_an_exception_can_be_voted_for() -> None:
    assert read_vote(TASK, CALL, "f(9) raises ValueError") == Example((9,), raises="ValueError", origin="model")


@pytest.mark.parametrize("text", ["", "assert f(8) == 10", "It returns ten.", "assert g(9) == 10", "assert f(9)"])
def test_anything_else_is_no_vote(text: str) -> None:
    assert read_vote(TASK, CALL, text) is None


def test_the_model_is_shown_the_call_and_not_the_candidates() -> None:
    [system, user] = vote_messages(TASK, CALL)
    assert system.role == "system"
    assert user.content.startswith("Write the Python function `def f(x: int)`.\n\nAdd one.")
    assert user.content.endswith("assert f(9) == ...")


def test_equal_votes_are_counted_together() -> None:
    other = Example((9,), 11, origin="model")
    assert distinct([other, VOTE, VOTE]) == [(VOTE, 2), (other, 1)]
