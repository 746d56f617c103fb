"""Say for each input whether a program keeps what its task promises: properties, or equality with a reference.

How each kind of evidence is gathered:

* ``requires``, ``raises`` and ``ensures`` are evaluated in a jail of their own, on what left the candidate's jail.
* A law is evaluated there too; the candidate only answers its calls. Both sides of ``left == right`` are compared here,
  as values, floats within the tolerance.
* An exception counts against the program where ``ensures`` promises a result, where no clause of ``raises`` demands
  it, or where the reference returned; a law cannot be judged on an input on which a side raises.
* A call that does not end within the sandbox's limit, or that ends its process, breaks every promise about its input:
  nothing could be said of the answer. On a large input running out of time is only noted: there an honest program may.
* What cannot be judged is said to be so, with the reason: every promise stands in every judgement. A value that cannot
  leave the jail may be right, so it is not held against the program; but whoever hides a result is not tested by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import CheckOrigin, Level
from armillary.verify.comparison import equal_by_value, matches
from armillary.verify.contract import Contract
from armillary.verify.execution import Execution, Jail, Observation, run_calls
from armillary.verify.generate import Arguments, is_large
from armillary.verify.laws import Laws, Side
from armillary.verify.readable import readable_value
from armillary.verify.sandbox.outcomes import Call


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
        is_hidden: the program gave something that cannot be looked at.
        is_unloaded: the program, which loaded before, did not load this time.
    """

    reason: str
    is_outside: bool = False
    is_hidden: bool = False
    is_unloaded: bool = False


SLOW = Unjudged("no answer within the time limit on a large input", is_outside=True)

# For one input: the id of every promise -> how it is broken, why it is not judged, or None where it holds.
Judgement: TypeAlias = Mapping[str, Finding | Unjudged | None]
Row: TypeAlias = dict[str, Finding | Unjudged | None]


class Oracle(Protocol):
    """Judges inputs by one kind of evidence."""

    @property
    def promises(self) -> tuple[Promise, ...]:
        """All that may stand in a judgement."""
        ...

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """One judgement per input, each with all promises."""
        ...


class PropertyOracle:
    """Judges a program by its task's ``ensures``, ``raises`` and ``laws``."""

    def __init__(self, task: TaskSpec, jail: Jail, code: str, *, seed: int = 0) -> None:
        self._task = task
        self._jail = jail
        self._code = code
        self._seed = seed
        self._contract = Contract(task, jail)
        self._laws = Laws(task, jail)

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
        return [_excused(row, item) for row, item in zip(self._judge(inputs), inputs, strict=True)]

    def _judge(self, inputs: Sequence[Arguments]) -> list[Row]:
        judgements: list[Row] = [{} for _ in inputs]
        demanded = self._contract.demanded_errors(inputs)
        if self._task.ensures or self._task.raises:
            found = self._run(inputs)
            if found.load_error:
                return [_all(self._ids(), _unloaded("the code", found)) for _ in inputs]
            for judgement, errors, seen in zip(judgements, demanded, found.observations, strict=True):
                judgement.update(self._judge_errors(errors, seen))
            self._judge_results(inputs, found.observations, judgements)
        if any(isinstance(finding, Finding) for row in judgements for finding in row.values()):
            broken = Unjudged("another promise is broken already")
            return [_all(self._ids("laws"), broken) | row for row in judgements]
        self._judge_laws(inputs, demanded, judgements)
        return judgements

    def _run(self, inputs: Sequence[Arguments]) -> Execution:
        calls = [Call(self._task.entry_point, row) for row in inputs]
        return run_calls(self._jail, self._code, calls, seed=self._seed)

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
        return row if seen.kind in ("returned", "unencodable") else row | self._judge_failure(seen)

    def _judge_failure(self, seen: Observation) -> Row:
        """An exception that nothing demands, or no answer: it breaks ``ensures``, or, without any, ``raises``."""
        row: Row = {
            f"raises[{error}]": _finding(f"raises {error} only if {condition}", seen)
            for error, condition in self._task.raises
            if seen.has_raised(error) or not self._task.ensures
        }
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
            result, problem = readable_value(seen)
            if problem is None:
                results.append(result)
                rows.append(index)
            else:
                judgements[index].update({name: _judge_unread(self._text(name), problem) for name in ensures})
        answers = self._contract.ensures([inputs[index] for index in rows], results)
        for index, row in zip(rows, answers, strict=True):
            for name, answer in zip(ensures, row, strict=True):
                judgements[index][name] = _judge_answer(self._text(name), found[index], answer)

    def _text(self, name: str) -> str:
        return next(item.text for item in self.promises if item.id == name)

    def _judge_laws(
        self, inputs: Sequence[Arguments], demanded: Sequence[tuple[str, ...] | None], judgements: Sequence[Row]
    ) -> None:
        for place, item in enumerate(self._task.laws):
            spoken_of = [index for index, errors in enumerate(demanded) if not errors]
            found = self._laws.evaluate(place, [inputs[index] for index in spoken_of], self._run)
            outside = Unjudged("an exception is demanded", is_outside=True)
            judged: dict[int, Finding | Unjudged | None] = dict.fromkeys(range(len(inputs)), outside)
            if isinstance(found, Execution):
                judged |= dict.fromkeys(spoken_of, _unloaded("the code", found))
            else:
                judged |= {index: _judge_law(item.text, row) for index, row in zip(spoken_of, found, strict=True)}
            for index, judgement in enumerate(judgements):
                judgement[f"laws[{place}]"] = judged[index]


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
        rows = zip(inputs, wanted.observations, found.observations, strict=True)
        return [
            {"reference": SLOW}
            if left.kind == "timeout" and is_large(item)
            else _excused({"reference": self._judge(left, right)}, item)
            for item, left, right in rows
        ]

    def _judge(self, wanted: Observation, found: Observation) -> Finding | Unjudged | None:
        if wanted.kind == "raised":
            return Unjudged("the reference raises", is_outside=True)
        if wanted.kind != "returned":
            return Unjudged(f"the reference: {wanted.text}")
        if found.kind == "skipped" or (found.kind == "unencodable" and not found.equals_nothing):
            return Unjudged(found.text, is_hidden=found.kind == "unencodable")
        is_same = found.kind == "returned" and matches(wanted.value, found.value, self._task.returns)
        return None if is_same else _finding(wanted.text, found)


