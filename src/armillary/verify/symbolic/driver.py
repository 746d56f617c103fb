"""The program that explores code path by path with CrossHair. Its text is run in a jail, never in our own process.

It stands alone: nothing of this package can be imported where it runs. It trusts nothing and claims little: what it
reports as a counterexample is run again elsewhere, and what it reports as explored is proof only under the conditions
that ``adapter`` lists.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from functools import reduce
from math import inf
from operator import or_
from types import GenericAlias
from typing import Any

# Inputs that break a promise for CrossHair may be false alarms, so that the first need not be the last.
MAX_COUNTEREXAMPLES = 3
PATHS_AFTER_COUNTEREXAMPLE = 20
MAX_WITNESSES = 64

_SCALARS: dict[str, Any] = {
    "none": type(None), "int": int, "bool": bool, "str": str, "bytes": bytes, "float": float, "complex": complex,
}  # fmt: skip
_CONTAINERS: dict[str, type] = {"list": list, "set": set, "frozenset": frozenset, "dict": dict}

Outcome = tuple[str, Any]
Shape = dict[str, Any]


def check(request: dict[str, Any]) -> dict[str, Any]:
    """Explore one promise of one program.

    Args:
        request: ``code`` and ``contract``, two programs; ``entry_point``; ``shapes`` of the parameters; ``requires``
            and ``raises``, names of functions of the contract; ``promise``, the name of the one to explore, and
            ``is_law``; ``cpu_s`` and ``max_paths``; ``max_built_length``, up to which lists and tuples are built as
            real ones, one path per length, while longer ones are symbols.

    Returns:
        As :func:`_explore`.
    """
    function = _load(request["code"])[request["entry_point"]]
    contract = _load(request["contract"])
    requires = [contract[name] for name in request["requires"]]
    raises = [contract[name] for name in request["raises"]]
    promise = contract[request["promise"]]

    def run(arguments: list[Any]) -> Outcome:
        originals = _copied(arguments)
        if not all(_holds(item, arguments) for item in requires):
            return "outside", None
        if any(_holds(item, originals) for item in raises):
            return "outside", None
        if request["is_law"]:
            return "held" if promise(_answering(function), *originals) else "broken", None
        result = function(*arguments)
        return "held" if promise(*originals, result) else "broken", result

    return _explore(request, run)


def compare(request: dict[str, Any]) -> dict[str, Any]:
    """Explore two programs, ``code`` and ``other``, side by side; the rest of the request is as for :func:`check`.

    Where ``is_reference``, what ``other`` raises on is outside of what it speaks of.
    """
    functions = [_load(request[name])[request["entry_point"]] for name in ("code", "other")]
    contract = _load(request["contract"])
    requires = [contract[name] for name in request["requires"]]

    def run(arguments: list[Any]) -> Outcome:
        others = _copied(arguments)
        if not all(_holds(item, arguments) for item in requires):
            return "outside", None
        (left, left_error), (right, right_error) = _attempt(functions[0], arguments), _attempt(functions[1], others)
        if right_error and request["is_reference"]:
            return "outside", None
        if left_error != right_error:
            return "broken", None
        return "held" if left_error or _is_same(left, right) else "broken", left

    return _explore(request, run)


def _explore(request: dict[str, Any], run: Callable[[list[Any]], Outcome]) -> dict[str, Any]:
    """Run on symbolic arguments until every path is known, or the budget is spent.

    Returns:
        ``is_exhausted``: every path was run to its end and none was given up; ``num_paths``, ``num_held``,
        ``num_outside``; ``counterexamples``: arguments and what was seen; ``witnesses``: arguments and result of paths
        on which the promise held; ``obstacles``: why paths were given up; ``cpu_s``.
    """
    import crosshair.core_and_libs  # noqa: F401 - registers what CrossHair can model
    from crosshair.core import explore_loop
    from crosshair.options import DEFAULT_OPTIONS, AnalysisOptionSet
    from crosshair.statespace import RootNode, VerificationStatus

    started = time.process_time()
    options = DEFAULT_OPTIONS.overlay(
        AnalysisOptionSet(analysis_kind=(), per_condition_timeout=request["cpu_s"], max_iterations=request["max_paths"])
    )
    explorer = _Explorer(request["shapes"], request["max_built_length"], run)
    found = explore_loop(options, RootNode(), explorer.run_path)
    status = found.top_analysis.verification_status if found.top_analysis else None
    # Without a status no path was admitted at all.
    is_exhausted = found.exhausted and status in (VerificationStatus.CONFIRMED, None) and not explorer.obstacles
    return {
        "is_exhausted": is_exhausted,
        "num_paths": explorer.num_paths,
        "num_held": explorer.num_held,
        "num_outside": explorer.num_outside,
        "counterexamples": explorer.counterexamples,
        "witnesses": explorer.witnesses,
        "obstacles": explorer.obstacles,
        "cpu_s": time.process_time() - started,
    }


class _Explorer:
    """Runs single paths and remembers what came of them."""

    def __init__(self, shapes: list[Shape], max_built_length: int, run: Callable[[list[Any]], Outcome]) -> None:
        self._shapes = shapes
        self._max_built_length = max_built_length
        self._run = run
        self.num_paths = self.num_held = self.num_outside = 0
        self.counterexamples: list[dict[str, Any]] = []
        self.witnesses: list[dict[str, Any]] = []
        self.obstacles: dict[str, int] = {}
        self._last_path = sys.maxsize

    def run_path(self, space: Any) -> Any:
        """Run one path; CrossHair calls it until all are known."""
        from crosshair.core import CallAnalysis, PathOutcome
        from crosshair.statespace import NotDeterministic, VerificationStatus
        from crosshair.util import IgnoreAttempt, UnexploredPath

        self.num_paths += 1
        try:
            kind = self._judge_path(space)
        except (IgnoreAttempt, UnexploredPath) as error:
            self._give_up(error)
            raise
        except NotDeterministic as error:
            self._give_up(error)
            kind = "given up"
        if kind == "outside":
            return PathOutcome(CallAnalysis())
        is_enough = len(self.counterexamples) >= MAX_COUNTEREXAMPLES or self.num_paths >= self._last_path
        status = VerificationStatus.CONFIRMED if kind == "held" else VerificationStatus.UNKNOWN
        return PathOutcome(CallAnalysis(status), breakout=is_enough)

    def _judge_path(self, space: Any) -> str:
        from crosshair.core import ExceptionFilter
        from crosshair.tracers import ResumedTracing

        builder = _Builder(space, self._max_built_length)
        arguments = [builder.build(shape, f"argument_{place}") for place, shape in enumerate(self._shapes)]
        kept = _copied_untraced(arguments)
        kind, result, error = "given up", None, None
        with ExceptionFilter() as caught, ResumedTracing():
            kind = "outside"
            if all(condition() for condition in builder.conditions):
                kind, result = self._run(arguments)
        if caught.ignore:
            self._give_up("ignored")
            return "given up"
        if space.status_cap is not None:
            self._give_up("a float")
        if caught.user_exc is not None:
            kind, error = "broken", caught.user_exc[0]
        if isinstance(error, _UnansweredError):
            self._give_up("a condition on the inputs raises")
            return "given up"
        if kind == "outside":
            self.num_outside += 1
        elif kind == "held":
            if len(self.witnesses) < MAX_WITNESSES:
                self.witnesses.append(self._realized(space, kept, result, None))
            self.num_held += 1
        else:
            self.counterexamples.append(self._realized(space, kept, result, error))
            self._last_path = min(self._last_path, self.num_paths + PATHS_AFTER_COUNTEREXAMPLE)
        return kind

    def _realized(self, space: Any, arguments: list[Any], result: Any, error: BaseException | None) -> dict[str, Any]:
        from crosshair.core import deep_realize
        from crosshair.tracers import ResumedTracing
        from crosshair.util import IgnoreAttempt

        with ResumedTracing():
            space.detach_path(error)
            found = deep_realize([arguments, result])
        if not _is_plain(found[0]):
            raise IgnoreAttempt("an argument that is no plain value")
        has_result = _is_plain(found[1])
        return {
            "arguments": found[0],
            "result": found[1] if has_result else None,
            "has_result": has_result,
            "error": "" if error is None else type(error).__name__,
        }

    def _give_up(self, reason: BaseException | str) -> None:
        name = reason if isinstance(reason, str) else type(reason).__name__
        text = "" if isinstance(reason, str) else str(reason)
        key = f"{name}: {text}"[:120] if text else name
        self.obstacles[key] = self.obstacles.get(key, 0) + 1


class _Builder:
    """Makes symbolic arguments; what their shape asks for beyond their type becomes a condition."""

    def __init__(self, space: Any, max_built_length: int) -> None:
        self._space = space
        self._max_built_length = max_built_length
        self.conditions: list[Callable[[], bool]] = []

    def build(self, shape: Shape, name: str) -> Any:
        """A symbolic value; ``conditions`` grow by what must be true of it."""
        kind = shape["kind"]
        if kind == "none":
            return None
        if kind == "choice":
            return self._one_of(shape["choices"], name)
        if kind == "union":
            return self.build(self._one_of(shape["items"], name), name)
        if kind == "tuple" and not shape["is_variadic"]:
            return tuple(self.build(item, f"{name}_{place}") for place, item in enumerate(shape["items"]))
        if kind in ("list", "tuple") and shape["high"] is not None and shape["high"] <= self._max_built_length:
            length = self._one_of(range(shape["low"], shape["high"] + 1), name)
            items = [self.build(shape["items"][0], f"{name}_{place}") for place in range(length)]
            return items if kind == "list" else tuple(items)
        return self._proxy(shape, name)

    def _proxy(self, shape: Shape, name: str) -> Any:
        from crosshair.core import proxy_for_type
        from crosshair.libimpl.builtinslib import SymbolicBoundedInt

        low, high = shape["low"], shape["high"]
        if shape["kind"] == "int" and not (low is None and high is None):
            return SymbolicBoundedInt(name + self._space.uniq(), int, low, high)
        value = proxy_for_type(_type_of(shape), name + self._space.uniq())
        if _is_bounded(shape):
            self.conditions.append(lambda: _fits(shape, value))
        return value

    def _one_of(self, options: Any, name: str) -> Any:
        for place, option in enumerate(options[:-1]):
            if self._space.smt_fork(desc=f"{name}_is_{place}"):
                return _copied_untraced(option)
        return _copied_untraced(options[-1])


def _type_of(shape: Shape) -> Any:
    kind, items = shape["kind"], tuple(_type_of(item) for item in shape["items"])
    if kind == "choice":
        return reduce(or_, (type(item) for item in shape["choices"]))
    if kind == "union":
        return reduce(or_, items)
    if kind == "tuple":
        return GenericAlias(tuple, (items[0], ...) if shape["is_variadic"] else items)
    return GenericAlias(_CONTAINERS[kind], items) if kind in _CONTAINERS else _SCALARS[kind]


def _is_bounded(shape: Shape) -> bool:
    is_sized = bool(shape["low"]) or shape["high"] is not None or bool(shape["alphabet"])
    has_bounds = shape["kind"] in ("choice", "float") or (shape["kind"] == "int" and shape["low"] is not None)
    return has_bounds or is_sized or any(map(_is_bounded, shape["items"]))


def _fits(shape: Shape, value: Any) -> bool:
    """Whether a value of the shape's type keeps its bounds; runs on symbolic values."""
    kind, low, high, items = shape["kind"], shape["low"], shape["high"], shape["items"]
    if kind == "choice":
        return any(type(item) is type(value) and item == value for item in shape["choices"])
    if kind == "union":
        return any(isinstance(value, _class_of(item)) and _fits(item, value) for item in items)
    if kind == "float" and not -inf < value < inf:
        return False  # such numbers break most promises, which do not mean them
    measured = value if kind in ("int", "float") else len(value) if hasattr(value, "__len__") else 0
    if (low is not None and measured < low) or (high is not None and measured > high):
        return False
    if kind == "str" and shape["alphabet"]:
        return all(character in shape["alphabet"] for character in value)
    if kind == "tuple" and not shape["is_variadic"]:
        return all(_fits(item, member) for item, member in zip(items, value, strict=True))
    if kind == "dict":
        return all(_fits(items[0], key) and _fits(items[1], member) for key, member in value.items())
    return not (items and _is_bounded(items[0])) or all(_fits(items[0], member) for member in value)


