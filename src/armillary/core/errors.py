"""Every error that Armillary raises on purpose: one line for the user, an exit code, a way out. No logic."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means; the same for every command."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    AUTH = 4
    BUDGET = 5
    REFUTED = 6
    UNDECIDED = 7
    INTERRUPTED = 130


class ArmillaryError(Exception):
    """Something that we can explain; ``str(error)`` is the one line that the user reads.

    Args:
        message: what is wrong, naming the value and the limit.
        hint: the way out, as an instruction.
    """

    exit_code: ExitCode = ExitCode.FAILED

    def __init__(self, message: str, *, hint: str = "") -> None:
        line = f"{message} ({hint})" if hint else message
        # Messages of other libraries, such as a YAML parser's, come in several lines.
        super().__init__(" ".join(part.strip() for part in line.splitlines()))
        self.message = message
        self.hint = hint


class UsageError(ArmillaryError):
    """The caller asked for something that makes no sense."""

    exit_code = ExitCode.USAGE


class NotFoundError(ArmillaryError):
    """A file, model or trace that was named does not exist."""

    exit_code = ExitCode.NOT_FOUND


class SettingsError(UsageError):
    """A setting has a name or a value that nobody reads."""


class TaskFormatError(UsageError):
    """A task file cannot be read as a task; names the field and, where known, the line.

    Args:
        field: dotted path of the field, such as ``examples[2].output``.
        line: 1-based line in the file, or None.
    """

    def __init__(self, message: str, *, field: str = "", line: int | None = None, hint: str = "") -> None:
        place = ", ".join(part for part in (f"line {line}" if line else "", field) if part)
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.field = field
        self.line = line


class ValueCodecError(ArmillaryError):
    """A value cannot be carried between processes: type, depth or size is outside the codec."""


class IncomparableValueError(ValueCodecError):
    """A value cannot be carried, and it or one inside of it is equal to nothing that can: a generator, a function."""


class ModelFileError(ArmillaryError):
    """A model file is damaged, truncated or not what its header says."""


class UnknownArchitectureError(ModelFileError):
    """A model file is sound but of a family that the decoder does not know."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown architecture {name!r}", hint=f"known: {', '.join(known)}")


class IntegrityError(ModelFileError):
    """The bytes are not the ones that the registry promises."""


class DownloadError(ArmillaryError):
    """A model could not be fetched from any allowed source."""


class DiskSpaceError(ArmillaryError):
    """The disk has too little room for what was asked."""


class TemplateError(ArmillaryError):
    """A chat template failed, or asked for more than the sandboxed renderer allows."""


class ContextLengthError(UsageError):
    """The prompt and the tokens to write do not fit the model's context."""

    def __init__(self, *, num_tokens: int, limit: int) -> None:
        super().__init__(
            f"prompt and answer need {num_tokens} tokens, the context holds {limit}",
            hint="shorten the prompt or lower max_tokens",
        )
        self.num_tokens = num_tokens
        self.limit = limit


class CacheFullError(ArmillaryError):
    """The KV cache has too few free blocks for one request alone."""

    exit_code = ExitCode.BUDGET


class BudgetError(ArmillaryError):
    """The request's own budget is spent or too small to begin."""

    exit_code = ExitCode.BUDGET


class SandboxError(ArmillaryError):
    """The sandbox could not be set up as strong as asked; nothing was run."""


class TraceError(ArmillaryError):
    """A trace is damaged, because its chain of hashes or its form is broken, or cannot be written."""


class RemoteError(ArmillaryError):
    """A remote model server refused, failed or sent something that is not its protocol."""


class RemoteAuthError(RemoteError):
    """A remote model server did not accept the key."""

    exit_code = ExitCode.AUTH
