"""Read a task from YAML. Values of examples are Python literals or plain YAML; nothing is ever constructed by tag."""

from __future__ import annotations

import ast
import math
import re
from typing import Any

import yaml

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.draft import Draft, build_task, refuse_unknown
from armillary.verify.signature import signature_of
from armillary.verify.source import SourceError, defined_functions, literal, parse_module
from armillary.verify.yaml_nodes import compose_yaml, entries, items_of, line_of, text_of

FIELDS = (
    "prompt", "entry_point", "signature", "inputs", "examples", "requires", "ensures", "laws", "raises", "temporal",
    "reference", "budget",
)  # fmt: skip
_SPOKEN = {
    "true": True, "false": False, "null": None, "~": None, "": None, ".nan": math.nan, ".inf": math.inf,
    "-.inf": -math.inf,
}  # fmt: skip
_LIKE_A_NUMBER = re.compile(r"[+-]?(?:0[xob][0-9a-f_]+|[0-9][0-9_]*)", re.IGNORECASE)


def task_from_yaml(text: str) -> TaskSpec:
    """Read a task; see ``draft.Draft`` for its fields.

    Raises:
        TaskFormatError: names the field and the line of what is wrong.
    """
    root = compose_yaml(text)
    if not isinstance(root, yaml.MappingNode):
        what = "a list" if isinstance(root, yaml.SequenceNode) else "a single text"
        message = f"this is {what}, not a task; a task has fields such as `prompt:` and `signature:`"
        raise TaskFormatError(message, line=line_of(root))
    draft = Draft()
    for name, path, node in entries(root, ""):
        refuse_unknown(name, FIELDS, line=line_of(node))
        draft.lines[path] = line_of(node)
        _read_field(draft, name, node)
    _look_for_stub(draft)
    return build_task(draft)


def value_of(node: yaml.Node) -> Any:
    """A node as a Python value: a Python literal where its text is one, otherwise YAML's own reading of it."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.CollectionNode) and node.flow_style:
        # `{1, 2}` and `[(1, 2)]` mean in an example what they mean in Python.
        try:
            return literal(str(node.start_mark.buffer)[node.start_mark.pointer : node.end_mark.pointer])
        except SourceError:
            pass  # YAML's own spelling, such as [true, word]
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    found = {}
    for key, item in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise SourceError("a key that is no plain value")
        name = value_of(key)
        if name in found:
            raise SourceError(f"the key {name!r} stands here twice")
        found[name] = value_of(item)
    return found


def _scalar(node: yaml.ScalarNode) -> Any:
    if node.style is not None:
        return node.value
    if node.value in _SPOKEN:
        return _SPOKEN[node.value]
    try:
        return literal(node.value)
    except SourceError as error:
        if _LIKE_A_NUMBER.fullmatch(node.value):
            # Such as 010, or more digits than a number may have: as text it would be misread.
            raise SourceError(f"{node.value[:40]!r} is no number that Python reads; quote it if it is text") from error
        return node.value


def _read_field(draft: Draft, name: str, node: yaml.Node) -> None:
    if name in ("prompt", "entry_point", "signature", "reference"):
        setattr(draft, name, text_of(node, name))
    elif name == "examples":
        for path, item in items_of(node, name):
            draft.lines[path] = line_of(item)
            draft.examples.append(_example(draft, item, path))
    elif name in ("requires", "ensures", "laws", "temporal"):
        for path, item in items_of(node, name):
            draft.lines[path] = line_of(item)
            getattr(draft, name).append(text_of(item, path))
    elif name == "budget":
        for key, path, item in entries(node, name):
            draft.lines[path] = line_of(item)
            with draft.reading(path):
                draft.budget[key] = value_of(item)
    else:
        table: dict[str, str] = getattr(draft, name)
        for key, path, item in entries(node, name):
            draft.lines[path] = line_of(item)
            table[key] = text_of(item, path)


def _example(draft: Draft, node: yaml.Node, path: str) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return node.value
    found: dict[str, Any] = {}
    for key, inner, item in entries(node, path):
        draft.lines[inner] = line_of(item)
        with draft.reading(inner):
            found[key] = text_of(item, inner) if key in ("call", "raises") else value_of(item)
    return found


def _look_for_stub(draft: Draft) -> None:
    """Take the signature and the docstring from a stub in the prompt, if the prompt is one."""
    try:
        functions = defined_functions(parse_module(draft.prompt))
        named = (
            [function for function in functions if function.name == draft.entry_point]
            if draft.entry_point
            else functions
        )
        if named:
            draft.stub_signature = signature_of(named[-1])
            draft.docstring = ast.get_docstring(named[-1]) or ""
    except SourceError:
        return  # a prompt in words
