"""The forms in which a job enters the jail and answers leave it, with the checks of both ends. JSON only, no pickle.

The reader treats every byte as hostile: it never builds a value, it only checks that one could be built.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, cast

from armillary.core.errors import ValueCodecError
from armillary.core.values import MAX_DEPTH, MAX_INT_BITS, Json, dumps, encode
from armillary.verify.sandbox.outcomes import BUILTIN_ERRORS, Call, Layer, Outcome, OutcomeKind
from armillary.verify.sandbox.sizes import MAX_LINE_BYTES, MAX_VALUE_MEMORY_BYTES, TOO_LARGE, Room, memory_bytes

READY: Final = b"ready"
KILL: Final = b"kill"
MAX_MESSAGE_BYTES: Final = 4096
"""Messages between the parent and the zygote; the third bounds each."""

MAX_NAME_CHARS: Final = 100
MAX_MESSAGE_CHARS: Final = 300

_ANSWERS: Final = ("returned", "raised", "timeout", "unencodable")
_ERROR_NAMES: Final = frozenset(item.__name__ for item in BUILTIN_ERRORS)
_HEX_INT: Final = re.compile(r"-?0x[1-9a-f][0-9a-f]*", re.ASCII)
_HEX_BYTES: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)
_ODD_FLOATS: Final = frozenset({"nan", "inf", "-inf", "-0.0"})


class _MalformedError(Exception):
    """The child wrote something that its harness never writes."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the child is to do; ``calls`` pairs a function's name with its arguments as tagged JSON."""

    source: str
    calls: tuple[tuple[str, list[Json]], ...]
    seed: int
    call_cpu_s: float


@dataclass(frozen=True, slots=True)
class Report:
    """What the child's lines amount to.

    Attributes:
        layers: the layers of the jail, put on or failed; empty when the child died before it could tell.
        load_error: None when the child died while it loaded the program.
        outcomes: one per call.
        is_forged: whether a line was malformed or too many; then every outcome is ``missing``.
        is_full: whether a child that answers no further call does so because the run's room for results is spent.
    """

    layers: tuple[Layer, ...]
    load_error: str | None
    outcomes: tuple[Outcome, ...]
    is_forged: bool
    is_full: bool = False


def make_job(source: str, calls: Sequence[Call], *, seed: int, call_cpu_s: float) -> Job:
    """Encode the calls' arguments.

    Raises:
        ValueCodecError: an argument cannot be carried.
    """
    encoded = tuple((call.function, [encode(item) for item in call.arguments]) for call in calls)
    return Job(source, encoded, seed, call_cpu_s)


def job_to_bytes(job: Job) -> bytes:
    """The job as one JSON text."""
    # By hand: `asdict` would copy every value first.
    fields = {"source": job.source, "calls": job.calls, "seed": job.seed, "call_cpu_s": job.call_cpu_s}
    return json.dumps(fields, separators=(",", ":"), allow_nan=False).encode("ascii")


def job_from_bytes(text: bytes) -> Job:
    """Inverse of :func:`job_to_bytes`; trusts its input, which comes from the parent."""
    fields = json.loads(text)
    calls = tuple((name, arguments) for name, arguments in fields["calls"])
    return Job(fields["source"], calls, fields["seed"], fields["call_cpu_s"])


def layers_line(layers: Sequence[Layer]) -> str:
    """The first line: which layers were put on, or which one failed."""
    fields: list[Json] = ["jail"]
    fields += [[layer.name, layer.works, layer.detail] for layer in layers]
    return dumps(fields)


def load_line(error: str) -> str:
    """The second line: why the program did not load, or that it did."""
    return dumps(["load", error])


def outcome_line(index: int, outcome: Outcome) -> str:
    """A further line: what came of a call; an exception's built-in classes stand where a result's value does.

    Raises:
        ValueCodecError: the value's text is longer than a line may be.
    """
    value: Json = list(outcome.error_bases) if outcome.kind == "raised" else outcome.value
    line = dumps(["call", index, outcome.kind, value, outcome.error_type, outcome.error_message])
    if len(line) > MAX_LINE_BYTES:
        raise ValueCodecError(TOO_LARGE)
    return line


def read_report(lines: bytes, num_calls: int) -> Report:
    """Check every line that a child wrote; what follows the last line break was cut off by its death and is ignored."""
    missing = Outcome("missing")
    layers: tuple[Layer, ...] = ()
    load_error: str | None = None
    outcomes: list[Outcome] = []
    room = Room()
    try:
        # Two lines come before the calls'; splitting stops just past them, however many more were forged.
        for number, line in enumerate(lines.split(b"\n", num_calls + 3)[:-1]):
            fields = _parse(line)
            if number == 0:
                layers = _read_layers(fields)
            elif number == 1:
                load_error = _read_load(fields)
            else:
                _demand(not room.is_spent)
                outcome, value_memory_bytes = _read_outcome(fields, len(outcomes), num_calls)
                outcomes.append(outcome)
                room.take(len(line), value_memory_bytes)
    except _MalformedError:
        return Report(layers, load_error, (missing,) * num_calls, is_forged=True)
    all_outcomes = (*outcomes, *[missing] * (num_calls - len(outcomes)))
    return Report(layers, load_error, all_outcomes, is_forged=False, is_full=room.is_spent)


