from __future__ import annotations

import time

import pytest

from armillary.core.errors import TaskFormatError
from armillary.verify.spec_python import task_from_stub


def examples(docstring: str, head: str = "def is_calm(s)", before: str = "") -> list[tuple[tuple[object, ...], object]]:
    task = task_from_stub(f'{before}\n{head}:\n    """{docstring}\n    """\n')
    assert docstring.strip().splitlines()[-1].strip() in task.prompt
    return [(example.arguments, example.expected) for example in task.examples]


CALM = "Whether the string s is calm.\n    is_calm(a) => False\n    is_calm(abba) => True"


def test_bare_words_are_texts() -> None:
    assert examples(CALM) == [(("a",), False), (("abba",), True)]


def test_bare_words_may_stand_beside_texts_and_numbers() -> None:
    text = 'Repeat it.\n    is_calm(ab, 2, "-") == "ab-ab"\n    is_calm(c, 1, "") == "c"\n    is_calm("d", 1, x) == "d"'
    head = "def is_calm(s: str, n: int, joint: str) -> str"
    assert examples(text.replace("x)", '"")'), head) == [(("d", 1, ""), "d")]
    assert examples(text.replace(", x)", ", yz)").replace('"-"', "wz"), head) == [
        (("ab", 2, "wz"), "ab-ab"),
        (("c", 1, ""), "c"),
        (("d", 1, "yz"), "d"),
    ]


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("Whether the string s is calm.\n    is_calm(abba) => True", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(s) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(list) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(helper) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(x1) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(MAX) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(x) => True\n    is_calm(y) => False", "def is_calm(s)"),
        (
            "Whether the string s is calm.\n    is_calm(abba, b) => True\n    is_calm(1, cd) => False",
            "def is_calm(s, t)",
        ),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(a b) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(a, b) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(s=a) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(x) and so on", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(b) => x", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(b", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(b).real => 1", "def is_calm(s)"),
        ("The string s, abba say, is calm.\n    is_calm(abba) => True\n    is_calm(b) => False", "def is_calm(s)"),
        ("A string s. With x = 'a':\n    is_calm(abba) => True\n    is_calm(x) => False", "def is_calm(s)"),
        ("Whether it is calm, as a string.\n    is_calm(abba) => True\n    is_calm(b) => False", "def is_calm(s)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(b) => False", "def is_calm(s: int)"),
        ("Whether the string s is calm.\n    is_calm(abba) => True\n    is_calm(b) => False", "def is_calm(s, t)"),
    ],
)
def test_bare_words_that_may_be_names_are_left(text: str, head: str) -> None:
    assert examples(text, head, "def helper(): pass") == []


@pytest.mark.parametrize("said", ["`s` is a string", "s: str, to look at", "s (string)", "the word 's'", "text s"])
def test_a_text_says_that_a_parameter_is_a_string(said: str) -> None:
    assert len(examples(f"{said}\n    is_calm(a) => False\n    is_calm(abba) => True")) == 2


def test_bare_words_beside_an_example_that_can_be_read_are_left() -> None:
    assert examples(f'{CALM}\n    is_calm("b") => False') == [(("b",), False)]


def test_an_overlong_list_of_bare_words_is_left() -> None:
    lines = "\n    ".join(f"is_calm({'ab' * count}) => True" for count in range(1, 60))
    assert examples(f"Whether the string s is calm.\n    {lines}") == []


@pytest.mark.parametrize(
    "text",
    [
        "Example:\n    word_order([2, 1]) == [1, 2]",
        "For example:\n    assert word_order([2, 1]) => [1, 2]",
        "Examples\n\n    - `word_order([2, 1])` -> `[1, 2]`",
        "Sort.\n\n    >>> word_order([2, 1])\n    [1, 2]",
        "Example:\n    wordOrder([2, 1]) == [1, 2]",
    ],
)
def test_examples_may_give_the_function_another_name(text: str) -> None:
    assert examples(text, "def sort_words(xs)") == [(([2, 1],), [1, 2])]
    assert examples(text, "def sort_words(xs: list[int]) -> list[int]") == [(([2, 1],), [1, 2])]


