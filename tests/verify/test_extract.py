from __future__ import annotations

import time

import pytest

from armillary.verify.extract import MAX_TEXT_CHARS, extract_code

CODE = "import math\n\n\ndef f(x):\n    return x\n"


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"```python\n{CODE}```",
        f"```\n{CODE}```",
        f"~~~py\n{CODE}~~~",
        f"Here it is:\n\n```python\n{CODE}```\n\nThis function returns x. Note:\n- it is short",
        f"```python\n{CODE}",
        f"Here is the function:\n\n{CODE}\nThis function returns its argument, as you can see.",
        f"{CODE}\n```\nExplanation: it works.",
        f"```bash\npip install x\n```\n```python\n{CODE}```",
        f"```python\nprint(1)\n```\nand\n```python\n{CODE}```",
        "1. First:\n\n    ```python\n    import math\n\n\n    def f(x):\n        return x\n    ```\n",
        f"{CODE}\nExplanation",
        f"from what I can see this is easy\n{CODE}",
        f"text = bad bad\n{CODE}",
        f"```text\n{CODE}```",
        f"{CODE}\ndef g(x):\n    return (x +",
        f"{CODE}\nassert f(1) ==",
    ],
)
def test_the_function_is_taken_out_of_the_answer(text: str) -> None:
    assert extract_code(text, "f") == CODE


def test_prints_and_main_blocks_are_left_in_the_code() -> None:
    code = f'{CODE}\nprint(f(1))\n\nif __name__ == "__main__":\n    f(2)\n'
    assert extract_code(f"```python\n{code}```", "f") == code


def test_the_first_block_that_defines_the_function_is_taken() -> None:
    text = "```python\ndef g(): pass\n```\n```python\ndef f(): return 1\n```\n```python\ndef f(): return 2\n```"
    assert extract_code(text, "f") == "def f(): return 1\n"


def test_half_a_function_is_never_made_whole() -> None:
    text = "```python\ndef f(x):\n    y = x\n    return y +\n```"
    assert extract_code(text, "f") == "def f(x):\n    y = x\n    return y +\n"


def test_a_function_that_breaks_in_an_else_is_not_cut_there() -> None:
    text = "if True:\n    f = max\nelse:\n    f = (\n"
    assert extract_code(text, "f") == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("I cannot do that.", "I cannot do that.\n"),
        ("", "\n"),
        ("```python\nx = 1\n```", "x = 1\n"),
        ("```python\nx = 1\n```\n```python\ndef f(x: return\n```", "def f(x: return\n"),
    ],
)
def test_without_a_program_the_likeliest_text_comes_back(text: str, code: str) -> None:
    assert extract_code(text, "f") == code


def test_an_answer_that_is_broken_all_over_ends() -> None:
    assert extract_code("def f(:\n" * 400, "f").startswith("def f(:")
    assert extract_code("x = '\0'\n" + "y = 1\n" * 300, "f").startswith("x = ")
    assert extract_code("x = (\n" * 60 + "def f(): pass", "f")


def test_what_stands_beyond_the_part_that_is_looked_at_is_left_out() -> None:
    code = extract_code("y = 1\n" * MAX_TEXT_CHARS + CODE, "f")
    assert len(code) <= MAX_TEXT_CHARS + 1
    assert "def f" not in code


# A megabyte each: what regular expressions, brackets, lines without end, fences and failing tries could be slow on.
MEGABYTES = {
    "calls": "f(\n" * 350_000,
    "comments": CODE + "#\n" * 500_000,
    "fences": "```\nx\n```\n" * 110_000,
    "fences of all lengths": "".join("`" * length + "\n" for length in range(3, 1400)),
    "half statements": "x = (\n" * 170_000,
    "indents": "```\n" + (" " * 1_000_000) + "x",
    "language that is none": "```" + "a" * 1_000_000 + "`",
    "language after spaces": "```" + " " * 1_000_000 + "`",
    "line of brackets": "(" * 1_000_000,
    "line of letters": "x" * 1_000_000,
    "lines of a letter": "x\n" * 500_000,
    "lines that break late": "x\n" * 500_000 + ")",
    "mark": "`" * 1_000_000,
    "names": "x" + "\n" * 1_000_000 + ":",
    "programs": "y = 1\n" * 170_000,
    "prose": "This is what the function does, and it does it well.\n" * 19_000,
    "prose that looks like code": "from what = I see, this is easy\n" * 32_000,
    "strings": "f'{x}{x}'\n" * 100_000 + ")",
    "text without end": "x = '''" + "y\n" * 500_000,
    "bytes that no program has": "x = 1\n\0" * 140_000,
}


@pytest.mark.parametrize("name", sorted(MEGABYTES))
def test_no_answer_takes_long(name: str) -> None:
    # Best of three, as the machine may have been busy with something else.
    times_s = []
    for _ in range(3):
        begin_s = time.process_time()
        extract_code(MEGABYTES[name], "f")
        times_s.append(time.process_time() - begin_s)
    assert min(times_s) < 0.5


def test_a_long_answer_that_is_not_a_program_is_given_up_on_and_its_first_block_comes_back() -> None:
    broken = "def f(x): return (\n"
    assert extract_code(f"```python\n{broken}```\n" + "y = (\n" * 2_000, "f") == broken
