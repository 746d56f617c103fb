"""Find out how strong a jail this machine allows, by really locking a harmless program in. Decides no policy.

The program tries what the jail must forbid; a tier counts only when every layer was put on and every try failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import Final

from armillary.core.errors import SandboxError
from armillary.core.values import decode
from armillary.verify.sandbox.link import ZygoteLink
from armillary.verify.sandbox.outcomes import Call, Layer, Limits, Tier
from armillary.verify.sandbox.packages import Outfit
from armillary.verify.sandbox.pool import Link
from armillary.verify.sandbox.wasm import LOST_IN_TIER_C, WasmLink
from armillary.verify.sandbox.wasm_module import INSTALL
from armillary.verify.sandbox.wire import job_to_bytes, make_job, read_report

TRIAL: Final = "trial"
ONLY_C: Final = "C only"
STRENGTH: Final[dict[Tier, int]] = {"none": 0, "C": 1, "B": 2, "A": 3}
MINIMUMS: Final[dict[str, int]] = {"A": 3, "B": 2, "C": 1, ONLY_C: 1}
"""What may be asked for as the weakest jail, with the strength that it must have."""

_SEE: Final = "`armillary doctor` shows every layer"
_OTHER_WAY: Final = f"tier C needs no such thing: {INSTALL} and ARMILLARY_MINIMUM_TIER=C"
_TRIAL_LIMITS: Final = Limits(wall_s=20.0, cpu_s=4, call_cpu_s=3.0)
_TRIAL_PROGRAM: Final = """
import fcntl, os, socket

def attempts():
    yield "read a file", lambda: open("/etc/passwd").close()
    yield "write a file", lambda: open("/var/trespass", "w").close()
    yield "open a socket", lambda: socket.socket().close()
    yield "fork", lambda: os.fork() or os._exit(0)
    yield "run a program", lambda: os.posix_spawn("/bin/true", ["true"], {})
    yield "signal a process", lambda: os.kill(os.getppid() or 2, 0)
    # Harmless where they are allowed: the owner is the program itself, and nobody is signalled yet.
    yield "have a process signalled", lambda: fcntl.fcntl(1, fcntl.F_SETOWN, os.getpid())
    yield "choose the signal of a file", lambda: fcntl.fcntl(1, fcntl.F_SETSIG, 0)
    yield "ask for the signals of a file", lambda: fcntl.fcntl(1, fcntl.F_SETFL, os.O_ASYNC)

"""
_TRIAL_PROGRAM_IN_C: Final = """
import _thread, os, socket, time

def attempts():
    yield "read a file", lambda: open("/etc/passwd").close()
    yield "list a folder", lambda: os.listdir("/")
    yield "write a file", lambda: open("trespass", "w").close()
    yield "open a socket", lambda: socket.socket().close()
    yield "start a thread", lambda: _thread.start_new_thread(int, ())
    yield "fork", lambda: os.fork() or os._exit(0)
    yield "run a program", lambda: os.system("true")
    yield "find a variable", lambda: [*os.environ][0]
"""
_TRESPASS: Final = """
def trespass():
    done = []
    for name, attempt in attempts():
        try:
            attempt()
        except (OSError, AttributeError, RuntimeError, IndexError):
            continue
        done.append(name)
    return done
