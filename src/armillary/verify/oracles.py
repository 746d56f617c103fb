"""Say for each input whether a program keeps what its task promises: properties, or equality with a reference.

How each kind of evidence is gathered:

* ``requires``, ``raises`` and ``ensures`` are evaluated in a jail of their own, on what left the candidate's jail.
* A law calls the candidate and runs in its jail. Of ``left == right`` only the two values come from there and are
  compared here, so a patched ``==`` gains nothing; any other law is a bool that the candidate's process made, which
  a program that fights the check could forge. Examples, ``ensures`` and references cannot be forged like that.
* An exception counts against the program where ``ensures`` promises a result, where ``raises`` allows another one
  only, or where the reference returned; laws say nothing about inputs on which a side raises.
* A call that does not end within the sandbox's limit, or that ends its process, breaks every promise about its input:
  nothing could be said of the answer. Bound the inputs of a task whose honest answers are slow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from armillary.core.errors import TaskFormatError, ValueCodecError
from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, decode
from armillary.core.verdicts import CheckOrigin, Level
from armillary.verify.comparison import equal_by_value, kind_and_body, matches
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.predicates import contract_source, equality_sides, law_name, law_source
from armillary.verify.sandbox.outcomes import Call

MAX_HASHED_MEMBERS = 2_000


@dataclass(frozen=True, slots=True)
class Promise:
    """One thing that a task promises of its inputs."""

    id: str
    level: Level
    origin: CheckOrigin
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """How an input breaks a promise.

    Attributes:
        is_slow: there was no answer in time; to make such an input smaller would take long.
    """

    expected: str
    actual: str
    is_slow: bool = False


# For one input: promise id -> how it is broken, or None where it holds; absent where the input says nothing.
Judgement: TypeAlias = Mapping[str, Finding | None]


class Oracle(Protocol):
    """Judges inputs by one kind of evidence."""

    @property
    def promises(self) -> tuple[Promise, ...]:
        """All that may stand in a judgement."""
        ...

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """One judgement per input."""
        ...


class Contract:
    """A task's predicates in a jail of their own."""

    def __init__(self, task: TaskSpec, jail: Jail) -> None:
        self._task = task
        self._jail = jail
        self._source = contract_source(task)

    def admits(self, inputs: Sequence[Arguments]) -> list[bool]:
        """Whether each input satisfies all of ``requires``; one on which a predicate fails does not."""
        names = [f"requires_{index}" for index in range(len(self._task.requires))]
        return [all(item.value is True for item in row) for row in self._evaluate(names, inputs)]

    def demanded_errors(self, inputs: Sequence[Arguments]) -> list[tuple[str, ...]]:
        """Exceptions that each input must raise."""
        names = [f"raises_{index}" for index in range(len(self._task.raises))]
        rows = self._evaluate(names, inputs)
        errors = [error for error, _ in self._task.raises]
        return [tuple(error for error, item in zip(errors, row, strict=True) if item.value is True) for row in rows]

    def ensures(self, inputs: Sequence[Arguments], results: Sequence[Any]) -> list[tuple[Observation, ...]]:
        """What each ``ensures`` makes of each input and its result."""
        names = [f"ensures_{index}" for index in range(len(self._task.ensures))]
        return self._evaluate(names, [(*row, result) for row, result in zip(inputs, results, strict=True)])

    def _evaluate(self, names: Sequence[str], rows: Sequence[Arguments]) -> list[tuple[Observation, ...]]:
        if not names or not rows:
            return [()] * len(rows)
        calls = [Call(name, row) for row in rows for name in names]
        found = run_calls(self._jail, self._source, calls)
        if found.load_error:
            raise TaskFormatError(f"the task's predicates do not load: {found.load_error}")
        width = len(names)
        return [found.observations[start : start + width] for start in range(0, len(calls), width)]