@pytest.mark.parametrize(
    "text",
    [
        "Example:\n    order([2, 1]) == [1, 2]",
        "Example:\n    sort_by([2, 1]) == [1, 2]",
        "Example:\n    fib4(1) == 1",
        "word_order([2, 1]) == [1, 2]",
        "Sort.\n    word_order([2, 1]) == [1, 2]",
        "Example:\n    So word_order([2, 1]) == [1, 2]",
        "Like word_order.\n    Example:\n    word_order([2, 1]) == [1, 2]",
        "Example:\n    word_order([2, 1]) == [1, 2]\n    word_order(xs) == xs",
        "Example:\n    word_order([2, 1]) == [1, 2]\n    line_order([2, 1]) == [1, 2]",
        "Example:\n    word_order([2, 1]) == [1, 2]\n    len([2, 1]) == 2",
        "Example:\n    word_order([2, 1]) == [1, 2]\n    sort_by_word([])",
        "Example:\n    word_order([2, 1], 3) == [1, 2]",
        "Example:\n    use.word_order([2, 1]) == [1, 2]",
        "Example:\n    old_helper([2, 1]) == [1, 2]",
        "Example:\n    OldHelper([2, 1]) == [1, 2]",
        "Example:\n    run_all([2, 1]) == [1, 2]",
        "Example:\n    of_module([2, 1]) == [1, 2]",
        "The Word Order counts.\n    Example:\n    word_order([2, 1]) == [1, 2]",
        "Return True or False.\n    Example:\n    word_order([2, 1]) == [1, 2]",
        "Wrong example:\n    word_order([2, 1]) == [1, 2]",
        f"Example:\n    word_order([2, 1]) == [1, 2]\n    {' '.join(f'f{index}()' for index in range(10))}",
    ],
)
def test_a_name_that_may_be_another_function_is_left(text: str) -> None:
    before = "import of_module\nasync def run_all(): ...\nclass OldHelper: ...\ndef old_helper(x):\n    return x"
    assert examples(text, "def sort_by_word(xs)", before) == []


@pytest.mark.parametrize(
    "head", ["def sort_words(xs: int)", "def sort_words(xs) -> int", "def sort_words(xs: list[int]) -> bool"]
)
def test_a_name_whose_examples_contradict_the_signature_is_left(head: str) -> None:
    assert examples("Example:\n    word_order([2, 1]) == [1, 2]", head) == []


def test_a_question_is_answered_with_yes_or_no() -> None:
    text = "Example:\n    digit_total(14) == 5"
    assert examples(text, "def is_lucky(n)") == []
    assert examples(text.replace("5", "True"), "def is_lucky(n)") == [((14,), True)]


@pytest.mark.parametrize("head", ["def sort_words(xs: Rows)", "def sort_words(xs: 'a row') -> Rows"])
def test_types_that_nobody_knows_contradict_nothing(head: str) -> None:
    assert len(examples("Example:\n    word_order([2, 1]) == [1, 2]", head)) == 1


def test_an_exception_has_no_type_to_contradict() -> None:
    text = "Example:\n    >>> word_order([])\n    Traceback (most recent call last):\n    ValueError"
    assert examples(text, "def sort_words(xs: list[int]) -> int") == [(([],), None)]


def test_escapes_of_line_ends_are_read_as_written() -> None:
    text = r"""Join lines.
    >>> is_calm("a\nb")
    'a b'
    >>> is_calm('c')
    'c'
    >>> is_calm('d\\ne')
    'd\\ne'
    """
    assert examples(text) == [(("a\nb",), "a b"), (("c",), "c"), (("d\ne",), "d\ne")]


def test_escapes_are_read_in_a_docstring_of_several_parts() -> None:
    stub = """def f(s):\n    ("Join.\\n"\n     ">>> f('a\\nb')\\n"\n     "1")\n"""
    assert [example.arguments for example in task_from_stub(stub).examples] == []
    stub = """def f(s):\n    ('Join.'\n     ' For example f("a\\nb") == 1')\n"""
    assert [example.arguments for example in task_from_stub(stub).examples] == [("a\nb",)]


def test_line_ends_of_the_layout_stay() -> None:
    stub = 'def f(n):\n    "Add one.\\n\\n>>> f(1)\\n2\\n"\n'
    assert [example.expected for example in task_from_stub(stub).examples] == [2]


def test_raw_docstrings_are_taken_as_they_are() -> None:
    stub = 'def f(s):\n    r"""f("a\\nb") == 1"""\n'
    assert [example.arguments for example in task_from_stub(stub).examples] == [("a\nb",)]


def test_a_task_with_examples_of_its_own_is_not_mended() -> None:
    head = "from armillary import examples\n@examples('is_calm(\"ab\") == True')\ndef is_calm(s)"
    assert examples(CALM, head) == [(("ab",), True)]


@pytest.mark.parametrize(
    "text",
    [
        "is_calm(ab) => True\n" * 9_000,
        "is_calm(" * 20_000,
        "word_order(1) == 2\n" * 9_000,
        " ".join(f"ab{index}(1) == 2" for index in range(9_000)),
        "Example: ab(1) == 2" + "\\n" * 60_000,
        "s: abc(" + "_a" * 60_000,
    ],
    ids=range(6),
)
def test_hostile_docstrings_take_less_than_a_second(text: str) -> None:
    # The clock of the process, not of the wall: other work on the machine is no fault of the reader.
    start_s = time.process_time()
    try:
        examples(text)
    except TaskFormatError:
        pytest.fail("it is a stub")
    assert time.process_time() - start_s < 1.0
