"""Jinja's immutable sandbox with a meter: a stranger's template gets no files, bounded time and bounded memory.

The limits are the constants below: each value that a template makes (its characters and items, counted with
repetition, an item weighing as much as ``ITEM_WEIGHT`` characters), everything that it writes, the items of one
``range``, the bits of an integer, and the wall clock, which is read at each expression and each step of a loop. One
built-in operation on values of legal size is not interrupted. Only the listed filters and methods exist.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.filters import FILTERS
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from armillary.core.errors import TemplateError

MAX_WEIGHT = 1 << 22
ITEM_WEIGHT = 16
MAX_RANGE_ITEMS = 1 << 16
MAX_INT_BITS = 1 << 12
MAX_RENDER_S = 2.0

# Filters and methods that cannot make much out of little; filters that can are written anew below.
_PLAIN_FILTERS = (
    "abs capitalize count d default dictsort first float int items last length list lower map max min reject "
    "rejectattr reverse safe select selectattr sort title trim unique upper"
)
_TEXT_METHODS = (
    "capitalize count endswith find index isalnum isalpha isdigit islower isspace isupper join lower lstrip partition "
    "removeprefix removesuffix replace rfind rpartition rsplit rstrip split splitlines startswith strip title upper"
)
_METHODS = ((str, _TEXT_METHODS), (dict, "get items keys values"), (list | tuple, "count index"), (int | float, ""))
METER_NAME = "the meter"  # with a space, so that no template can name it


class Meter:
    """What one rendering has used."""

    def __init__(self) -> None:
        self.deadline = time.monotonic() + MAX_RENDER_S
        self.num_written = 0

    def tick(self) -> None:
        """Look at the clock.

        Raises:
            TemplateError: the time is over, here and in every other method.
        """
        if time.monotonic() > self.deadline:
            raise TemplateError(f"the chat template ran longer than {MAX_RENDER_S:g} s")

    def write(self, text: str) -> str:
        """Count a piece of output and give it back."""
        self.num_written += len(text)
        self.limit(self.num_written, "writes")
        return text

    def limit(self, weight: int, verb: str = "makes a value of") -> None:
        """Refuse a weight over ``MAX_WEIGHT``."""
        self.tick()
        if weight > MAX_WEIGHT:
            raise TemplateError(f"the chat template {verb} over {MAX_WEIGHT} characters or items")

    def weigh(self, value: Any, *, for_print: bool = False) -> int:
        """Weight of a value's characters and items, a part that stands in it twice counting twice.

        Values with hidden parts count as one item; printing them could unfold without bound and is refused.
        """
        weight = 0
        waiting = [value]
        while waiting:
            item = waiting.pop()
            weight += ITEM_WEIGHT
            if isinstance(item, str):
                weight += len(item)
            elif isinstance(item, list | tuple):
                waiting.extend(item)
            elif isinstance(item, dict):
                waiting.extend(item.keys())
                waiting.extend(item.values())
            elif isinstance(item, range):
                weight += len(item)
            elif isinstance(item, int) and item.bit_length() > MAX_INT_BITS:
                raise TemplateError(f"the chat template makes an integer of over {MAX_INT_BITS} bits")
            elif for_print and not isinstance(item, int | float | Undefined | None):
                raise TemplateError(f"the chat template prints a {type(item).__name__}")
            if weight + ITEM_WEIGHT * len(waiting) > MAX_WEIGHT:
                break
        self.limit(weight + ITEM_WEIGHT * len(waiting))
        return weight

    def text(self, value: Any) -> str:
        """A value as it is printed, if that cannot unfold."""
        self.weigh(value, for_print=True)
        return str(value)


def compile_metered(source: str) -> jinja2.Template:
    """Compile a template whose every expression is metered; render it with a ``Meter`` under ``METER_NAME``."""
    environment = _Environment()
    tree = _MeterEverything().visit(environment.parse(source))
    code = environment.compile(tree)
    return jinja2.Template.from_code(environment, code, environment.globals)


def _meter(context: Context) -> Meter:
    meter = context.parent[METER_NAME]
    assert isinstance(meter, Meter)
    return meter


# The three filters below are put into the tree, where the template cannot forget them; with a context argument they
# are never evaluated at compile time.


@jinja2.pass_context
def _weighed(context: Context, value: Any) -> Any:
    _meter(context).weigh(value)
    return value


@jinja2.pass_context
def _stepped(context: Context, values: Iterable[Any]) -> Iterator[Any]:
    meter = _meter(context)
    for value in values:
        meter.weigh(value)
        yield value


@jinja2.pass_context
def _written(context: Context, value: Any) -> str:
    meter = _meter(context)
    return meter.write(meter.text(value))


@jinja2.pass_context
def _string(context: Context, value: Any) -> str:
    return _meter(context).text(value)


@jinja2.pass_context
def _join(context: Context, values: Iterable[Any], separator: str = "", attribute: str | None = None) -> str:
    meter = _meter(context)
    items = list(values)
    if attribute is not None:
        items = [context.environment.getitem(item, attribute) for item in items]
    meter.limit(meter.weigh(items) + len(items) * len(separator))
    return separator.join(meter.text(item) for item in items)


def _join_method(context: Context, separator: str, values: Iterable[Any]) -> str:
    return _join(context, values, separator)


@jinja2.pass_context
def _replace(context: Context, text: Any, old: str, new: str, count: int = -1) -> str:
    meter = _meter(context)
    whole = meter.text(text)
    meter.limit(len(whole) + whole.count(old) * len(new))
    return whole.replace(old, new, count)


@jinja2.pass_context
def _indent(context: Context, text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    meter = _meter(context)
    text = meter.text(text)
    meter.limit(len(text) + (text.count("\n") + 1) * (width if isinstance(width, int) else len(width)))
    margin = " " * width if isinstance(width, int) else width
    lines = text.split("\n")
    rest = [margin + line if line or blank else line for line in lines[1:]]
    return "\n".join([margin + lines[0] if first else lines[0], *rest])


@jinja2.pass_context
def _tojson(context: Context, value: Any, indent: int | None = None, ensure_ascii: bool = False) -> str:
    # Indentation multiplies with depth and number of items; real templates use up to 4.
    weight = _meter(context).weigh(value, for_print=True)
    if indent is not None and not 0 <= indent <= 8:
        raise TemplateError(f"the chat template indents JSON by {indent}, allowed are 0 to 8")
    _meter(context).limit(weight * (1 + (indent or 0)))
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent)


def _range(*limits: int) -> range:
    values = range(*limits)
    if len(values) > MAX_RANGE_ITEMS:
        raise TemplateError(f"the chat template counts over more than {MAX_RANGE_ITEMS} items")
    return values


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox with only listed filters, methods and globals, and operators that look before they multiply."""

    intercepted_binops = frozenset({"+", "*", "**", "%", "-", "/", "//"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, optimized=False, extensions=["jinja2.ext.loopcontrols"], cache_size=0
        )
        self.filters = {name: FILTERS[name] for name in _PLAIN_FILTERS.split()} | {
            "weighed": _weighed,
            "stepped": _stepped,
            "written": _written,
            "string": _string,
            "join": _join,
            "replace": _replace,
            "indent": _indent,
            "tojson": _tojson,
        }
        self.globals = {"range": _range, "namespace": self.globals["namespace"], "dict": dict}

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Beside Jinja's own rules, only the listed methods of built-in values."""
        for kind, methods in _METHODS:
            if isinstance(obj, kind):
                return attr in methods.split()
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> None:
        """Leave ``str.format`` to the list of methods, which lacks it: a width in it makes any amount of text."""

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call what the template names, with the two methods that multiply text replaced by metered ones."""
        _meter(context).tick()
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str) and obj.__name__ in ("join", "replace"):
            given = {key: value for key, value in kwargs.items() if not key.startswith("_")}  # the rest is Jinja's own
            return (_join_method if obj.__name__ == "join" else _replace)(context, owner, *args, **given)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Refuse operators whose result would be out of proportion."""
        meter = _meter(context)
        if operator == "%" and isinstance(left, str):
            raise TemplateError("the chat template formats text with %, which is not allowed")
        if operator == "**" and not (_is_small(left) and _is_small(right)):
            raise TemplateError("the chat template raises to a power beyond 64 ** 64")
        if operator == "*":
            for value, times in ((left, right), (right, left)):
                if isinstance(value, str | list | tuple) and isinstance(times, int):
                    meter.limit(meter.weigh(value) * max(times, 0))
        return super().call_binop(context, operator, left, right)


def _is_small(value: Any) -> bool:
    return isinstance(value, int | float) and abs(value) <= 64


class _MeterEverything(NodeTransformer):
    """Wrap each expression that can make a value, each loop and each piece of output."""

    def _wrap(self, node: nodes.Expr) -> nodes.Expr:
        self.generic_visit(node)
        return _filtered(node, "weighed")

    visit_List = visit_Dict = visit_Compare = visit_Filter = visit_Call = visit_CondExpr = _wrap
    visit_Add = visit_Sub = visit_Mul = visit_Div = visit_FloorDiv = visit_Mod = visit_Pow = _wrap
    visit_Getitem = visit_And = visit_Or = _wrap

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:
        if node.ctx == "load":
            return self._wrap(node)
        self.generic_visit(node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        """Join two at a time, so that no intermediate text is longer than two legal ones."""
        self.generic_visit(node)
        joined = node.nodes[0]
        for part in node.nodes[1:]:
            pair = nodes.Concat([_filtered(joined, "string"), _filtered(part, "string")], lineno=node.lineno)
            _attach(pair, node)
            joined = _filtered(pair, "weighed")
        return joined

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:
        self.generic_visit(node.call)  # the call itself must stay a call
        node.body = [self.visit(child) for child in node.body]
        node.defaults = [self.visit(child) for child in node.defaults]
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "stepped")
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [_filtered(child, "written") for child in node.nodes]
        return node


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    wrapped = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
    _attach(wrapped, node)
    return wrapped


def _attach(new: nodes.Node, old: nodes.Node) -> None:
    assert old.environment is not None
    new.set_environment(old.environment)
