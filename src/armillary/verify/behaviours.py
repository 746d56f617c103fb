"""Note what a program does on shared inputs, so that programs that do the same can be grouped."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from armillary.core.tasks import TaskSpec
from armillary.core.values import Json, dumps
from armillary.core.verdicts import NO_VALUE, Behaviour
from armillary.verify.execution import Jail, Observation, run_calls
from armillary.verify.generate import Arguments
from armillary.verify.policy import check_policy
from armillary.verify.sandbox.outcomes import Call, Limits

SIGNIFICANT_DIGITS = 6
NUM_HASH_CHARS = 12
# A short time for each call and many stops: inputs that nobody bounded send right programs into endless loops, too, and
# what they do on the others should still be seen.
LIMITS = Limits(wall_s=20.0, cpu_s=10, call_cpu_s=0.5)
MAX_STOPS = 12


def behaviour(jail: Jail, task: TaskSpec, code: str, inputs: Sequence[Arguments], *, seed: int = 0) -> Behaviour:
    """One word per input, a hash of what the program gives back: value, name of an exception, timeout or death.

    Words of inputs on which it gave no value begin with ``core.verdicts.NO_VALUE``.

    Two programs have the same word exactly when that is equal, floats to six significant digits. Code that the policy
    refuses or that does not load has a single word, which begins with ``unloadable``.
    """
    problem = check_policy(task, code)
    if problem is not None:
        return (f"unloadable-{_hash(str(problem))}",)
    found = outcomes(jail, task, code, inputs, seed=seed)
    return tuple(map(_word, found)) if isinstance(found, list) else (f"unloadable-{_hash(found)}",)


def outcomes(jail: Jail, task: TaskSpec, code: str, inputs: Sequence[Arguments], *, seed: int = 0) -> list[Json] | str:
    """What of each call counts when programs are compared; or why the program does not load."""
    calls = [Call(task.entry_point, arguments) for arguments in inputs]
    found = run_calls(jail, code, calls, limits=LIMITS, max_stops=MAX_STOPS, seed=seed)
    return found.load_error or [_outcome(seen) for seen in found.observations]


def _word(outcome: Json) -> str:
    assert isinstance(outcome, list)
    return ("" if outcome[0] == "returned" else NO_VALUE) + _hash(outcome)


def _hash(body: Json) -> str:
    return hashlib.sha256(dumps(body).encode()).hexdigest()[:NUM_HASH_CHARS]


def _outcome(seen: Observation) -> Json:
    return [seen.kind, _rounded(seen.value), seen.error]


def _rounded(tagged: Json) -> Json:
    """The same value with its floats rounded; the order in which a sum was made should not tell programs apart."""
    if isinstance(tagged, float):
        return float(f"{tagged:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(tagged, list):
        return [_rounded(item) for item in tagged]
    if isinstance(tagged, dict):
        return {tag: _rounded(body) for tag, body in tagged.items()}
    return tagged
