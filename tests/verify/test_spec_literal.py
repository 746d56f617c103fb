"""The text ``VERIFY(code, CONSTRAINTS: [...])``, in all spellings, and what is wrong with others."""

from __future__ import annotations

import pytest

from armillary.core.errors import TaskFormatError
from armillary.core.tasks import TaskSpec
from armillary.verify.spec import parse_task
from armillary.verify.spec_literal import is_literal, read_literal

CODE = "def double(x):\n    return 2 * x\n"
FENCED = f"```python\n{CODE}```\n"
ARTICLE = (
    "VERIFY(code_solution, CONSTRAINTS: [input_constraints(x > 0), output_constraints(result % 2 == 0), "
    "temporal_constraints(steps < 1000)])"
)


def read(constraints: str, code: str = CODE) -> TaskSpec:
    return read_literal(f"VERIFY(f, CONSTRAINTS=[{constraints}])", code)[0]


def texts(predicates: object) -> list[str]:
    return [item.text for item in predicates]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        (ARTICLE, CODE),
        (FENCED + ARTICLE, ""),
        (ARTICLE.replace("code_solution", repr(CODE)), ""),
        (ARTICLE.replace("code_solution", f'"""{CODE}"""'), ""),
        (ARTICLE.replace("code_solution", f'r"""{CODE}"""').replace("CONSTRAINTS:", "CONSTRAINTS ="), ""),
        (f"# a remark\n\n{FENCED}\n# another\n  {ARTICLE}\n# the end\n", ""),
        (f"~~~~\n{CODE}~~~~\n{ARTICLE}", ""),
        (f"```\ndef other(): ...\n```\n{FENCED}{ARTICLE}", ""),
        (ARTICLE.replace(", ", ",\n  # why\n  ").replace("[", "[\n").replace("])", ",\n],\n)"), CODE),
    ],
    ids=range(9),
)
def test_the_article_reads_the_same_in_every_spelling(text: str, beside: str) -> None:
    assert is_literal(text)
    task, code = read_literal(text, beside)
    assert code == CODE
    assert (task.entry_point, texts(task.requires), texts(task.ensures), texts(task.temporal)) == (
        "double",
        ["x > 0"],
        ["result % 2 == 0"],
        ["steps < 1000"],
    )
    assert [(item.name, item.domain) for item in task.parameters] == [("x", "int")]


def test_indented_code_loses_its_margin() -> None:
    text = 'VERIFY("""\n    def f(x):\n        return x\n    """, CONSTRAINTS: [output_constraints(result == x)])'
    assert read_literal(text)[1] == "\ndef f(x):\n    return x\n"


def test_several_of_each_kind_and_of_each_condition_are_taken_in_order() -> None:
    task = read("input_constraints(x > 0, x < 9), output_constraints(result), input_constraints(x != 4,)")
    assert texts(task.requires) == ["x > 0", "x < 9", "x != 4"]


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("max(x, min(3, x)) in [x, {1: 2}[1], (x)]", "max(x, min(3, x)) in [x, {1: 2}[1], (x)]"),
        ("x == ')],'", "x == ')],'"),
        ("x == '''a\nb'''", "x == 'a\\nb'"),
        ("'x > 0'", "x > 0"),
        ("('x '\n  '> 0')", "x > 0"),
        ("lambda x: x > 0", "x > 0"),
        ("all(map(lambda_, [x]))", ""),
        ("x > 0  # why\n and x < 3", "x > 0 and x < 3"),
        ("all(y for y in [x, 1])", "all(y for y in [x, 1])"),
    ],
)
def test_a_condition_is_any_expression_quoted_or_not(condition: str, text: str) -> None:
    if text:
        assert texts(read(f"input_constraints({condition})").requires) == [text]
    else:
        with pytest.raises(TaskFormatError, match=r"requires\[0\].*did you mean"):
            read(f"input_constraints({condition.replace('lambda_', 'abss')})")


def test_a_lambda_keeps_the_commas_of_its_head() -> None:
    task = read("output_constraints(lambda x, result: result > x, lambda x, y=1, *z: x), input_constraints(x > 0)")
    assert texts(task.ensures) == ["result > x", "x"]


def test_the_function_of_the_name_is_judged_else_the_last_one() -> None:
    code = "def f(a: str) -> int:\n    return 1\n\ndef g(b: int):\n    return 2\n"
    assert read("output_constraints(result)", code).entry_point == "f"
    task, _ = read_literal("VERIFY(other, CONSTRAINTS=[output_constraints(result)])", code)
    assert (task.entry_point, task.prompt) == ("g", "def g(b: int): ...")


def test_signature_docstring_and_its_examples_are_the_tasks() -> None:
    code = 'def f(s: str, n) -> int:\n    """Count.\n\n    >>> f("a", 1)\n    2\n    """\n    return n + 1\n'
    task = read("output_constraints(result > n)", code)
    assert task.prompt.startswith("Count.")
    assert [(item.name, item.annotation, item.domain) for item in task.parameters] == [("s", "str", ""), ("n", "", "")]
    assert [example.expected for example in task.examples] == [2]
    assert read("output_constraints(result)", "def f(s) -> int: ...").prompt == "def f(s) -> int: ..."


