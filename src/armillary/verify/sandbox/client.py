"""Run foreign programs in the jail, from the parent's side. Compares nothing: expected values never leave here."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from armillary.core.errors import SandboxError, UsageError
from armillary.verify.sandbox.link import RawRun, ZygoteLink
from armillary.verify.sandbox.outcomes import DEFAULT_LIMITS, Call, JailResult, Limits, Tier
from armillary.verify.sandbox.packages import Outfit, find_packages
from armillary.verify.sandbox.tiers import probe_link
from armillary.verify.sandbox.wire import Report, job_to_bytes, make_job, read_report

_STRENGTH: Final[dict[str, int]] = {"none": 0, "B": 1, "A": 2}
_NOT_LOADED: Final = {
    "exit": "Stopped: the program ended its own process while it loaded",
    "wall": "Stopped: the wall clock ran out while the program loaded",
    "cpu": "Stopped: the program used up its processor time while it loaded",
    "output": "Stopped: the program printed too much while it loaded",
    "signal": "Stopped: the program was killed while it loaded",
}


class Sandbox:
    """A jail that is built anew for every program; threads take turns.

    The zygote behind it starts with the first run and is replaced when it has died. A process that was forked from ours
    must make a sandbox of its own.

    Args:
        minimum_tier: weakest jail that will do: ``A``, or ``B`` where namespaces are not to be had.
        limits: for runs that bring none of their own.
        packages: top-level names of installed packages that programs may import besides the standard library; those
            that they need in turn must be named too.
        preload: modules that the zygote imports once, outside the jail, so that programs have them at no cost.

    Raises:
        UsageError: an unknown tier, or a package that is not installed.
    """

    def __init__(
        self,
        minimum_tier: str = "A",
        limits: Limits = DEFAULT_LIMITS,
        *,
        packages: Sequence[str] = (),
        preload: Sequence[str] = (),
    ) -> None:
        if minimum_tier not in ("A", "B"):
            raise UsageError(f"no sandbox tier {minimum_tier!r}", hint="A or B")
        self._minimum_tier = minimum_tier
        self._limits = limits
        self._outfit = Outfit(find_packages(packages), tuple(preload))
        self._lock = threading.Lock()
        self._link: ZygoteLink | None = None
        self._finalizer: weakref.finalize[[], Sandbox] | None = None
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
        with self._lock:
            return self._checked_tier(self._living_link())

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
        with self._lock:
            link = self._living_link()
            tier = self._checked_tier(link)
            try:
                raw = link.execute(tier, job, limits)
            except BaseException:
                self._drop_link()
                raise
        return _to_result(raw, read_report(raw.lines, len(calls)), tier)

    def close(self) -> None:
        """End the zygote; a later run starts a new one."""
        with self._lock:
            self._drop_link()

    def _living_link(self) -> ZygoteLink:
        if self._link is not None and not self._link.is_alive:
            self._drop_link()
        if self._link is None:
            self._link = ZygoteLink(self._outfit)
            self._finalizer = weakref.finalize(self, self._link.close)
        return self._link

    def _drop_link(self) -> None:
        self._link = None
        if self._finalizer is not None:
            self._finalizer()

    def _checked_tier(self, link: ZygoteLink) -> Tier:
        if self._tier is None:
            try:
                report = probe_link(link)
            except BaseException:
                self._drop_link()
                raise
            # A refusal is not kept: the next run looks again, as a trial may fail on a machine that is only busy.
            if _STRENGTH[report.tier] < _STRENGTH[self._minimum_tier]:
                raise SandboxError(
                    f"the sandbox needs tier {self._minimum_tier}, this machine allows {report.tier}: {report.reason}",
                    hint="`armillary doctor` shows every layer",
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
