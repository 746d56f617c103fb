"""A disk that fills while a trace is written costs one clear line and no event that was written before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_kit import run_on_small_disk

# The disk is gone with the script, so the script itself reads back what the trace holds.
FILL = """
import json, sys
from pathlib import Path
from armillary.core.errors import TraceError
from armillary.core.trace import Trace, read_trace

path = Path(sys.argv[1]) / "runs" / "one.jsonl"
written, failures = [], []
try:
    with Trace(path) as trace:
        for number in range(1_000):
            trace.append("attempt", {"number": number, "text": "x" * int(sys.argv[2])})
            written.append(number)
except TraceError as error:
    failures.append(str(error))
found = []
try:
    found.extend(event.body["number"] for event in read_trace(path))
except TraceError as error:
    failures.append(str(error))
print(json.dumps({"written": written, "found": found, "failures": failures}))
"""


@pytest.mark.parametrize("num_chars", [10, 777, 20_000])
def test_a_full_disk_is_told_in_one_line_and_every_event_before_it_is_read_back(tmp_path: Path, num_chars: int) -> None:
    done = run_on_small_disk(FILL, tmp_path / "disk", str(num_chars), disk_bytes=1 << 16)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert 0 < len(told["written"]) < 1_000
    assert told["found"] == told["written"]
    full = told["failures"][0]
    assert full.startswith("cannot write the trace ")
    assert full.endswith(("one.jsonl: No space left on device", "one.jsonl: File too large"))
    assert "\n" not in full
    # Half an event may be left at the end; it is named as such.
    assert all("the file may have been cut short" in rest for rest in told["failures"][1:])
