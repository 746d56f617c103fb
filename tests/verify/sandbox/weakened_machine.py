"""Run as a script: forbid this process some system calls, as a container might, then see what the sandbox makes of it.

Arguments: calls to forbid (comma-separated), minimum tier, program, interpreter for the zygote. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys

from armillary.core.errors import SandboxError
from armillary.verify.sandbox import kernel, seccomp, tiers
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.outcomes import Limits
from armillary.verify.sandbox.syscalls import find_machine

denied, minimum_tier, program, sys.executable = sys.argv[1:]
kernel.forbid_new_privileges()
policy = seccomp.Policy(tuple(filter(None, denied.split(","))), threads_only=False)
seccomp.install(seccomp.assemble(policy, find_machine()))
report = tiers.probe()
found = {
    "probed": report.tier,
    "layers": {layer.name: layer.works for layer in report.layers},
    "details": {layer.name: layer.detail for layer in report.layers},
    "reason": report.reason,
    "stdout": None,
    "error": "",
}
with Sandbox(minimum_tier, Limits(wall_s=3.0)) as sandbox:
    try:
        result = sandbox.run(program)
        found |= {"stdout": result.stdout, "tier": result.tier, "load_error": result.load_error}
    except SandboxError as error:
        found["error"] = str(error)
print(json.dumps(found))
