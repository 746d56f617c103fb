"""Say for each input whether a program keeps what its task promises: properties, or equality with a reference.

How each kind of evidence is gathered:

* ``requires``, ``raises`` and ``ensures`` are evaluated in a jail of their own, on what left the candidate's jail.
* A law calls the candidate and runs in its process, but reads only the entry point from the candidate: the functions
  that predicates may use are bound before the candidate loads, in another namespace. Of ``left == right`` only the
  two values come from there and are compared here, so a patched ``==`` gains nothing; any other law is a bool that
  the candidate's process made, which a program that looks for its judge in memory could still forge. Examples,
  ``ensures`` and references cannot be forged like that.
* An exception counts against the program where ``ensures`` promises a result, where no clause of ``raises`` demands
  it, or where the reference returned; a law cannot be judged on an input on which a side raises.
* A call that does not end within the sandbox's limit, or that ends its process, breaks every promise about its input:
  nothing could be said of the answer. Bound the inputs of a task whose honest answers are slow.
* What cannot be judged is said to be so, with the reason: every promise stands in every judgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from armillary.core.errors import TaskFormatError, ValueCodecError
from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, decode
from armillary.core.verdicts import CheckOrigin, Level
from armillary.verify.comparison import equal_by_value, kind_and_body, matches
from armillary.verify.execution import Execution, Jail, Observation, run_calls
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

    @property
    def is_hard(self) -> bool:
        """Whether it was not a model that made it."""
        return self.origin != "model"


@dataclass(frozen=True, slots=True)
class Finding:
    """How an input breaks a promise.

    Attributes:
        is_slow: there was no answer in time; to make such an input smaller would take long.
    """

    expected: str
    actual: str
    is_slow: bool = False


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Why nothing is said of a promise about an input.

    Attributes:
        is_outside: the promise does not speak of this input, so that nothing is missing.
        is_unloaded: the program, which loaded before, did not load this time.
    """

    reason: str
    is_outside: bool = False
    is_unloaded: bool = False


# For one input: the id of every promise -> how it is broken, why it is not judged, or None where it holds.
Judgement: TypeAlias = Mapping[str, Finding | Unjudged | None]
Row: TypeAlias = dict[str, Finding | Unjudged | None]

TOO_LARGE = Unjudged("its result is too large to be judged")


class Oracle(Protocol):
    """Judges inputs by one kind of evidence."""

    @property
    def promises(self) -> tuple[Promise, ...]:
        """All that may stand in a judgement."""
        ...

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """One judgement per input, each with all promises."""
        ...


