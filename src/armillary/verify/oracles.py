"""Say for each input whether a program keeps what its task promises: properties, or equality with a reference.

How each kind of evidence is gathered:

* ``requires``, ``raises`` and ``ensures`` are evaluated in a jail of their own, on what left the candidate's jail.
* A law is evaluated there too; the candidate only answers its calls. Both sides of ``left == right`` are compared here,
  as values, floats within the tolerance.
* An exception counts against the program where ``ensures`` promises a result, where no clause of ``raises`` demands
  it, or where the reference returned; a law cannot be judged on an input on which a side raises.
* A call that does not end within the sandbox's limit, or that ends its process, breaks every promise about its input:
  nothing could be said of the answer. On a large input running out of time is only noted: there an honest program may.
* A reference speaks of the inputs on which it returns, and returns soon: inputs that nobody bounded send right programs
  into endless loops, too. The program is run on no others, and stopped soon after the first that it does not answer.
* What cannot be judged is said to be so, with the reason: every promise stands in every judgement. A value that cannot
  leave the jail may be right, so it is not held against the program; but whoever hides a result is not tested by it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from armillary.core.tasks import TaskSpec
from armillary.core.verdicts import CheckOrigin, Level
from armillary.verify.comparison import equal_by_value, matches
from armillary.verify.contract import Contract
from armillary.verify.execution import Execution, Jail, Observation, run_calls
from armillary.verify.generate import Arguments, is_large
from armillary.verify.laws import Laws, Side
from armillary.verify.readable import readable_value
from armillary.verify.sandbox.outcomes import Call, Limits

REFERENCE_CALL_CPU_S = 0.5
# Calls that a reference may leave without an answer; a batch of inputs after them ends at its first.
MAX_REFERENCE_STOPS = 8
# A process that has spent a call's time ends soon, as one such call refutes a program.
HASTY_LIMITS = Limits(cpu_s=3)


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


_STOPS: Final = frozenset({"timeout", "died"})
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
        self._num_stops_left = MAX_REFERENCE_STOPS

    @property
    def promises(self) -> tuple[Promise, ...]:
        """The reference."""
        return (Promise("reference", "differential", "user", "the same results as the reference"),)

    def judge(self, inputs: Sequence[Arguments]) -> list[Judgement]:
        """Run the reference on all inputs, then the program on those on which it returns."""
        wanted = self._run_reference(inputs)
        if wanted.load_error:
            return [{"reference": _unloaded("the reference", wanted)} for _ in inputs]
        asked = [item for item, seen in zip(inputs, wanted.observations, strict=True) if seen.kind == "returned"]
        found = self._run(asked)
        if found.load_error:
            return [{"reference": _unloaded("the code", found)} for _ in inputs]
        answers = iter(found.observations)
        return [
            self._judge_answer(seen, next(answers), item)
            if seen.kind == "returned"
            else {"reference": _undefined(seen, item)}
            for item, seen in zip(inputs, wanted.observations, strict=True)
        ]

    def _run_reference(self, inputs: Sequence[Arguments]) -> Execution:
        num_stops = max(1, self._num_stops_left)
        cpu_s = math.ceil(num_stops * REFERENCE_CALL_CPU_S)
        limits = Limits(wall_s=30.0, cpu_s=cpu_s, call_cpu_s=REFERENCE_CALL_CPU_S)
        calls = self._calls(inputs)
        found = run_calls(self._jail, self._task.reference, calls, limits=limits, max_stops=num_stops, seed=self._seed)
        self._num_stops_left -= sum(seen.kind in _STOPS for seen in found.observations)
        return found

    def _run(self, inputs: Sequence[Arguments]) -> Execution:
        if not inputs:
            return Execution(())
        calls = self._calls(inputs)
        found = run_calls(self._jail, self._code, calls, limits=HASTY_LIMITS, max_stops=1, seed=self._seed)
        kinds = {seen.kind for seen in found.observations}
        # Many calls that are slow, but answered, have been cut off; they are given all the time that the jail allows.
        is_cut_off = "skipped" in kinds and not kinds & _STOPS
        return run_calls(self._jail, self._code, calls, seed=self._seed) if is_cut_off else found

    def _calls(self, inputs: Sequence[Arguments]) -> list[Call]:
        return [Call(self._task.entry_point, row) for row in inputs]

    def _judge_answer(self, wanted: Observation, found: Observation, arguments: Arguments) -> Row:
        if found.kind == "skipped" and is_large(arguments):
            return {"reference": SLOW}  # it stands behind one that took too long
        return _excused({"reference": self._judge(wanted, found)}, arguments)

    def _judge(self, wanted: Observation, found: Observation) -> Finding | Unjudged | None:
        if found.kind == "skipped" or (found.kind == "unencodable" and not found.equals_nothing):
            return Unjudged(found.text, is_hidden=found.kind == "unencodable")
        is_same = found.kind == "returned" and matches(wanted.value, found.value, self._task.returns)
        return None if is_same else _finding(wanted.text, found)


def _undefined(seen: Observation, arguments: Arguments) -> Unjudged:
    """An input on which the reference does not return."""
    if seen.kind == "raised":
        return Unjudged("the reference raises", is_outside=True)
    if seen.kind == "timeout":
        return SLOW if is_large(arguments) else Unjudged("the reference gives no answer in time", is_outside=True)
    return Unjudged(f"the reference: {seen.text}")


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
