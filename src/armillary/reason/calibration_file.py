"""Keep a calibration as JSON, whole or not at all, and read it back only as it was written. Computes nothing."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from armillary.core.errors import UsageError
from armillary.core.forms import exactly, number
from armillary.core.messages import ModelIdentity
from armillary.core.values import Json
from armillary.reason.calibrate import Calibration, Group
from armillary.reason.whole_file import write_whole

FORMAT_VERSION = 1


def calibration_to_json(calibration: Calibration) -> dict[str, Json]:
    """The calibration's one JSON form."""
    return {
        "format": FORMAT_VERSION,
        "model": {"name": calibration.model.name, "sha256": calibration.model.sha256},
        "source": calibration.source,
        "created": calibration.created,
        "num_labels": calibration.num_labels,
        "expected_error": calibration.expected_error,
        "chance_error": calibration.chance_error,
        "groups": [
            {
                "lowest_strength": group.lowest_strength,
                "num_labels": group.num_labels,
                "num_wrong": group.num_wrong,
                "risk": group.risk,
                "interval": list(group.interval),
            }
            for group in calibration.groups
        ],
    }


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Write it in place of the one before.

    Raises:
        ArmillaryError: it cannot be written.
    """
    write_whole(path, json.dumps(calibration_to_json(calibration), indent=1) + "\n")


def load_calibration(path: Path) -> Calibration | None:
    """Read it back; None if there is none.

    Raises:
        UsageError: the file is damaged or of another version.
    """
    if not path.exists():
        return None
    try:
        return _from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not a calibration: {type(error).__name__}",
            hint="remove it, or run armillary calibrate again",
        ) from error


def _from_json(body: Any) -> Calibration:
    if body["format"] != FORMAT_VERSION:
        raise ValueError("another version")
    groups = tuple(_group(item) for item in exactly(body["groups"], list))
    if not groups or any(
        before.lowest_strength >= after.lowest_strength or before.risk <= after.risk
        for before, after in pairwise(groups)
    ):
        raise ValueError("groups out of order")
    return Calibration(
        model=ModelIdentity(exactly(body["model"]["name"], str), exactly(body["model"]["sha256"], str)),
        source=exactly(body["source"], str),
        created=exactly(body["created"], str),
        groups=groups,
        expected_error=number(body["expected_error"]),
        chance_error=number(body["chance_error"]),
    )


def _group(item: Any) -> Group:
    group = Group(number(item["lowest_strength"]), exactly(item["num_labels"], int), exactly(item["num_wrong"], int))
    if not 0 <= group.num_wrong <= group.num_labels or group.num_labels == 0:
        raise ValueError("counts that cannot be")
    return group