@pytest.mark.parametrize(
    ("condition", "domain"),
    [
        ("x > 0", "int"),
        ("-1 < x", "int"),
        ("0 <= x <= 1.5", "int"),
        ("x > 0, x < 0.5", "float"),
        ("x != 'a'", "str"),
        ("x % 2 == 1", "int"),
        ("len(x) > 1", "list[int]"),
        ("x == x", ""),
        ("x is None", ""),
        ("x[0] > 1", ""),
        ("True", ""),
    ],
)
def test_a_parameter_without_a_type_gets_what_the_conditions_suggest(condition: str, domain: str) -> None:
    assert read(f"input_constraints({condition})").parameters[0].domain == domain


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("VERIFY()", "line 1: column 8: expected a name or quoted code, found '\\)'"),
        ("VERIFY(f)", "column 9: expected a comma and CONSTRAINTS, found '\\)'"),
        ("VERIFY(f, CONSTRAINT: [])", "column 11: expected 'CONSTRAINTS', found 'CONSTRAINT'"),
        ("VERIFY(f, CONSTRAINTS [])", "column 23: expected ':' or '=', found '\\['"),
        ("VERIFY(f, CONSTRAINTS: input_constraints(x))", "column 24: expected '\\['"),
        ("VERIFY(f, CONSTRAINTS: [])", "column 25: expected input_constraints or output_constraints or temporal"),
        ("VERIFY(f, CONSTRAINTS: [x > 0])", "column 25: expected input_constraints or .*, found 'x'"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints])", "column 42: expected '\\(', found ']'"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints()])", "column 43: expected a condition, found '\\)'"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x > )])", "column 43: 'x >' is no condition: invalid syntax"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x y)])", "column 43: 'x y' is no condition"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x]", "column 44: expected a bracket that closes"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x) output_constraints(y)])", "column 46: expected a comma or ']'"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x)]", "line 1: column 46: expected '\\)', found the end"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(max(x, 1)", "line 1: column 52: expected '\\)', found the end"),
        ("VERIFY(f,\n", "line 1: column 10: expected 'CONSTRAINTS', found the end"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x)]) and more", "column 48: expected nothing more, found 'and'"),
        ("# one\n\n  VERIFY(f,\n   CONSTRAINTS! [])", "line 4: column 15: "),
        ("# one\n\n  VERIFY()", "line 3: column 10: expected a name"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x == 'a)])", "line 1: column 48: "),
        (
            "VERIFY(f, CONSTRAINTS: [input_constraints(x == '''a)])",
            "line 1: column 48: EOF in multi-line string: a quote",
        ),
        ("VERIFY(b'x', CONSTRAINTS: [])", "column 8: expected code as plain text"),
        ("VERIFY(f'x', CONSTRAINTS: [])", "column 8: expected "),
        ("VERIFY('  ', CONSTRAINTS: [])", "column 8: expected code as plain text"),
        ("VERIFY(f, CONSTRAINTS: [input_constraints(x > 0 if)])\n  x\n y", "line 1: column 43|line 3"),
    ],
)
def test_an_error_names_line_and_column_and_what_was_expected(text: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        read_literal(text, CODE)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("x = 1\n", "the code cannot be judged: it defines no function"),
        ("def f(:\n", r"the code cannot be judged: .*its line 1"),
        ("def f(*, k): ...\n", "by keyword"),
    ],
)
def test_code_without_a_function_to_judge_is_told(code: str, problem: str) -> None:
    with pytest.raises(TaskFormatError, match=problem):
        read("input_constraints(x > 0)", code)


def test_a_condition_over_unknown_names_names_its_field_and_line() -> None:
    with pytest.raises(TaskFormatError, match=r"line 3, requires\[1\]: 'y > 0' reads 'y'"):
        read_literal("VERIFY(f, CONSTRAINTS=[\ninput_constraints(x > 0,\ny > 0)])", CODE)


def test_quoted_nonsense_is_refused_with_its_field() -> None:
    with pytest.raises(TaskFormatError, match=r"requires\[0\]: 'x >' is no Python expression"):
        read("input_constraints('x >')")


def test_code_must_be_given_exactly_once() -> None:
    with pytest.raises(TaskFormatError, match="'code_solution' stands for is not in the text"):
        read_literal(ARTICLE)
    with pytest.raises(TaskFormatError, match="given beside it"):
        read_literal(FENCED + ARTICLE, CODE)
    with pytest.raises(TaskFormatError, match="not in the text"):
        read_literal(f"```\n```\n{ARTICLE}")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (ARTICLE, "", True),
        ("VERIFY (", "", True),
        (f"# x\n{FENCED}VERIFY(", "", True),
        ("prompt: VERIFY(", "", False),
        (f"```\n{CODE}VERIFY(", "", False),
        ("VERIFYING(x)", "", False),
        ("anything", "a.VERIFY", True),
        ("", "a.yaml", False),
    ],
)
def test_a_literal_is_known_by_its_head_or_its_file(text: str, name: str, expected: bool) -> None:
    assert is_literal(text, name) is expected


def test_a_task_is_read_from_a_literal_like_from_any_other_form() -> None:
    assert parse_task(FENCED + ARTICLE).entry_point == "double"
    with pytest.raises(TaskFormatError, match="column 1: expected 'VERIFY', found 'nothing'"):
        parse_task("nothing", "a.verify")
