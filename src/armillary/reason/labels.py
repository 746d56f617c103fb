"""Read the user's labelled tasks: JSON lines that name a trace or give its evidence, and say whether it was right.

Judges no label. All labels must be of one model: another one errs in other places.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from armillary.core.errors import NotFoundError, TraceError, UsageError
from armillary.core.forms import exactly
from armillary.core.messages import ModelIdentity
from armillary.core.trace import read_trace
from armillary.reason.curves import Label
from armillary.reason.evidence import Evidence, evidence_from_json, evidence_of

NOBODY = ModelIdentity("", "")
MAX_NAMED = 3


@dataclass(slots=True)
class _Reader:
    folder: Path
    labels: list[Label] = field(default_factory=list)
    model: ModelIdentity = NOBODY
    seen: dict[Path, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def take(self, number: int, line: str) -> None:
        body = exactly(json.loads(line), dict)
        is_right = exactly(body["is_right"], bool)
        if ("trace" in body) == ("evidence" in body):
            raise ValueError("it needs either a trace or evidence")
        if "evidence" in body:
            evidence, model = evidence_from_json(body["evidence"]), _model(body.get("model"))
        else:
            path = (self.folder / exactly(body["trace"], str)).resolve()
            if path in self.seen:
                raise ValueError(f"its trace has a label already, on line {self.seen[path]}")
            self.seen[path] = number
            if not path.is_file():
                self.missing.append(f"{body['trace']} of line {number}")
                return
            evidence, model = _read_trace(path)
        self._require_one_model(model)
        self.labels.append(Label(evidence.strength, not is_right))

    def _require_one_model(self, model: ModelIdentity) -> None:
        if self.model.name and model.name and model != self.model:
            raise ValueError(f"it is of the model {model.name}, those before are of {self.model.name}")
        self.model = self.model if self.model.name else model


def read_labels(path: Path) -> tuple[tuple[Label, ...], ModelIdentity]:
    """All labels of a file, and the model whose answers they judge; its name is empty where no label tells.

    Raises:
        NotFoundError: the file or a trace that it names is not there.
        UsageError: the file is no text, or a line is no label, labels a trace again or is of another model.
        TraceError: a trace is damaged or has no answer with evidence.
    """
    reader = _Reader(path.parent)
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            reader.take(number, line)
        except TraceError as error:
            raise TraceError(f"{path}:{number}: {error.message}") from error
        except KeyError as error:
            raise UsageError(f"{path}:{number}: not a label: {error.args[0]} is missing") from error
        except (TypeError, ValueError, RecursionError, ArithmeticError) as error:
            raise UsageError(f"{path}:{number}: not a label: {error}") from error
    if reader.missing:
        more = len(reader.missing) - MAX_NAMED
        named = ", ".join(reader.missing[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise NotFoundError(f"{path} names traces that are not there: {named}")
    return tuple(reader.labels), reader.model


def _lines(path: Path) -> Iterable[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError as error:
        raise NotFoundError(f"no file {path}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _model(body: Any) -> ModelIdentity:
    if body is None:
        return NOBODY
    return ModelIdentity(exactly(body["name"], str), exactly(body["sha256"], str))


def _read_trace(path: Path) -> tuple[Evidence, ModelIdentity]:
    events = list(read_trace(path))
    # An empty trace has no answer either.
    evidence = evidence_of(events)
    return evidence, _model(events[0].body.get("model"))