def _class_of(shape: Shape) -> Any:
    found = _type_of(shape)
    return getattr(found, "__origin__", None) or found


def _is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of the same types through and through: ``True`` is not ``1``."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(_is_same, left, right))
    if isinstance(left, dict):
        has_same_keys = left.keys() == right.keys() and _kinds(left) == _kinds(right)
        return has_same_keys and all(_is_same(left[key], right[key]) for key in left)
    if isinstance(left, set | frozenset):
        return bool(left == right) and _kinds(left) == _kinds(right)
    return bool(left == right)


def _kinds(values: Iterable[Any]) -> list[str]:
    return sorted(type(item).__name__ for item in values)


def _is_plain(value: Any) -> bool:
    """Whether the value is of built-in types through and through, so that it can leave the jail."""
    if type(value) in (list, tuple, set, frozenset):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(_is_plain(key) and _is_plain(item) for key, item in value.items())
    return value is None or type(value) in (int, bool, str, bytes, float, complex)


class _UnansweredError(Exception):
    """A condition on the inputs raised; whether they are admitted is then not for this model to say."""


def _holds(condition: Callable[..., Any], arguments: list[Any]) -> bool:
    holds, error = _caught(lambda: bool(condition(*arguments)))
    if error is not None:
        raise _UnansweredError from error
    return bool(holds)


