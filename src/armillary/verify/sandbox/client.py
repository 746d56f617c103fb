"""Run foreign programs in the jail, from the parent's side. Compares nothing: expected values never leave here."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from functools import partial
from types import TracebackType
from typing import Final, Self

from armillary.core.errors import SandboxError, UsageError
from armillary.verify.sandbox.link import RawRun
from armillary.verify.sandbox.outcomes import DEFAULT_LIMITS, Call, JailResult, Limits, Tier
from armillary.verify.sandbox.packages import Outfit, find_packages
from armillary.verify.sandbox.pool import Link, LinkPool
from armillary.verify.sandbox.tiers import MINIMUMS, STRENGTH, open_link, probe_link, way_out
from armillary.verify.sandbox.wire import Report, job_to_bytes, make_job, read_report

_NOT_LOADED: Final = {
    "exit": "Stopped: the program ended its own process while it loaded",
    "wall": "Stopped: the wall clock ran out while the program loaded",
    "cpu": "Stopped: the program used up its processor time while it loaded",
    "output": "Stopped: the program printed too much while it loaded",
    "signal": "Stopped: the program was killed while it loaded",
}


class Sandbox:
    """A jail that is built anew for every program; threads share it, and take turns where it has fewer cores.

    The zygotes behind it start when they are first needed and are replaced when they have died. A process that was
    forked from ours must make a sandbox of its own.

    Args:
        minimum_tier: weakest jail that will do: ``A``; ``B`` where namespaces are not to be had; ``C`` where neither
            is; ``C only`` to get that one everywhere.
        limits: for runs that bring none of their own.
        packages: top-level names of installed packages that programs may import besides the standard library; those
            that they need in turn must be named too.
        preload: modules that the zygote imports once, outside the jail, so that programs have them at no cost.
        num_cores: how many programs may run at once.
        keeps_spare: whether, after each run, a child is locked in ahead of the next one and waits for it; that one gets
            it if it has the same limits. Saves the time of a start and leaves two processes waiting between runs.

    Raises:
        UsageError: an unknown tier, no core, or a package that is not installed.
    """

    def __init__(
        self,
        minimum_tier: str = "A",
        limits: Limits = DEFAULT_LIMITS,
        *,
        packages: Sequence[str] = (),
        preload: Sequence[str] = (),
        num_cores: int = 1,
        keeps_spare: bool = False,
    ) -> None:
        if minimum_tier not in MINIMUMS:
            raise UsageError(f"no sandbox tier {minimum_tier!r}", hint="A, B, C or 'C only'")
        if num_cores < 1:
            raise UsageError(f"num_cores is {num_cores}, it must be at least 1")
        self._minimum_tier = minimum_tier
        self._limits = limits
        self._keeps_spare = keeps_spare
        self._pool = LinkPool(
            num_cores, Outfit(find_packages(packages), tuple(preload)), partial(open_link, minimum_tier)
        )
        weakref.finalize(self, self._pool.close_now)
        self._trial = threading.Lock()
        self._tier: Tier | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def tier(self) -> str:
        """The tier that runs get, found out once by locking a harmless program in.

        Raises:
            SandboxError: this machine allows only less than the minimum.
        """
        with self._pool.lend() as link:
            return self._checked_tier(link)

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        """Load a program in a fresh jail and make the calls in order.

        Args:
            source: text of a Python module; it is run as ``candidate``, not as ``__main__``.
            calls: what to call once it has loaded.
            limits: for this run, by default the sandbox's own.
            seed: the random module is seeded with it before loading and before each call.

        Raises:
            SandboxError: the jail is weaker than the minimum or broke; the program did not run, or its result is lost.
            ValueCodecError: an argument cannot be carried into the jail.
        """
        limits = limits or self._limits
        job = job_to_bytes(make_job(source, calls, seed=seed, call_cpu_s=limits.call_cpu_s))
        with self._pool.lend() as link:
            tier = self._checked_tier(link)
            raw = link.execute(tier, job, limits)
            if self._keeps_spare:
                link.prepare(tier, limits)
        return _to_result(raw, read_report(raw.lines, len(calls)), tier)

    def close(self) -> None:
        """End the zygotes once their runs are over; a later run starts a new one."""
        self._pool.close()

    def _checked_tier(self, link: Link) -> Tier:
        with self._trial:
            if self._tier is None:
                report = probe_link(link)
                # A refusal is not kept: the next run looks again, as a trial may fail on a machine that is only busy.
                if STRENGTH[report.tier] < MINIMUMS[self._minimum_tier]:
                    raise SandboxError(
                        f"the sandbox needs tier {self._minimum_tier}, this machine allows {report.tier}: "
                        f"{report.reason}",
                        hint=way_out(report.tier),
                    )
                self._tier = report.tier
            return self._tier


def _to_result(raw: RawRun, report: Report, tier: Tier) -> JailResult:
    if not report.layers and raw.stopped_by != "wall":
        raise SandboxError(f"the sandbox could not be built: {raw.last_words}")
    for layer in report.layers:
        if not layer.works:
            raise SandboxError(f"the sandbox could not be built: {layer.name}: {layer.detail}")
    load_error = _NOT_LOADED[raw.stopped_by] if report.load_error is None else report.load_error
    has_more = report.is_full and raw.stopped_by == "exit" and report.outcomes[-1].kind == "missing"
    return JailResult(
        outcomes=report.outcomes,
        load_error=load_error,
        stdout=raw.output.decode("utf-8", errors="replace"),
        stopped_by="results" if has_more else raw.stopped_by,
        signal=-raw.code if raw.stopped_by == "signal" else 0,
        elapsed_ms=raw.elapsed_ms,
        tier=tier,
    )