def _excused(row: Row, arguments: Arguments) -> Row:
    """The same judgement, but that no time limit is held against the program on a large input."""
    slow = [name for name, item in row.items() if isinstance(item, Finding) and item.is_slow]
    if not slow or not is_large(arguments):
        return row
    return row | _all(slow, SLOW)


def _all(names: Iterable[str], judged: Finding | Unjudged | None) -> Row:
    return dict.fromkeys(names, judged)


def _unloaded(name: str, execution: Execution) -> Unjudged:
    return Unjudged(f"{name} loads now and then: {execution.load_error}", is_unloaded=True)


def _judge_unread(text: str, seen: Observation) -> Finding | Unjudged:
    """A result that no predicate can be shown."""
    if seen.kind == "unencodable":
        return Unjudged(seen.text, is_hidden=True)
    return _finding(text, seen)


def _judge_answer(text: str, result: Observation, answer: Observation) -> Finding | Unjudged | None:
    if not answer.is_answer:
        return Unjudged(f"its predicate: {answer.text}")
    return None if answer.value is True else Finding(text, _broken(result, answer))


def _judge_law(text: str, sides: Sequence[Side]) -> Finding | Unjudged | None:
    for side in sides:
        if side.seen.kind == "raised":
            return Unjudged(f"a side raised {side.seen.error}")
        if side.seen.kind == "skipped" or (side.seen.kind != "returned" and not side.is_candidates):
            return Unjudged(side.seen.text)
    for side in sides:
        if side.seen.kind != "returned":
            return _judge_unread(text, side.seen)
    if len(sides) == 1:
        return None if sides[0].seen.value is True else Finding(text, "the law does not hold")
    left, right = (side.seen for side in sides)
    return None if equal_by_value(left.value, right.value) else Finding(text, f"{left.text} != {right.text}")


def _finding(expected: str, seen: Observation) -> Finding:
    return Finding(expected, seen.text, is_slow=seen.kind == "timeout")


def _broken(seen: Observation, answer: Observation) -> str:
    return f"result is {seen.text}" + (f", on which the predicate {answer.text}" if answer.kind == "raised" else "")
