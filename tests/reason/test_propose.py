"""What the model is told, and how its answers arrive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest
from reason_fakes import ScriptedModel, fenced

from armillary.core.messages import Event, Finished, Message, ModelIdentity, Request, Sampling, Token, Usage
from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.reason.propose import MAX_ITEM_CHARS, MAX_SHOWN_ITEMS, clip, first_messages, max_answer_chars, propose

REQUEST = Request((Message("user", "hi"),), Sampling(), num_candidates=2)
A, B = "def f(x): return 1", "def f(x): return x + 2 * x"


def shown(task: TaskSpec) -> str:
    return first_messages(task)[-1].content


def test_a_stub_is_given_as_it_stands_to_be_completed() -> None:
    stub = 'def f(x: int) -> int:\n    """Add one.\n\n    >>> f(1)\n    2\n    """'
    task = TaskSpec(stub, "f", examples=(Example((1,), 2, origin="docstring"),))
    assert f"```python\n{stub}\n```" in shown(task)
    assert shown(task).count("f(1)") == 1


def test_a_task_in_words_names_the_signature() -> None:
    task = TaskSpec("Add one.", "f", (Parameter("x", "int"), Parameter("y")), "int")
    assert "def f(x: int, y) -> int" in shown(task)
    assert "Add one." in shown(task)


def test_a_task_without_types_names_what_it_has() -> None:
    assert "`def f()`" in shown(TaskSpec("Do it.", "f"))


def test_the_users_examples_and_properties_are_shown() -> None:
    task = TaskSpec(
        "Root.",
        "f",
        (Parameter("x"),),
        examples=(Example((4,), {2, -2}), Example((-1,), raises="ValueError")),
        requires=(Predicate("x < 100"), Predicate("x != 7")),
        ensures=(Predicate("result >= 0"), Predicate("result == 1", origin="model")),
        laws=(Predicate("f(x) == f(-x)"),),
        raises=(("TypeError", "x is None"),),
    )
    text = shown(task)
    assert "- f(4) == {-2, 2}" in text
    assert "- f(-1) raises ValueError" in text
    assert "- result >= 0    # whenever (x < 100) and (x != 7)" in text
    assert "- f(x) == f(-x)" in text
    assert "- raises TypeError when x is None" in text
    assert "result == 1" not in text


def test_properties_without_conditions_stand_alone() -> None:
    assert "- result >= 0\n" in shown(TaskSpec("Root.", "f", ensures=(Predicate("result >= 0"),)))


def test_the_reference_is_never_shown() -> None:
    assert "secret" not in shown(TaskSpec("Do it.", "f", reference="def f(): return 'secret'"))


def test_many_and_long_examples_are_cut() -> None:
    task = TaskSpec("Do it.", "f", examples=tuple(Example(("x" * 5000,), number) for number in range(100)))
    assert len(shown(task)) < (MAX_SHOWN_ITEMS + 2) * (MAX_ITEM_CHARS + 10)


def test_clipping_keeps_both_ends() -> None:
    assert clip("a" * 50 + "b" * 50, 25) == "a" * 10 + " ... " + "b" * 10
    assert clip("short", 25) == "short"


def test_the_model_is_asked_for_one_fenced_function() -> None:
    system, user = first_messages(TaskSpec("Do it.", "solve_it"))
    assert (system.role, user.role) == ("system", "user")
    assert "```python" in user.content
    assert "`solve_it`" in user.content


def test_candidates_arrive_in_the_order_in_which_they_finish() -> None:
    model = ScriptedModel([[fenced(B), fenced(A)]])
    drafts = list(propose(model, REQUEST, "f"))
    assert [(draft.candidate, draft.code.strip()) for draft in drafts] == [(1, A), (0, B)]


def test_a_draft_arrives_before_the_next_one_is_finished() -> None:
    model = ScriptedModel([[fenced(B), fenced(A)]])
    with closing(propose(model, REQUEST, "f")) as drafts:
        next(drafts)
        assert model.num_closed == 0
    assert model.num_closed == 1
    assert model.num_sent_tokens < len(fenced(A).split(" ")) + len(fenced(B).split(" "))


def test_a_draft_carries_text_cost_reason_and_confidence() -> None:
    text = fenced(A)
    model = ScriptedModel([[text]], reasons={text: "length"})
    (draft,) = propose(model, Request(REQUEST.messages), "f")
    num_tokens = len(text.split(" "))
    assert (draft.text, draft.finish_reason, draft.usage) == (text, "length", Usage(100, num_tokens))
    assert (draft.num_streamed_tokens, draft.mean_logprob) == (num_tokens, -0.5)


def test_confidence_is_unknown_when_a_token_came_without() -> None:
    (draft,) = propose(ScriptedModel([["x y"]], logprob=None), Request(REQUEST.messages), "f")
    assert draft.mean_logprob is None


def test_an_error_under_way_is_data() -> None:
    (draft,) = propose(ScriptedModel([["half"]], reasons={"half": "error"}), Request(REQUEST.messages), "f")
    assert (draft.finish_reason, draft.error, draft.text) == ("error", "the line went dead", "half")


def test_tokens_are_reported_with_their_number_within_the_search() -> None:
    seen: list[Token] = []
    drafts = list(propose(ScriptedModel([["x", "y"]]), REQUEST, "f", first_candidate=5, on_token=seen.append))
    assert [(token.candidate, token.text) for token in seen] == [(5, "x"), (6, "y")]
    assert [draft.candidate for draft in drafts] == [5, 6]


def test_stopping_cancels_what_is_not_finished() -> None:
    model = ScriptedModel([["x", "y z"]])
    drafts = list(propose(model, REQUEST, "f", should_stop=lambda: model.num_sent_tokens == 2))
    assert [draft.candidate for draft in drafts] == [0]
    assert model.num_closed == 1


def test_an_interrupted_search_lets_the_model_go() -> None:
    model = ScriptedModel([["x y"]])

    def interrupt(_: Token) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(propose(model, REQUEST, "f", on_token=interrupt))
    assert model.num_closed == 1


def test_a_stream_that_cannot_be_closed_is_fine() -> None:
    class Plain(ScriptedModel):
        def stream(self, request: Request) -> Iterator[Event]:
            return iter(list(super().stream(request)))

    assert len(list(propose(Plain([["x", "y"]]), REQUEST, "f"))) == 2


class Talker:
    """A model that knows no end: its first candidate goes on in pieces of one text, the others say one word."""

    model = ModelIdentity("talker")

    def __init__(self, piece: str, *, ends_late: bool = False) -> None:
        self.piece = piece
        self.ends_late = ends_late
        self.was_closed = False

    def stream(self, request: Request) -> Iterator[Event]:
        num_pieces = max_answer_chars(request.sampling.max_tokens) // max(1, len(self.piece)) + 9
        try:
            yield Token(0, fenced(A))
            for _ in range(num_pieces) if self.ends_late else count():
                yield Token(0, self.piece)
            for candidate in range(request.num_candidates):
                yield Token(candidate, "word")
                yield Finished(candidate, "stop", Usage(10, 5))
        finally:
            self.was_closed = True


@pytest.mark.parametrize("piece", ["x", "", "y = 1\n" * 100_000])
def test_a_candidate_that_goes_on_for_ever_is_cut_and_the_model_let_go(piece: str) -> None:
    model, heard = Talker(piece), list[Token]()
    (draft,) = propose(model, Request(REQUEST.messages), "f", on_token=heard.append)
    assert (draft.finish_reason, draft.code.strip()) == ("length", A)
    assert len(draft.text) <= max_answer_chars(REQUEST.sampling.max_tokens)
    assert draft.text == "".join(token.text for token in heard)
    assert draft.usage == Usage(0, draft.num_streamed_tokens)
    assert model.was_closed


def test_beside_a_candidate_that_was_cut_the_others_go_on() -> None:
    drafts = list(propose(Talker("xxx", ends_late=True), REQUEST, "f"))
    assert [(draft.candidate, draft.finish_reason) for draft in drafts] == [(0, "length"), (1, "stop")]


def test_an_answer_as_long_as_its_tokens_allow_is_whole() -> None:
    text = "x" * max_answer_chars(REQUEST.sampling.max_tokens)
    (draft,) = propose(ScriptedModel([[text]]), Request(REQUEST.messages), "f")
    assert (draft.finish_reason, draft.text) == ("stop", text)


def test_nobody_looks_for_code_in_what_was_cancelled() -> None:
    text = fenced(A)
    (draft,) = propose(ScriptedModel([[text]], reasons={text: "cancelled"}), Request(REQUEST.messages), "f")
    assert (draft.finish_reason, draft.text, draft.code) == ("cancelled", text, "")
