"""Ask a model what its function should give on inputs on which its own answers differ. Such tests are soft evidence.

After CodeT (Chen and others, 2022), which ranks programs by tests that the same model wrote; here only the inputs that
tell the programs apart are asked about, a few words each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armillary.core.errors import ValueCodecError
from armillary.core.messages import Message, Sampling
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json, canonical, decode
from armillary.core.verdicts import Behaviour, Check
from armillary.reason.propose import SYSTEM_PROMPT, statement
from armillary.reason.select import Attempt
from armillary.verify.docstring_examples import parse_example
from armillary.verify.rendering import render_call
from armillary.verify.source import SourceError

NUM_VOTES = 5
MAX_VOTE_TOKENS = 64
# What all of the model's own tests together weigh, in attempts.
SOFT_WEIGHT = 2.0
VOTING = Sampling(temperature=0.7, top_p=0.95, stop=("\n\n",), max_tokens=MAX_VOTE_TOKENS)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said once when it was asked what a call gives.

    Attributes:
        place: index of the input that it was asked about.
        text: word for word.
    """

    place: int
    text: str
    num_tokens: int
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Hearing:
    """What the model was asked where its answers differ, and what came of it.

    Attributes:
        leaders: the first attempt of each group that behaves alike.
        tests: the different tests that were understood, each with its number.
        checks: for each leader, one for each test.
        gains: behaviour -> what the tests add to its weight, in attempts.
        inputs: tagged JSON of the arguments that tell the leaders apart.
        answers: all that it said.
    """

    leaders: tuple[Attempt, ...]
    tests: tuple[tuple[Example, int], ...]
    checks: tuple[tuple[Check, ...], ...]
    gains: dict[Behaviour, float]
    inputs: tuple[Json, ...] = ()
    answers: tuple[Answer, ...] = ()


def vote_messages(task: TaskSpec, arguments: Json) -> tuple[Message, ...]:
    """The conversation that asks what one call must give; the answer is a line of Python."""
    call = render_call(task.entry_point, decode(arguments))
    ask = (
        f"{statement(task)}\n\nDo not write the function. What must it return for this call? "
        f"Answer with one line of Python and nothing else:\nassert {call} == ..."
    )
    return (Message("system", SYSTEM_PROMPT), Message("user", ask))


def read_vote(task: TaskSpec, arguments: Json, text: str) -> Example | None:
    """The example that an answer states, or None where it states none about this call."""
    names = tuple(item.name for item in task.parameters) or None
    call = render_call(task.entry_point, decode(arguments))
    lines = [line.strip().strip("`").removeprefix("assert").strip() for line in text.splitlines()]
    for line in (*lines, *(f"{call} == {line}" for line in lines[:1])):
        try:
            found = parse_example(line, task.entry_point, names)
            if canonical(found.arguments) == canonical(decode(arguments)):
                return Example(found.arguments, found.expected, found.raises, origin="model")
        except (SourceError, ValueCodecError):
            continue
    return None


def distinct(votes: Sequence[Example]) -> list[tuple[Example, int]]:
    """The different examples among the votes, each with its number, the most frequent first."""
    counted: dict[str, list[Example]] = {}
    for vote in votes:
        key = canonical((vote.arguments, vote.raises, vote.expected))
        counted.setdefault(key, []).append(vote)
    groups = sorted(counted.values(), key=len, reverse=True)
    return [(group[0], len(group)) for group in groups]


def read_answers(task: TaskSpec, inputs: Sequence[Json], answers: Sequence[Answer]) -> list[Example]:
    """The votes among the answers, in their order."""
    found = (read_vote(task, inputs[item.place], item.text) for item in answers)
    return [vote for vote in found if vote is not None]


def gains(
    behaviours: Sequence[Behaviour], checks: Sequence[Sequence[Check]], tests: Sequence[tuple[Example, int]]
) -> dict[Behaviour, float]:
    """What the tests add to the weight of each behaviour: its share of the votes, in attempts."""
    num_votes = sum(count for _, count in tests)
    return {
        behaviour: SOFT_WEIGHT
        * sum(count for check, (_, count) in zip(row, tests, strict=True) if check.passed)
        / num_votes
        for behaviour, row in zip(behaviours, checks, strict=True)
        if num_votes
    }