class PropertyOracle:
    """Judges a program by its task's ``ensures``, ``raises`` and ``laws``."""

    def __init__(self, task: TaskSpec, jail: Jail, code: str, *, seed: int = 0) -> None:
        self._task = task
        self._jail = jail
        self._code = code
        self._seed = seed
        self._contract = Contract(task, jail)

    @property
    def promises(self) -> tuple[Promise, ...]:
        """One promise per clause of the task."""
        found = [
            Promise(f"{kind}[{index}]", "property", item.origin, item.text)
            for kind, items in (("ensures", self._task.ensures), ("laws", self._task.laws))
            for index, item in enumerate(items)
        ]
        found += [
            Promise(f"raises[{error}]", "property", "user", f"{error} if {text}") for error, text in self._task.raises
        ]
        return tuple(found)

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """Run the program on all inputs, then the predicates on what came out."""
        judgements: list[dict[str, Finding | None]] = [{} for _ in inputs]
        if self._task.ensures or self._task.raises:
            demanded = self._contract.demanded_errors(inputs)
            calls = [Call(self._task.entry_point, row) for row in inputs]
            found = run_calls(self._jail, self._code, calls, seed=self._seed).observations
            for judgement, errors, observation in zip(judgements, demanded, found, strict=False):
                judgement.update(self._judge_errors(errors, observation))
            self._judge_results(inputs, demanded, found, judgements)
        if self._task.laws and not any(finding for row in judgements for finding in row.values()):
            self._judge_laws(inputs, judgements)
        return list(judgements)

    def _judge_errors(self, demanded: tuple[str, ...], seen: Observation) -> dict[str, Finding | None]:
        if seen.kind == "skipped":
            return {}
        if demanded:
            finding = None if seen.error in demanded else _finding(f"raises {' or '.join(demanded)}", seen)
            return {f"raises[{error}]": finding for error in demanded}
        if seen.kind == "raised" and seen.error in dict(self._task.raises):
            condition = dict(self._task.raises)[seen.error]
            return {f"raises[{seen.error}]": _finding(f"raises {seen.error} only if {condition}", seen)}
        return {} if seen.kind == "returned" else self._broken_everywhere(seen)

    def _broken_everywhere(self, seen: Observation) -> dict[str, Finding | None]:
        return {f"ensures[{index}]": _finding(item.text, seen) for index, item in enumerate(self._task.ensures)}

    def _judge_results(
        self,
        inputs: Sequence[Arguments],
        demanded: Sequence[tuple[str, ...]],
        found: Sequence[Observation],
        judgements: Sequence[dict[str, Finding | None]],
    ) -> None:
        rows: list[int] = []
        results: list[Any] = []
        for index, (errors, seen) in enumerate(zip(demanded, found, strict=False)):
            if errors or seen.kind != "returned" or not _is_cheap_to_build(seen.value):
                continue
            try:
                results.append(decode(seen.value))
            except ValueCodecError:
                judgements[index].update(self._broken_everywhere(Observation("unencodable", text="a forged value")))
            else:
                rows.append(index)
        answers = self._contract.ensures([inputs[index] for index in rows], results)
        for index, row in zip(rows, answers, strict=True):
            for place, (item, answer) in enumerate(zip(self._task.ensures, row, strict=True)):
                if answer.kind in ("returned", "raised"):
                    broken = Finding(item.text, _broken(found[index], answer))
                    judgements[index][f"ensures[{place}]"] = None if answer.value is True else broken

    def _judge_laws(self, inputs: Sequence[Arguments], judgements: Sequence[dict[str, Finding | None]]) -> None:
        source = f"{self._code}\n\n{law_source(self._task)}"
        for place, item in enumerate(self._task.laws):
            sides = equality_sides(item.text)
            names = [law_name(place)] if sides is None else [law_name(place, "left"), law_name(place, "right")]
            calls = [Call(name, row) for row in inputs for name in names]
            found = run_calls(self._jail, source, calls, seed=self._seed).observations
            for index, judgement in enumerate(judgements):
                seen = found[index * len(names) : (index + 1) * len(names)]
                if seen and not any(observation.kind in ("skipped", "raised") for observation in seen):
                    judgement[f"laws[{place}]"] = _judge_law(item.text, seen)


class DifferentialOracle:
    """Judges a program by a reference: where the reference returns, the program must return the same."""

    def __init__(self, task: TaskSpec, jail: Jail, code: str, *, seed: int = 0) -> None:
        self._task = task
        self._jail = jail
        self._code = code
        self._seed = seed

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The reference."""
        return (Promise("reference", "differential", "user", "the same results as the reference"),)

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """Run both on all inputs; where the reference raises, the input is outside of what it defines."""
        calls = [Call(self._task.entry_point, row) for row in inputs]
        wanted = run_calls(self._jail, self._task.reference, calls, seed=self._seed).observations
        found = run_calls(self._jail, self._code, calls, seed=self._seed).observations
        judgements: list[Judgement] = []
        for index in range(len(inputs)):
            left = wanted[index] if index < len(wanted) else None
            right = found[index] if index < len(found) else None
            judgements.append({} if left is None or right is None else self._judge(left, right))
        return judgements

    def _judge(self, wanted: Observation, found: Observation) -> Judgement:
        if wanted.kind != "returned" or found.kind == "skipped":
            return {}
        is_same = found.kind == "returned" and matches(wanted.value, found.value, self._task.returns)
        return {"reference": None if is_same else _finding(wanted.text, found)}


def _judge_law(text: str, seen: Sequence[Observation]) -> Finding | None:
    for observation in seen:
        if observation.kind != "returned":
            return _finding(text, observation)
    if len(seen) == 1:
        return None if seen[0].value is True else Finding(text, "the law does not hold")
    left, right = seen
    if equal_by_value(left.value, right.value):
        return None
    return Finding(text, f"{left.text} != {right.text}")


def _finding(expected: str, seen: Observation) -> Finding:
    return Finding(expected, seen.text, is_slow=seen.kind == "timeout")


def _broken(seen: Observation, answer: Observation) -> str:
    return f"result is {seen.text}" + (f", on which the predicate {answer.text}" if answer.kind == "raised" else "")


def _is_cheap_to_build(tagged: Json) -> bool:
    """Few enough members of sets and dicts that hostile hashes cannot slow down their building."""
    num_members, waiting = 0, [tagged]
    while waiting:
        kind, body = kind_and_body(waiting.pop())
        if kind in ("set", "frozenset", "dict"):
            num_members += len(body)
        if kind == "dict":
            waiting += [item for pair in body for item in pair]
        elif kind in ("list", "tuple", "set", "frozenset"):
            waiting += body
    return num_members <= MAX_HASHED_MEMBERS