def _load(source: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "<candidate>", "exec", dont_inherit=True), namespace)  # noqa: S102 - what the jail is for
    return namespace


def _answering(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on copies of its arguments, as if each call were made in a process of its own."""

    def answer(*arguments: Any, **keywords: Any) -> Any:
        copies = _copied([list(arguments), keywords])
        return function(*copies[0], **copies[1])

    return answer


def _attempt(function: Callable[..., Any], arguments: list[Any]) -> tuple[Any, str]:
    value, error = _caught(lambda: function(*arguments))
    return value, "" if error is None else type(error).__name__


def _caught(action: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """What an action gives, or the program's own exception; CrossHair's signals pass through."""
    from crosshair.core import ExceptionFilter
    from crosshair.util import IgnoreAttempt

    value, has_ended = None, False
    with ExceptionFilter() as caught:
        value, has_ended = action(), True
    if caught.user_exc is not None:
        return None, caught.user_exc[0]
    if not has_ended:
        raise IgnoreAttempt
    return value, None


def _copied(values: Any) -> Any:
    from crosshair.tracers import NoTracing

    with NoTracing():
        return _copied_untraced(values)


def _copied_untraced(values: Any) -> Any:
    from crosshair.copyext import CopyMode, deepcopyext

    return deepcopyext(values, CopyMode.REGULAR, {})
