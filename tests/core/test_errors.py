from __future__ import annotations

import pytest

from armillary.core import errors
from armillary.core.errors import (
    ArmillaryError,
    BudgetError,
    CacheFullError,
    ContextLengthError,
    ExitCode,
    NotFoundError,
    RemoteAuthError,
    SettingsError,
    TaskFormatError,
    TraceError,
    UnknownArchitectureError,
    UsageError,
)

ALL_ERRORS = [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, ArmillaryError)]


def test_the_line_ends_with_the_way_out() -> None:
    error = ArmillaryError("disk full", hint="free 3 GiB")
    assert (str(error), error.message, error.hint) == ("disk full (free 3 GiB)", "disk full", "free 3 GiB")


def test_without_a_hint_the_line_is_the_message() -> None:
    assert str(ArmillaryError("disk full")) == "disk full"


def test_messages_of_several_lines_become_one_line() -> None:
    assert str(ArmillaryError("while parsing\n  a block\r\n\tat line 3", hint="fix\nit")) == (
        "while parsing a block at line 3 (fix it)"
    )


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ArmillaryError, 1),
        (TraceError, 1),
        (UsageError, 2),
        (SettingsError, 2),
        (TaskFormatError, 2),
        (NotFoundError, 3),
        (RemoteAuthError, 4),
        (BudgetError, 5),
        (CacheFullError, 5),
    ],
)
def test_exit_codes_follow_the_documented_table(kind: type[ArmillaryError], code: int) -> None:
    assert kind.exit_code == code


@pytest.mark.parametrize("kind", ALL_ERRORS, ids=lambda kind: kind.__name__)
def test_every_error_ends_a_command_with_a_failure(kind: type[ArmillaryError]) -> None:
    assert kind.exit_code in set(ExitCode) - {ExitCode.OK, ExitCode.INTERRUPTED}


@pytest.mark.parametrize(
    ("field", "line", "text"),
    [
        ("examples[2].output", 7, "line 7, examples[2].output: no list"),
        ("examples", None, "examples: no list"),
        ("", 7, "line 7: no list"),
        ("", None, "no list"),
    ],
)
def test_a_task_error_names_what_it_knows_of_the_place(field: str, line: int | None, text: str) -> None:
    error = TaskFormatError("no list", field=field, line=line)
    assert (str(error), error.field, error.line) == (text, field, line)


def test_a_context_error_carries_both_numbers() -> None:
    error = ContextLengthError(num_tokens=9000, limit=8192)
    assert (error.num_tokens, error.limit, error.exit_code) == (9000, 8192, ExitCode.USAGE)
    assert str(error) == (
        "prompt and answer need 9000 tokens, the context holds 8192 (shorten the prompt or lower max_tokens)"
    )


def test_an_unknown_architecture_lists_the_known_ones() -> None:
    assert str(UnknownArchitectureError("rnn", ("llama", "qwen2"))) == (
        "unknown architecture 'rnn' (known: llama, qwen2)"
    )
