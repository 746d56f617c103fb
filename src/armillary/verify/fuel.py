"""Count the steps of a program: its syntax tree is rewritten so that it counts while it runs. Judges nothing.

Imports the standard library only, as its own text goes into the jail in front of the program: the judge compiles
nothing. The count is the same for Python 3.11 to 3.13, on every machine and at every speed. A step is

* one entry into a function, method or lambda of the program, and one resumption of a generator of its own;
* one iteration of ``for``, ``while`` or a comprehension;
* one item of a built-in container, or of an iterator written in C, that ``NAMED`` reads when it is called by its name,
  that ``yield from`` or ``"".join`` reads, that a slice copies, that ``in`` has to look through in a list or tuple, or
  that a method of ``WALKING`` moves or looks through in a list. ``any`` and ``all`` read until they know; ``in`` and
  the methods count as if they read to the end. ``sorted`` and ``.sort`` take n * ceil(log2 n).

Not seen: work inside of imported modules, other work of what is written in C (``+``, ``*`` and ``==`` of long values,
large integers, methods of texts, ``*`` unpacking), text run by ``exec`` or ``eval``, and work done by loading.

The count is the same wherever C code calls back as often; a comparing ``sorted`` of another version may not.

The program holds no name of the counter: what it calls stands among the constants of its functions. What the counter
itself calls was bound before the program, which has a table of built-ins of its own to change.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
import sys
import types
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from operator import itemgetter
from random import getstate, setstate
from time import process_time
from typing import Any, Final

FILE_NAME: Final = "candidate.py"
NAMED: Final[dict[str, Callable[..., Any]]] = {
    "all": all, "any": any, "bytearray": bytearray, "bytes": bytes, "dict": dict, "frozenset": frozenset,
    "list": list, "max": max, "min": min, "set": set, "sorted": sorted, "sum": sum, "tuple": tuple,
    "Counter": Counter, "deque": deque,
}  # fmt: skip
WALKING: Final = frozenset({"copy", "count", "index", "insert", "pop", "remove", "reverse"})
READING: Final = frozenset({"extend", "join"})

_KNOWN: Final = {id(function): function for function in NAMED.values()}
_SIZED: Final = frozenset({
    list, tuple, str, bytes, bytearray, range, set, frozenset, dict, type({}.keys()), type({}.values()),
    type({}.items()), deque, Counter, OrderedDict, defaultdict,
})  # fmt: skip
_ITERATORS: Final = frozenset({
    map, filter, zip, enumerate, reversed, *(type(iter(kind())) for kind in (list, tuple, bytes, set, dict, deque)),
    type(iter("")), type(iter("é")), type(iter(range(0))), type(iter(range(1 << 70))), type(reversed([])),
    type(reversed({})), type(iter({}.values())), type(iter({}.items())), itertools.accumulate, itertools.chain,
    itertools.combinations, itertools.combinations_with_replacement, itertools.compress, itertools.count,
    itertools.cycle, itertools.dropwhile, itertools.filterfalse, itertools.groupby, itertools.islice,
    itertools.pairwise, itertools.permutations, itertools.product, itertools.repeat, itertools.starmap,
    itertools.takewhile, itertools.zip_longest,
})  # fmt: skip
_LAZY: Final = _ITERATORS | {types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType}
_ROWS: Final = frozenset({list, tuple, deque})
_COPIED: Final = frozenset({list, tuple, str, bytes, bytearray})
_FIRST: Final = itemgetter(0)
# Frames of this file below a call of the program, so that it may recurse as deep as without them.
_EXTRA_FRAMES: Final = 6
# After so many calls that took all their steps in one process no further one is made.
_MAX_SPENT_CALLS: Final = 3
_ANNOTATIONS: Final = frozenset({"annotation", "returns", "type_params"})


class FuelError(BaseException):
    """A call took all the steps that it may; not an ``Exception``, so that ordinary handlers let it through."""


class Meter:
    """Counts steps up to a limit; whoever goes on after it meets ``FuelError`` at every further step."""

    __slots__ = ("_ticks", "tick")

    def __init__(self, limit: int) -> None:
        self._ticks = chain(range(1, limit + 1), _Spent(limit))
        # Truthy, as it counts from 1; no Python code runs in it.
        self.tick: Callable[[], int] = self._ticks.__next__

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """What a rewritten program calls, by the names that stand for it."""
        return {
            "tick": self.tick, "read": self.read, "take": self.take, "reach": self.reach, "copy": self.copy,
            "give": self.give, "order": self.order,
        }  # fmt: skip

    def read(self, function: object, value: Any) -> Any:
        """What a function called by one of the names in ``NAMED`` is given, counted if it still is that function."""
        known = _KNOWN.get(id(function))
        if known is None:
            return value
        if known is sorted:
            return self._sorted(value)
        if known in (any, all) and type(value) in _SIZED:
            return self._each(value)
        return self.take(value)

    def take(self, value: Any) -> Any:
        """Something that is read to its end."""
        if type(value) in _ITERATORS:
            return self._each(value)
        return self.reach(value, _SIZED)

    def reach(self, value: Any, kinds: frozenset[Any] = _ROWS) -> Any:
        """Count the items of a value of one of the kinds; any other costs nothing."""
        if type(value) in kinds:
            self._charge(_size(value))
        return value

    def copy(self, value: Any) -> Any:
        """What a slice gave."""
        return self.reach(value, _COPIED)

    def give(self, value: Any) -> Any:
        """What a method of a value of unknown type reads: given on as it is."""
        return self.reach(value, _SIZED)

    def order(self, value: Any) -> Any:
        """A list that is sorted in place."""
        if type(value) is list:
            self._charge(_steps_to_sort(len(value)))
        return value

    def _sorted(self, value: Any) -> Any:
        if type(value) in _ITERATORS or type(value) is types.GeneratorType:
            value = list(self.take(value))
        if type(value) in _SIZED:
            self._charge(_steps_to_sort(_size(value)))
        return value

    def _each(self, items: Iterable[Any]) -> Iterator[Any]:
        return map(_FIRST, zip(items, self._ticks, strict=False))

    def _charge(self, count: int) -> None:
        if count:
            next(islice(self._ticks, count - 1, count), None)


class _Spent:
    def __init__(self, limit: int) -> None:
        self._limit = limit

    def __iter__(self) -> _Spent:
        return self

    def __next__(self) -> int:
        raise FuelError(f"more than {self._limit} steps")


def _size(value: Any) -> int:
    try:
        return len(value)
    except OverflowError:  # a range longer than any list
        return sys.maxsize


def _steps_to_sort(count: int) -> int:
    return count * max(1, (count - 1).bit_length())


def load_counted(
    source: str, entry_point: str, *, limit: int, name: str
) -> Callable[..., tuple[int, bool, str, float]]:
    """Prepare a program, and load it once so that whatever its loading raises is raised here.

    Args:
        source: the program's text.
        entry_point: the function to call.
        limit: steps that loading may take, and each call.
        name: the program's name as a module.

    Returns:
        A function that loads the program anew, so that no call profits from an earlier one, and calls it. It gives the
        steps of the call, whether it was stopped at the limit, how it ended (``returned``, ``lazy`` for an iterator
        whose work is still to come, or the exception's name) and its processor time in seconds.
    """
    program, meter = _Program(source, name), Meter(limit)
    recursion_limit = sys.getrecursionlimit()
    program.load(meter)
    limit += meter.tick()
    num_spent = 0

    def call(*arguments: Any) -> tuple[int, bool, str, float]:
        nonlocal num_spent
        if num_spent == _MAX_SPENT_CALLS:
            raise FuelError(f"{num_spent} calls took all their steps, no further one is made")
        meter, state = Meter(limit), getstate()
        sys.setrecursionlimit(recursion_limit + _EXTRA_FRAMES)
        function = program.load(meter)[entry_point]
        setstate(state)
        before, started, ending = meter.tick(), process_time(), "returned"
        try:
            ending = "lazy" if type(function(*arguments)) in _LAZY else ending
        except BaseException as error:  # noqa: BLE001 - whatever a program raises is data
            ending = type.__dict__["__name__"].__get__(type(error))[:100]
        cpu_s = process_time() - started
        try:
            return meter.tick() - before - 1, False, ending, cpu_s
        except FuelError:
            num_spent += 1
            return limit - before, True, ending, cpu_s

    return call


class _Program:
    """A program that counts, compiled once."""

    def __init__(self, source: str, name: str) -> None:
        self._name = name
        # No program can hold the hash of its own text.
        self._mark = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
        with warnings.catch_warnings():
            # A text that is called looks like a slip to the compiler; it is replaced before it runs.
            warnings.simplefilter("ignore")
            tree = _with_counting(ast.parse(source), self._mark)
            self._code = compile(tree, FILE_NAME, "exec", dont_inherit=True)

    def load(self, meter: Meter) -> dict[str, Any]:
        module = types.ModuleType(self._name)
        sys.modules[self._name] = module
        module.__dict__["__builtins__"] = dict(vars(builtins))
        code = _filled(self._code, self._mark, meter.functions)
        exec(code, module.__dict__)  # noqa: S102 - this is what the jail is for
        return module.__dict__


def _filled(code: types.CodeType, mark: str, functions: dict[str, Callable[..., Any]]) -> types.CodeType:
    """The code with the meter's functions in place of the texts that stand for them."""

    def fill(constant: Any) -> Any:
        if isinstance(constant, types.CodeType):
            return _filled(constant, mark, functions)
        if isinstance(constant, str) and constant.startswith(mark):
            return functions[constant.removeprefix(mark)]
        return constant

    return code.replace(co_consts=tuple(map(fill, code.co_consts)))


def _with_counting(tree: ast.Module, mark: str) -> ast.Module:
    """The same tree, changed in place. No recursion: a program may be nested deeper than our stack."""
    rewrite = _Rewrite(mark)
    nodes = _nodes(tree)
    for node in nodes:
        rewrite.replace_children(node)
    for node in nodes:
        rewrite.change(node)
    return tree


def _nodes(tree: ast.AST) -> list[ast.AST]:
    """All nodes but those of annotations, which are never run or only shown."""
    nodes = [tree]
    for node in nodes:
        for field, value in ast.iter_fields(node):
            if field not in _ANNOTATIONS:
                children = value if isinstance(value, list) else [value]
                nodes += [child for child in children if isinstance(child, ast.AST)]
    return nodes


class _Rewrite:
    def __init__(self, mark: str) -> None:
        self._mark = mark

    def replace_children(self, node: ast.AST) -> None:
        """Put what counts around slices and around what a generator is resumed with."""
        for field, value in ast.iter_fields(node):
            if field in _ANNOTATIONS:
                continue
            if isinstance(value, list):
                value[:] = [self._replaced(child) for child in value]
            else:
                setattr(node, field, self._replaced(value))

    def change(self, node: ast.AST) -> None:
        """Make one node count, where it does."""
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.body.insert(_has_docstring(node), self._statement(node.body[0]))
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            node.body.insert(0, self._statement(node.body[0]))
        elif isinstance(node, ast.Lambda):
            tick = self._call("tick", node.body)
            node.body = ast.copy_location(ast.BoolOp(ast.And(), [tick, node.body]), node.body)
        elif isinstance(node, ast.comprehension):
            node.ifs.insert(0, self._call("tick", node.iter))
        elif isinstance(node, ast.YieldFrom):
            node.value = self._call("take", node.value, node.value)
        elif isinstance(node, ast.Compare):
            node.comparators = list(map(self._searched, node.ops, node.comparators))
        elif isinstance(node, ast.Call):
            self._change_call(node)

    def _change_call(self, node: ast.Call) -> None:
        function = node.func
        is_single = len(node.args) == 1 and not isinstance(node.args[0], ast.Starred)
        if isinstance(function, ast.Name) and function.id in NAMED:
            if is_single or (function.id in ("sum", "sorted", "deque") and node.args and _is_plain(node.args[0])):
                node.args[0] = self._call("read", node.args[0], _loaded(function), node.args[0])
        elif isinstance(function, ast.Attribute):
            if function.attr == "sort":
                function.value = self._call("order", function.value, function.value)
            elif function.attr in WALKING and not _pops_the_end(node):
                function.value = self._call("reach", function.value, function.value)
            elif function.attr in READING and is_single:
                is_text = isinstance(function.value, ast.Constant) and isinstance(function.value.value, str)
                node.args[0] = self._call("take" if is_text else "give", node.args[0], node.args[0])

    def _replaced(self, node: Any) -> Any:
        if isinstance(node, ast.Yield):
            pair = ast.copy_location(ast.Tuple([node, self._call("tick", node)], ast.Load()), node)
            first = ast.copy_location(ast.Constant(0), node)
            return ast.copy_location(ast.Subscript(pair, first, ast.Load()), node)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load):
            return self._call("copy", node, node)
        return node

    def _searched(self, comparison: ast.cmpop, node: ast.expr) -> ast.expr:
        is_short = isinstance(node, ast.Constant | ast.List | ast.Tuple | ast.Set)
        if is_short or not isinstance(comparison, ast.In | ast.NotIn):
            return node
        return self._call("reach", node, node)

    def _statement(self, place: ast.stmt) -> ast.Expr:
        return ast.copy_location(ast.Expr(self._call("tick", place)), place)

    def _call(self, name: str, place: ast.expr | ast.stmt, *arguments: ast.expr) -> ast.Call:
        function = ast.copy_location(ast.Constant(self._mark + name), place)
        return ast.copy_location(ast.Call(function, list(arguments), []), place)


def _has_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = node.body[0]
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)


def _is_plain(node: ast.expr) -> bool:
    return not isinstance(node, ast.Starred)


def _loaded(name: ast.Name) -> ast.Name:
    return ast.copy_location(ast.Name(name.id, ast.Load()), name)


def _pops_the_end(node: ast.Call) -> bool:
    """Whether a call takes a list's last item, which moves no other."""
    is_pop = isinstance(node.func, ast.Attribute) and node.func.attr == "pop"
    return is_pop and (not node.args or ast.unparse(node.args[0]) == "-1")
