"""A task: what the answer must do, as one hashable form with one JSON spelling. Parsing lives in ``verify``."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from armillary.core.errors import TaskFormatError, ValueCodecError
from armillary.core.forms import exactly, number, one_of
from armillary.core.values import Json, decode, dumps, encode

Origin = Literal["user", "docstring", "model"]
MAX_BUDGET = 10**9


@dataclass(frozen=True, slots=True)
class Example:
    """One call and what it must give.

    Attributes:
        arguments: positional arguments.
        expected: the value to return; ignored when ``raises`` is set.
        raises: name of the exception that the call must raise, or empty.
        origin: who wrote it; user's and docstring's examples are hard evidence.
    """

    arguments: tuple[Any, ...]
    expected: Any = None
    raises: str = ""
    origin: Origin = "user"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A Python expression over the parameters (and ``result``) that must be true."""

    text: str
    origin: Origin = "user"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One positional parameter of the entry point.

    Attributes:
        annotation: type as written, or empty.
        domain: the task's bound on it, such as ``int | 0..100``, or empty.
    """

    name: str
    annotation: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one solve may spend.

    Attributes:
        num_candidates: first proposals at most; fewer are made where they agree early.
        max_rounds: revisions after the first proposals.
        max_tokens: prompt and completion tokens over all rounds.
        max_seconds: wall clock over all rounds.

    Raises:
        TaskFormatError: a number is of another type, too small, or over ``MAX_BUDGET``.
    """

    num_candidates: int = 8
    max_rounds: int = 2
    max_tokens: int = 16_000
    max_seconds: float = 300.0

    def __post_init__(self) -> None:
        _require_count("num_candidates", self.num_candidates, lowest=1)
        _require_count("max_rounds", self.max_rounds, lowest=0)
        _require_count("max_tokens", self.max_tokens, lowest=1)
        # Nan fails the comparison.
        if type(self.max_seconds) not in (int, float) or not 0 < self.max_seconds <= MAX_BUDGET:
            raise _out_of_budget("max_seconds", self.max_seconds, f"a number over 0, at most {MAX_BUDGET}")


def _require_count(name: str, value: object, *, lowest: int) -> None:
    if type(value) is not int or not lowest <= value <= MAX_BUDGET:
        raise _out_of_budget(name, value, f"a whole number from {lowest} to {MAX_BUDGET}")


def _out_of_budget(name: str, value: object, wanted: str) -> TaskFormatError:
    # Python refuses to print integers of thousands of digits.
    is_short = isinstance(value, bool | float) or (isinstance(value, int) and value.bit_length() <= 64)
    shown = repr(value) if is_short else f"a value of type {type(value).__name__}"
    return TaskFormatError(f"{shown} is not {wanted}", field=f"budget.{name}")


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """A programming task with everything that its answer is held to.

    Attributes:
        prompt: what the user wants, in words or as a stub with a docstring.
        entry_point: name of the function that must exist.
        parameters: its positional parameters, in order.
        returns: return annotation, or empty.
        requires: predicates that bound the inputs worth testing.
        ensures: predicates over parameters and ``result``.
        laws: predicates that call the entry point themselves (metamorphic).
        raises: exception name -> predicate over the parameters under which it must be raised.
        temporal: predicates over the parameters and ``steps``, the counted steps of a call.
        reference: source of a known-good implementation to compare with, or empty.
    """

    prompt: str
    entry_point: str
    parameters: tuple[Parameter, ...] = ()
    returns: str = ""
    examples: tuple[Example, ...] = ()
    requires: tuple[Predicate, ...] = ()
    ensures: tuple[Predicate, ...] = ()
    laws: tuple[Predicate, ...] = ()
    raises: tuple[tuple[str, str], ...] = ()
    temporal: tuple[Predicate, ...] = ()
    reference: str = ""
    budget: Budget = field(default_factory=Budget)

    @property
    def has_hard_evidence(self) -> bool:
        """Whether anything can refute a wrong answer."""
        return bool(self.examples or self.ensures or self.laws or self.raises or self.temporal or self.reference)

    @property
    def sha256(self) -> str:
        """Hash of the canonical JSON form, budget excluded: it changes the search, not what is right.

        Raises:
            ValueCodecError: as for :func:`task_to_json`.
        """
        body = {key: value for key, value in task_to_json(self).items() if key != "budget"}
        return hashlib.sha256(dumps(body).encode()).hexdigest()


def task_to_json(task: TaskSpec) -> dict[str, Json]:
    """The task's one JSON form.

    Raises:
        ValueCodecError: an example holds a value that the codec does not carry.
    """
    return {
        "prompt": task.prompt,
        "entry_point": task.entry_point,
        "parameters": [[item.name, item.annotation, item.domain] for item in task.parameters],
        "returns": task.returns,
        "examples": [
            {
                "arguments": encode(item.arguments),
                "expected": encode(item.expected),
                "raises": item.raises,
                "origin": item.origin,
            }
            for item in task.examples
        ],
        "requires": _predicates_to_json(task.requires),
        "ensures": _predicates_to_json(task.ensures),
        "laws": _predicates_to_json(task.laws),
        "raises": [list(pair) for pair in task.raises],
        "temporal": _predicates_to_json(task.temporal),
        "reference": task.reference,
        "budget": {
            "num_candidates": task.budget.num_candidates,
            "max_rounds": task.budget.max_rounds,
            "max_tokens": task.budget.max_tokens,
            "max_seconds": task.budget.max_seconds,
        },
    }


def task_from_json(body: Any) -> TaskSpec:
    """Inverse of :func:`task_to_json`.

    Raises:
        TaskFormatError: the body was not written by :func:`task_to_json`.
    """
    try:
        return TaskSpec(
            prompt=exactly(body["prompt"], str),
            entry_point=exactly(body["entry_point"], str),
            parameters=tuple(Parameter(*_texts(item)) for item in exactly(body["parameters"], list)),
            returns=exactly(body["returns"], str),
            examples=tuple(_example_from_json(item) for item in exactly(body["examples"], list)),
            requires=_predicates_from_json(body["requires"]),
            ensures=_predicates_from_json(body["ensures"]),
            laws=_predicates_from_json(body["laws"]),
            raises=tuple((name, text) for name, text in map(_texts, exactly(body["raises"], list))),
            # Traces of 0.1 have no such field.
            temporal=_predicates_from_json(body.get("temporal", [])),
            reference=exactly(body["reference"], str),
            budget=_budget_from_json(body["budget"]),
        )
    except (KeyError, TypeError, ValueError, ValueCodecError) as error:
        raise TaskFormatError(f"not a task's JSON form: {error!r}") from error


def _example_from_json(item: Any) -> Example:
    return Example(
        arguments=exactly(decode(item["arguments"]), tuple),
        expected=decode(item["expected"]),
        raises=exactly(item["raises"], str),
        origin=one_of(item["origin"], get_args(Origin)),
    )


def _budget_from_json(item: Any) -> Budget:
    return Budget(
        num_candidates=exactly(item["num_candidates"], int),
        max_rounds=exactly(item["max_rounds"], int),
        max_tokens=exactly(item["max_tokens"], int),
        max_seconds=number(item["max_seconds"]),
    )


def _texts(item: Any) -> list[str]:
    return [exactly(text, str) for text in exactly(item, list)]


def _predicates_to_json(predicates: tuple[Predicate, ...]) -> Json:
    return [[item.text, item.origin] for item in predicates]


def _predicates_from_json(items: Any) -> tuple[Predicate, ...]:
    return tuple(
        Predicate(text, one_of(origin, get_args(Origin))) for text, origin in map(_texts, exactly(items, list))
    )
