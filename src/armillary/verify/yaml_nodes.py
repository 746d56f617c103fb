"""Read YAML into nodes that know their line, refusing what could blow up or build objects. Constructs no values."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from armillary.core.errors import TaskFormatError

MAX_DEPTH = 32


def compose_yaml(text: str) -> yaml.Node:
    """The root node of a document.

    Raises:
        TaskFormatError: no YAML, empty, more than one document, or anchors, aliases, tags or deep nesting.
    """
    try:
        _refuse_dangers(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise TaskFormatError(
            f"not YAML: {error.problem}",
            line=None if mark is None else mark.line + 1,
            hint="quote text that contains ': ' or '#' or begins with a bracket",
        ) from error
    except yaml.YAMLError as error:
        raise TaskFormatError(f"not YAML: {str(error).splitlines()[0]}") from error
    if root is None:
        raise TaskFormatError("the file is empty; a task needs at least a prompt")
    return root


def line_of(node: yaml.Node) -> int:
    """The 1-based line on which a node begins."""
    return int(node.start_mark.line) + 1


def entries(node: yaml.Node, path: str) -> Iterator[tuple[str, str, yaml.Node]]:
    """Key, dotted path and value node of each entry of a mapping; a field left empty has none.

    Raises:
        TaskFormatError: not a mapping, a key that is no text, or a key that stands twice.
    """
    if _is_empty(node):
        return
    if not isinstance(node, yaml.MappingNode):
        raise TaskFormatError(f"expected fields and values, found {_kind(node)}", field=path, line=line_of(node))
    seen = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise TaskFormatError("a field's name must be text", field=path, line=line_of(key))
        if key.value in seen:
            raise TaskFormatError("this field stands here twice", field=_join(path, key.value), line=line_of(key))
        seen.add(key.value)
        yield key.value, _join(path, key.value), value


def text_of(node: yaml.Node, path: str) -> str:
    """The text of a scalar node.

    Raises:
        TaskFormatError: a list or a mapping.
    """
    if not isinstance(node, yaml.ScalarNode):
        hint = "quote it" if isinstance(node, yaml.CollectionNode) and node.flow_style else ""
        raise TaskFormatError(f"expected text, found {_kind(node)}", field=path, line=line_of(node), hint=hint)
    return str(node.value)


def items_of(node: yaml.Node, path: str) -> Iterator[tuple[str, yaml.Node]]:
    """Path and node of each item of a list; a single scalar counts as a list of one, a field left empty of none.

    Raises:
        TaskFormatError: a mapping.
    """
    if isinstance(node, yaml.MappingNode):
        raise TaskFormatError("expected a list, found fields and values", field=path, line=line_of(node))
    items = node.value if isinstance(node, yaml.SequenceNode) else [] if _is_empty(node) else [node]
    for index, item in enumerate(items):
        yield f"{path}[{index}]", item


def _refuse_dangers(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = 0 if event.start_mark is None else event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise TaskFormatError("anchors and aliases are not allowed in a task", line=line)
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag is not None:
            raise TaskFormatError(f"the tag {event.tag!r} is not allowed in a task", line=line)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise TaskFormatError(f"nested deeper than {MAX_DEPTH} levels", line=line)


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style is None and node.value in ("", "~", "null")


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return "fields and values" if isinstance(node, yaml.MappingNode) else f"the text {str(node.value)[:40]!r}"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
