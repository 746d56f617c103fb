"""Say in plain lines what a verdict, a solution or a replay found. Computes nothing."""

from __future__ import annotations

from armillary.cli.output import columns
from armillary.core.errors import ExitCode
from armillary.core.verdicts import Check, Status, Verdict


def exit_code(verdict: Verdict) -> ExitCode:
    """What ``solve`` and ``verify`` return for a verdict."""
    if verdict.is_accepted:
        return ExitCode.OK
    return ExitCode.REFUTED if verdict.status is Status.REFUTED else ExitCode.UNDECIDED


def verdict_lines(verdict: Verdict) -> list[str]:
    """The verdict, its risk, its checks under each other, and the counterexample."""
    lines = [headline(verdict), *risk_lines(verdict)]
    if verdict.checks:
        rows = [("check", "origin", "inputs", "", "expectation"), *map(_check_row, verdict.checks)]
        lines += [f"  {line}" for line in columns(rows)]
    return lines + counterexample_lines(verdict)


def headline(verdict: Verdict) -> str:
    """One line: the status, why, and what it cost."""
    reason = f": {verdict.reason}" if verdict.reason else ""
    return f"{verdict.status.value}{reason} [sandbox {verdict.sandbox_tier}, {verdict.elapsed_ms:.0f} ms]"


def risk_lines(verdict: Verdict) -> list[str]:
    """How often answers with such evidence were wrong before, or nothing where no label tells."""
    risk = verdict.risk
    if risk is None:
        return []
    interval = f"{percent(risk.low)} to {percent(risk.high)} %, 95 %"
    return [
        f"  risk of being wrong: {percent(risk.probability)} % ({interval}, {risk.num_labels} of your labelled tasks)"
    ]


def percent(share: float) -> str:
    """A share from 0 to 1 in percent, without the sign: whole, or one digit where it is less than one."""
    value = 100 * share
    return f"{value:.1g}" if 0 < value < 1 else f"{value:.0f}"


def counterexample_lines(verdict: Verdict) -> list[str]:
    """The call that went wrong, or nothing."""
    found = verdict.counterexample
    if found is None:
        return []
    return [
        f"  counterexample ({found.check_id}): {found.call}",
        f"    expected  {found.expected}",
        f"    got       {found.actual}",
    ]


def _check_row(check: Check) -> tuple[str, str, str, str, str]:
    # Spaces inside of a line may belong to a value.
    text = " ".join(line.strip() for line in check.text.splitlines())
    return check.id, check.origin, str(check.num_inputs), "passed" if check.passed else "FAILED", text
