from __future__ import annotations

import pytest

from armillary.core.errors import TaskFormatError
from armillary.verify.yaml_nodes import compose_yaml, entries, items_of, line_of, text_of

BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "line 1: anchors and aliases"),
        ("a: !!python/object:os.system x", "line 1: the tag"),
        ("a: !odd [1]", "line 1: the tag"),
        ("a: " + "[" * 40 + "]" * 40, "nested deeper"),
        ("a: b: c", "line 1: not YAML"),
        ("a: 'open", "not YAML"),
        ("a: 1\n--- \nb: 2", "line 2: not YAML"),
        ("a: \x00", "not YAML"),
        ("# nothing", "the file is empty"),
    ],
)
def test_dangerous_or_broken_yaml_is_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem) as caught:
        compose_yaml(text)
    assert "\n" not in str(caught.value)


def test_entries_know_their_paths_and_lines() -> None:
    root = compose_yaml("a: 1\nb:\n  c: 2\n")
    [(_, _, _), (name, path, node)] = entries(root, "top")
    assert (name, path, line_of(node)) == ("b", "top.b", 3)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- 1", "found a list"),
        ("x", "found the text 'x'"),
        ("a: 1\na: 2", "stands here twice"),
        ("[1]: 2", "must be text"),
    ],
)
def test_what_is_no_table_of_fields_is_refused(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        list(entries(compose_yaml(text), ""))


@pytest.mark.parametrize(
    ("text", "problem"), [("[1]", "found a list .quote it"), ("- 1", "found a list$"), ("a: 1", "fields and values")]
)
def test_text_is_a_scalar(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        text_of(compose_yaml(text), "x")


def test_a_single_item_counts_as_a_list() -> None:
    assert [path for path, _ in items_of(compose_yaml("one"), "x")] == ["x[0]"]
    assert [path for path, _ in items_of(compose_yaml("- one\n- two"), "x")] == ["x[0]", "x[1]"]
    with pytest.raises(TaskFormatError, match="expected a list"):
        list(items_of(compose_yaml("a: 1"), "x"))