"""
_TRIALS: Final[dict[Tier, str]] = {
    "A": _TRIAL_PROGRAM + _TRESPASS,
    "B": _TRIAL_PROGRAM + _TRESPASS,
    "C": _TRIAL_PROGRAM_IN_C + _TRESPASS,
}


@dataclass(frozen=True, slots=True)
class TierReport:
    """The strongest jail that works here.

    Attributes:
        tier: ``A`` with namespaces, ``B`` without, ``C`` when neither can be built but an interpreter in WASM can run,
            ``none`` when nothing holds.
        layers: one line per layer of tier A, in order, and the trial of the whole; where tier A fails, then tier B's.
            Of tier C its one layer and the trial.
    """

    tier: Tier
    layers: tuple[Layer, ...]

    @property
    def reason(self) -> str:
        """What keeps this machine from tier A, or empty."""
        return "; ".join(f"{layer.name}: {layer.detail}" for layer in self.layers if not layer.works)


def probe() -> TierReport:
    """Try tiers A and B in a zygote of its own; never raises for what the machine lacks."""
    return _probe_alone("zygote", ZygoteLink)


def probe_tier_c() -> TierReport:
    """Try tier C alone, whatever else this machine allows; never raises for what it lacks."""
    return _probe_alone("wasm", WasmLink)


def _probe_alone(name: str, start: Callable[[], Link]) -> TierReport:
    try:
        with closing(start()) as link:
            return probe_link(link)
    except SandboxError as error:
        return TierReport("none", (Layer(name, False, str(error)),))


def open_link(minimum_tier: str, outfit: Outfit) -> Link:
    """Start what runs programs in the strongest tier of this machine, as far as the minimum allows to look.

    Raises:
        SandboxError: it could not be started.
    """
    if minimum_tier == ONLY_C:
        return WasmLink(outfit)
    if minimum_tier == "C":
        return _open_strongest(outfit)
    try:
        return ZygoteLink(outfit)
    except SandboxError as error:
        if sys.platform == "linux":
            raise
        raise SandboxError(error.message, hint=_OTHER_WAY) from error


def _open_strongest(outfit: Outfit) -> Link:
    with suppress(SandboxError), ExitStack() as stack:
        link = ZygoteLink(outfit)
        stack.callback(link.close)
        if probe_link(link).tier != "none":
            stack.pop_all()
            return link
    return WasmLink(outfit)


def way_out(found: Tier) -> str:
    """What to do on a machine that allows only this much."""
    return f"{_SEE}; {_OTHER_WAY}" if found == "none" else _SEE


def probe_link(link: Link) -> TierReport:
    """Try both tiers in a running zygote, or tier C where it is a host of that.

    Raises:
        SandboxError: it died.
    """
    if isinstance(link, WasmLink):
        layers = _try_tier(link, "C")
        return TierReport("C" if layers[-1].works else "none", layers)
    full = _try_tier(link, "A")
    if full[-1].works:
        return TierReport("A", full)
    plain = _try_tier(link, "B")
    # Where a layer of tier A is missing, that line says why; its trial then has nothing to add.
    tried = full if all(layer.works for layer in full[:-1]) else full[:-1]
    known = {layer.name for layer in full[:-1]}
    return TierReport(
        "B" if plain[-1].works else "none", (*tried, *(layer for layer in plain if layer.name not in known))
    )


def _try_tier(link: Link, tier: Tier) -> tuple[Layer, ...]:
    """The tier's layers as far as they went; the last one is the trial."""
    job = make_job(_TRIALS[tier], [Call("trespass", ())], seed=0, call_cpu_s=_TRIAL_LIMITS.call_cpu_s)
    run = link.execute(tier, job_to_bytes(job), _TRIAL_LIMITS)
    report = read_report(run.lines, 1)
    outcome = report.outcomes[0]
    if not report.layers or not report.layers[-1].works:
        detail = f"tier {tier} could not be built" if report.layers else run.last_words
        return (*report.layers, Layer(TRIAL, False, detail))
    if outcome.kind != "returned":
        detail = f"tier {tier}: the trial's answer is {outcome.kind} {outcome.error_message}".rstrip()
        return (*report.layers, Layer(TRIAL, False, detail))
    trespassed = decode(outcome.value)
    holds = "; ".join((f"tier {tier} holds", *_lost_in(tier)))
    detail = f"tier {tier}: a program could {', '.join(trespassed)}" if trespassed else holds
    return (*report.layers, Layer(TRIAL, not trespassed, detail))


def _lost_in(tier: Tier) -> tuple[str, ...]:
    if tier == "B":
        from armillary.verify.sandbox.jail import LOST_IN_TIER_B  # loads only on systems like Unix

        return LOST_IN_TIER_B
    return LOST_IN_TIER_C if tier == "C" else ()
