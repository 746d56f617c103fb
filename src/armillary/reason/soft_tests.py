"""Ask a model what its function should give on inputs on which its own answers differ. Such tests are soft evidence.

After CodeT (Chen and others, 2022), which ranks programs by tests that the same model wrote; here only the inputs that
tell the programs apart are asked about, a few words each.
"""

from __future__ import annotations

from collections.abc import Sequence

from armillary.core.errors import ValueCodecError
from armillary.core.messages import Message, Sampling
from armillary.core.tasks import Example, TaskSpec
from armillary.core.values import Json, canonical, decode
from armillary.reason.propose import SYSTEM_PROMPT, statement
from armillary.verify.docstring_examples import parse_example
from armillary.verify.rendering import render_call
from armillary.verify.source import SourceError

NUM_VOTES = 5
MAX_VOTE_TOKENS = 64
VOTING = Sampling(temperature=0.7, top_p=0.95, stop=("\n\n",), max_tokens=MAX_VOTE_TOKENS)


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