class Contract:
    """A task's predicates in a jail of their own."""

    def __init__(self, task: TaskSpec, jail: Jail) -> None:
        self._task = task
        self._jail = jail
        self._source = contract_source(task)

    def admits(self, inputs: Sequence[Arguments]) -> list[bool]:
        """Whether each input satisfies all of ``requires``; one on which a predicate fails does not."""
        return [all(item.value is True for item in row) for row in self.requires(inputs)]

    def requires(self, inputs: Sequence[Arguments]) -> list[tuple[Observation, ...]]:
        """What each ``requires`` makes of each input."""
        return self._evaluate([f"requires_{index}" for index in range(len(self._task.requires))], inputs)

    def demanded_errors(self, inputs: Sequence[Arguments]) -> list[tuple[str, ...] | None]:
        """Exceptions that each input must raise; None where a condition gave no answer."""
        names = [f"raises_{index}" for index in range(len(self._task.raises))]
        rows = self._evaluate(names, inputs)
        errors = [error for error, _ in self._task.raises]
        return [
            tuple(error for error, item in zip(errors, row, strict=False) if item.value is True)
            if all(_is_answer(item) for item in row)
            else None
            for row in rows
        ]

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
        judgements: list[Row] = [{} for _ in inputs]
        demanded = self._contract.demanded_errors(inputs)
        if self._task.ensures or self._task.raises:
            calls = [Call(self._task.entry_point, row) for row in inputs]
            found = run_calls(self._jail, self._code, calls, seed=self._seed)
            if found.load_error:
                return [_all(self._ids(), _unloaded("the code", found)) for _ in inputs]
            for judgement, errors, seen in zip(judgements, demanded, found.observations, strict=True):
                judgement.update(self._judge_errors(errors, seen))
            self._judge_results(inputs, found.observations, judgements)
        if any(isinstance(finding, Finding) for row in judgements for finding in row.values()):
            broken = Unjudged("another promise is broken already")
            return [_all(self._ids("laws"), broken) | row for row in judgements]
        self._judge_laws(inputs, demanded, judgements)
        return list(judgements)

    def _ids(self, kind: str = "") -> list[str]:
        return [item.id for item in self.promises if item.id.startswith(kind)]

    def _judge_errors(self, demanded: tuple[str, ...] | None, seen: Observation) -> Row:
        """All of ``raises``; of ``ensures`` what needs no result, so nothing where one came as it should."""
        ensures, raises = self._ids("ensures"), self._ids("raises")
        if demanded is None:
            return _all(ensures + raises, Unjudged("a condition of raises gave no answer"))
        if seen.kind == "skipped":
            return _all(ensures + raises, Unjudged(seen.text))
        row = _all(raises, Unjudged("its condition is false", is_outside=True))
        if demanded:
            is_met = any(seen.has_raised(error) for error in demanded)
            finding = None if is_met else _finding(f"raises {' or '.join(demanded)}", seen)
            row |= {f"raises[{error}]": finding for error in demanded}
            return row | _all(ensures, Unjudged("an exception is demanded", is_outside=True))
        if seen.kind == "returned":
            return row
        for error, condition in self._task.raises:
            if seen.has_raised(error) or not ensures:
                row[f"raises[{error}]"] = _finding(f"raises {error} only if {condition}", seen)
        return row | {f"ensures[{index}]": _finding(item.text, seen) for index, item in enumerate(self._task.ensures)}

    def _judge_results(
        self, inputs: Sequence[Arguments], found: Sequence[Observation], judgements: Sequence[Row]
    ) -> None:
        ensures = self._ids("ensures")
        rows: list[int] = []
        results: list[Any] = []
        for index, seen in enumerate(found):
            if all(name in judgements[index] for name in ensures):
                continue
            try:
                if not _is_cheap_to_build(seen.value):
                    judgements[index].update(_all(ensures, TOO_LARGE))
                    continue
                results.append(decode(seen.value))
                rows.append(index)
            except ValueCodecError:
                forged = Observation("unencodable", text="a forged value")
                judgements[index].update({name: _finding(self._text(name), forged) for name in ensures})
        answers = self._contract.ensures([inputs[index] for index in rows], results)
        for index, row in zip(rows, answers, strict=True):
            for name, answer in zip(ensures, row, strict=True):
                judgements[index][name] = _judge_answer(self._text(name), found[index], answer)

    def _text(self, name: str) -> str:
        return next(item.text for item in self.promises if item.id == name)

    def _judge_laws(
        self, inputs: Sequence[Arguments], demanded: Sequence[tuple[str, ...] | None], judgements: Sequence[Row]
    ) -> None:
        source = law_source(self._task, self._code) if self._task.laws else ""
        for place, item in enumerate(self._task.laws):
            sides = equality_sides(item.text)
            names = [law_name(place)] if sides is None else [law_name(place, "left"), law_name(place, "right")]
            calls = [Call(name, row) for row in inputs for name in names]
            found = run_calls(self._jail, source, calls, seed=self._seed)
            for index, judgement in enumerate(judgements):
                seen = found.observations[index * len(names) : (index + 1) * len(names)]
                if demanded[index]:
                    judged: Finding | Unjudged | None = Unjudged("an exception is demanded", is_outside=True)
                elif found.load_error:
                    judged = _unloaded("the code", found)
                else:
                    judged = _judge_law(item.text, seen)
                judgement[f"laws[{place}]"] = judged


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
        wanted = run_calls(self._jail, self._task.reference, calls, seed=self._seed)
        found = run_calls(self._jail, self._code, calls, seed=self._seed)
        for name, execution in (("the reference", wanted), ("the code", found)):
            if execution.load_error:
                return [{"reference": _unloaded(name, execution)} for _ in inputs]
        pairs = zip(wanted.observations, found.observations, strict=True)
        return [{"reference": self._judge(left, right)} for left, right in pairs]

    def _judge(self, wanted: Observation, found: Observation) -> Finding | Unjudged | None:
        if wanted.kind == "raised":
            return Unjudged("the reference raises", is_outside=True)
        if wanted.kind != "returned":
            return Unjudged(f"the reference: {wanted.text}")
        if found.kind == "skipped":
            return Unjudged(found.text)
        is_same = found.kind == "returned" and matches(wanted.value, found.value, self._task.returns)
        return None if is_same else _finding(wanted.text, found)


def _all(names: Iterable[str], judged: Finding | Unjudged | None) -> Row:
    return dict.fromkeys(names, judged)


def _unloaded(name: str, execution: Execution) -> Unjudged:
    return Unjudged(f"{name} loads now and then: {execution.load_error}", is_unloaded=True)


def _is_answer(seen: Observation) -> bool:
    return seen.kind in ("returned", "raised")


def _judge_answer(text: str, result: Observation, answer: Observation) -> Finding | Unjudged | None:
    if not _is_answer(answer):
        return Unjudged(f"its predicate: {answer.text}")
    return None if answer.value is True else Finding(text, _broken(result, answer))


def _judge_law(text: str, seen: Sequence[Observation]) -> Finding | Unjudged | None:
    for observation in seen:
        if observation.kind == "skipped":
            return Unjudged(observation.text)
        if observation.kind == "raised":
            return Unjudged(f"a side raised {observation.error}")
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