def _parse(line: bytes) -> list[Any]:
    if len(line) > MAX_LINE_BYTES:
        raise _MalformedError(f"a line of {len(line)} bytes, at most {MAX_LINE_BYTES}")
    try:
        fields = json.loads(line.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _MalformedError(f"a line is not JSON: {error}") from error
    if not isinstance(fields, list) or not fields:
        raise _MalformedError("a line is not a filled list")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise _MalformedError(f"the constant {name} is not JSON")


def _read_layers(fields: list[Any]) -> tuple[Layer, ...]:
    _demand(fields[0] == "jail" and len(fields) > 1)
    for item in fields[1:]:
        _demand(isinstance(item, list) and len(item) == 3)
        _demand(isinstance(item[0], str) and isinstance(item[1], bool) and isinstance(item[2], str))
    return tuple(Layer(*item) for item in fields[1:])


def _read_load(fields: list[Any]) -> str:
    _demand(len(fields) == 2 and fields[0] == "load" and isinstance(fields[1], str))
    _demand(len(fields[1]) <= MAX_NAME_CHARS + MAX_MESSAGE_CHARS + 2 and "\n" not in fields[1])
    return str(fields[1])


def _read_outcome(fields: list[Any], index: int, num_calls: int) -> tuple[Outcome, int]:
    """The outcome, and the memory that its value takes."""
    _demand(len(fields) == 6 and fields[0] == "call" and index < num_calls)
    _, found, kind, value, name, message = fields
    _demand(type(found) is int and found == index and kind in _ANSWERS)
    _demand(isinstance(name, str) and len(name) <= MAX_NAME_CHARS)
    _demand(isinstance(message, str) and len(message) <= MAX_MESSAGE_CHARS)
    value_memory_bytes = 0
    if kind == "returned":
        value_memory_bytes = memory_bytes(value)
        _demand(value_memory_bytes <= MAX_VALUE_MEMORY_BYTES)
        _check_value(value, 0)
    elif kind == "raised":
        return Outcome("raised", None, name, message, _read_bases(value)), 0
    else:
        _demand(value is None)
    return Outcome(cast(OutcomeKind, kind), value, name, message), value_memory_bytes


def _read_bases(value: Any) -> tuple[str, ...]:
    _demand(isinstance(value, list) and len(value) <= len(_ERROR_NAMES))
    _demand(all(isinstance(item, str) and item in _ERROR_NAMES for item in value))
    return tuple(value)


def _demand(holds: bool) -> None:
    if not holds:
        raise _MalformedError("a line does not have the form that the harness writes")


def _check_value(tagged: Any, depth: int, *, must_hash: bool = False) -> None:
    """Accept exactly the tagged JSON that ``values.decode`` can turn into a value, without doing so."""
    _demand(depth <= MAX_DEPTH)
    if isinstance(tagged, list):
        _demand(not must_hash)
        _check_all(tagged, depth + 1)
    elif isinstance(tagged, dict):
        _demand(len(tagged) == 1)
        tag, body = next(iter(tagged.items()))
        _check_tag(tag, body, depth + 1, must_hash=must_hash)
    elif type(tagged) is int:
        _demand(tagged.bit_length() <= 53)
    elif type(tagged) is float:
        _demand(math.isfinite(tagged) and not (tagged == 0.0 and math.copysign(1.0, tagged) < 0))


def _check_tag(tag: str, body: Any, depth: int, *, must_hash: bool) -> None:
    match tag:
        case "tuple":
            _check_all(body, depth, must_hash=must_hash)
        case "frozenset":
            _check_all(body, depth, must_hash=True)
        case "set":
            _demand(not must_hash)
            _check_all(body, depth, must_hash=True)
        case "dict":
            _demand(not must_hash and isinstance(body, list))
            for pair in body:
                _demand(isinstance(pair, list) and len(pair) == 2)
                _check_value(pair[0], depth, must_hash=True)
                _check_value(pair[1], depth)
        case _:
            _check_scalar(tag, body)


def _check_all(body: Any, depth: int, *, must_hash: bool = False) -> None:
    _demand(isinstance(body, list))
    for item in body:
        _check_value(item, depth, must_hash=must_hash)


def _check_scalar(tag: str, body: Any) -> None:
    match tag:
        case "int":
            _demand(isinstance(body, str) and len(body) <= MAX_INT_BITS // 4 + 4)
            _demand(_HEX_INT.fullmatch(body) is not None)
            _demand(53 < int(body, 16).bit_length() <= MAX_INT_BITS)
        case "float":
            _demand(isinstance(body, str) and body in _ODD_FLOATS)
        case "bytes":
            _demand(isinstance(body, str) and _HEX_BYTES.fullmatch(body) is not None)
        case "complex":
            _demand(isinstance(body, list) and len(body) == 2)
            for part in body:
                _check_complex_part(part)
        case _:
            raise _MalformedError(f"unknown value tag {tag!r}")


def _check_complex_part(part: Any) -> None:
    if isinstance(part, dict):
        _demand(list(part) == ["float"])
        _check_scalar("float", part["float"])
    else:
        _demand(type(part) is float)
