"""Find out how strong a jail this machine allows, by really locking a harmless program in. Decides no policy.

The program tries what the jail must forbid; a tier counts only when every layer was put on and every try failed.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Final

from armillary.core.errors import SandboxError
from armillary.core.values import decode
from armillary.verify.sandbox.jail import LOST_IN_TIER_B
from armillary.verify.sandbox.link import ZygoteLink
from armillary.verify.sandbox.outcomes import Call, Layer, Limits, Tier
from armillary.verify.sandbox.wire import job_to_bytes, make_job, read_report

TRIAL: Final = "trial"
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

def trespass():
    done = []
    for name, attempt in attempts():
        try:
            attempt()
        except OSError:
            continue
        done.append(name)
    return done
"""


@dataclass(frozen=True, slots=True)
class TierReport:
    """The strongest jail that works here.

    Attributes:
        tier: ``A`` with namespaces, ``B`` without, ``none`` when neither can be built.
        layers: one line per layer of tier A, in order, and the trial of the whole; where tier A fails, then tier B's.
    """

    tier: Tier
    layers: tuple[Layer, ...]

    @property
    def reason(self) -> str:
        """What keeps this machine from tier A, or empty."""
        return "; ".join(f"{layer.name}: {layer.detail}" for layer in self.layers if not layer.works)


def probe() -> TierReport:
    """Try both tiers in a zygote of its own; never raises for what the machine lacks."""
    try:
        with closing(ZygoteLink()) as link:
            return probe_link(link)
    except SandboxError as error:
        return TierReport("none", (Layer("zygote", False, str(error)),))


def probe_link(link: ZygoteLink) -> TierReport:
    """Try both tiers in a running zygote.

    Raises:
        SandboxError: the zygote died.
    """
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


def _try_tier(link: ZygoteLink, tier: Tier) -> tuple[Layer, ...]:
    """The tier's layers as far as they went; the last one is the trial."""
    job = make_job(_TRIAL_PROGRAM, [Call("trespass", ())], seed=0, call_cpu_s=_TRIAL_LIMITS.call_cpu_s)
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
    holds = f"tier {tier} holds" if tier == "A" else f"tier {tier} holds; {'; '.join(LOST_IN_TIER_B)}"
    detail = f"tier {tier}: a program could {', '.join(trespassed)}" if trespassed else holds
    return (*report.layers, Layer(TRIAL, not trespassed, detail))
