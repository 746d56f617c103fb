"""Run every attack, honest program and cheat, and say in rows what came of it. Judges no claim."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from armillary.bench.attack_form import EVERYTHING, Attack
from armillary.bench.attack_world import World, descendants, outer_world
from armillary.bench.attacks import ATTACKS
from armillary.bench.cheat_form import PASSED, Cheat, in_process_grading
from armillary.bench.cheats import CHEATS
from armillary.bench.honest import HONEST, Honest
from armillary.bench.weak_jail import SMALL, WeakJail, run_bare
from armillary.core.errors import SandboxError
from armillary.core.tasks import Example, Parameter, Predicate, TaskSpec
from armillary.core.values import encode
from armillary.verify.examples_level import judge_examples
from armillary.verify.execution import Jail
from armillary.verify.oracles import DifferentialOracle, PropertyOracle
from armillary.verify.sandbox.client import Sandbox
from armillary.verify.sandbox.link import ZygoteLink
from armillary.verify.sandbox.outcomes import Call, JailResult, Limits, Tier
from armillary.verify.sandbox.wire import job_to_bytes, make_job, read_report
from armillary.verify.verifier import CodeVerifier

ROOMY: Final = Limits(wall_s=20.0)
"""What honest programs are given: none of them is meant to meet a limit."""

_CHEAP: Final = Limits(wall_s=2.0, cpu_s=2, call_cpu_s=0.2)
_NUM_INPUTS: Final = 12
_NUM_AT_ONCE: Final = 2
_SETTLE_S: Final = 1.0
_LARGE: Final = (31_607, 54_773, 70_711)
_X: Final = (Parameter("x", "int"),)
HONEST_ANSWER: Final = "def f(x): return x * x"

GRADERS: Final = {
    "examples": TaskSpec("p", "f", parameters=_X, examples=tuple(Example((n,), n * n) for n in _LARGE)),
    "ensures": TaskSpec("p", "f", parameters=_X, ensures=(Predicate("result == x * x"),)),
    "law": TaskSpec("p", "f", parameters=_X, laws=(Predicate("f(x) == x * x"),)),
    "reference": TaskSpec("p", "f", parameters=_X, reference=HONEST_ANSWER),
}
"""The same task, to square a number, with each kind of evidence."""


@dataclass(frozen=True, slots=True)
class AttackRow:
    """What one attack came to in a whole jail.

    Attributes:
        num_left: processes that the run left behind.
    """

    name: str
    tier: str
    layers: tuple[str, ...]
    is_stopped: bool
    num_left: int


@dataclass(frozen=True, slots=True)
class ControlRow:
    """What one attack came to with some layers left out.

    Attributes:
        layers: those that were left out.
        has_succeeded: None when it was not tried.
        reason: why it was not tried, or what the weak jail said.
    """

    name: str
    layers: tuple[str, ...]
    has_succeeded: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HonestRow:
    """Whether one honest program noticed the jail; ``detail`` says how."""

    name: str
    tier: str
    is_unharmed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class CheatRow:
    """Whom one cheat has deceived.

    Attributes:
        beats_in_process: whether a grader in its own process passed it.
        accepted_by: our graders that accepted it, each by its kind of evidence.
        past_policy: those that found nothing against it when the policy, which reads its text, was left out.
        statuses: of our graders, in the order of ``GRADERS``.
    """

    name: str
    beats_in_process: bool
    accepted_by: tuple[str, ...]
    past_policy: tuple[str, ...]
    statuses: tuple[str, ...]


class OneTierSandbox:
    """The real sandbox in a tier that is given, even on a machine that allows a stronger one.

    Args:
        tier: of the jail.
        limits: for runs that bring none of their own.
    """

    def __init__(self, tier: Tier, limits: Limits) -> None:
        self.tier = tier
        self._limits = limits
        self._link = ZygoteLink()

    def close(self) -> None:
        """End the zygote, and with it a run that is still under way."""
        self._link.close()

    def run(
        self, source: str, calls: Sequence[Call] = (), *, limits: Limits | None = None, seed: int = 0
    ) -> JailResult:
        """As ``client.Sandbox.run``.

        Raises:
            SandboxError: a layer could not be put on.
        """
        limits = limits or self._limits
        job = make_job(source, calls, seed=seed, call_cpu_s=limits.call_cpu_s)
        raw = self._link.execute(self.tier, job_to_bytes(job), limits)
        report = read_report(raw.lines, len(calls))
        if not report.layers or not all(layer.works for layer in report.layers):
            raise SandboxError(f"tier {self.tier} could not be built: {report.layers or raw.last_words}")
        output = raw.output.decode(errors="replace")
        return JailResult(
            report.outcomes, report.load_error or "", output, raw.stopped_by, 0, raw.elapsed_ms, self.tier
        )


@contextmanager
def jail_of_tier(tier: Literal["A", "B"], limits: Limits) -> Iterator[Jail]:
    """The sandbox of exactly this tier; the jail ends with the block.

    Raises:
        SandboxError: this machine does not allow the tier.
    """
    if tier == "A":
        with Sandbox("A", limits) as sandbox:
            sandbox.run("")
            yield sandbox
    else:
        with closing(OneTierSandbox(tier, limits)) as link:
            link.run("")
            yield link


def run_attacks(
    tier: Literal["A", "B"], attacks: Sequence[Attack] = ATTACKS, *, beside: Path | None = None
) -> list[AttackRow]:
    """Try every attack in a whole jail of a tier.

    Args:
        tier: of the jail.
        attacks: those to try.
        beside: where the targets are made, by default the working directory.

    Raises:
        SandboxError: this machine does not allow the tier.
    """
    with outer_world(beside) as world, jail_of_tier(tier, SMALL) as jail:
        time.sleep(_SETTLE_S)
        num_idle = len(descendants())
        return [_attack(attack, tier, world, jail, num_idle) for attack in attacks]


def _attack(attack: Attack, tier: str, world: World, jail: Jail, num_idle: int) -> AttackRow:
    world.renew()
    result = jail.run(world.aim(attack.program))
    assert result.tier == tier
    is_stopped = not world.has_succeeded(attack, result.stdout)
    world.renew()
    return AttackRow(attack.name, tier, attack.layers, is_stopped, _num_left(num_idle))


def _num_left(num_idle: int) -> int:
    """How many processes there are beyond those of an idle sandbox, once it has had time to come to rest."""
    deadline = time.monotonic() + _SETTLE_S
    while (num_left := len(descendants()) - num_idle) > 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    return max(0, num_left)


def run_controls(attacks: Sequence[Attack] = ATTACKS, *, beside: Path | None = None) -> list[ControlRow]:
    """Try every attack where the layers that stop it are left out; it should succeed."""
    untried = {attack.name: why for attack in attacks if (why := reason_against(attack))}
    tries = [(attack, attack.layers) for attack in attacks if attack.name not in untried]
    tried = {row.name: row for row in _try_without(tries, beside)}
    return [
        tried.get(attack.name) or ControlRow(attack.name, attack.layers, None, untried[attack.name])
        for attack in attacks
    ]


def run_single_layers(attacks: Sequence[Attack] = ATTACKS, *, beside: Path | None = None) -> list[ControlRow]:
    """Try every attack that several layers stop with all of these but one left out, each in its turn; it should fail.

    A row's ``layers`` are those that were left out.
    """
    tries = [
        (attack, tuple(layer for layer in attack.layers if layer != kept))
        for attack in attacks
        if len(attack.layers) > 1 and not attack.no_control
        for kept in attack.layers
    ]
    return list(_try_without(tries, beside))


def reason_against(attack: Attack) -> str:
    """Why an attack's success cannot be shown by this user on this machine, or empty."""
    if attack.no_control:
        return attack.no_control
    if {"namespaces", "privileges"} <= set(attack.layers) and os.geteuid() != 0:
        return "an ordinary user has no such rights in the first place"
    return ""


def _try_without(tries: Sequence[tuple[Attack, tuple[str, ...]]], beside: Path | None) -> Iterator[ControlRow]:
    """Each attack with the layers beside it left out; those with the same ones share a jail."""
    with outer_world(beside) as world:
        folder = world.folder / "private"
        for removed in dict.fromkeys(layers for _, layers in tries):
            attacks = [attack for attack, layers in tries if layers == removed]
            folder.mkdir()
            if EVERYTHING in removed:
                yield from [_try_in(attack, removed, world, partial(run_bare, folder=folder)) for attack in attacks]
            else:
                with WeakJail(removed, folder, world.canary) as jail:
                    yield from [_try_in(attack, removed, world, jail.run) for attack in attacks]
            shutil.rmtree(folder)


def _try_in(attack: Attack, removed: tuple[str, ...], world: World, run: Callable[[str], str]) -> ControlRow:
    world.renew()
    try:
        printed = run(world.aim(attack.program))
    except SandboxError as error:
        return ControlRow(attack.name, removed, False, str(error))
    return ControlRow(attack.name, removed, world.has_succeeded(attack, printed))


def run_honest(tier: Literal["A", "B"], programs: Sequence[Honest] = HONEST) -> list[HonestRow]:
    """Run every honest program that the tier has room for.

    Raises:
        SandboxError: this machine does not allow the tier.
    """
    with jail_of_tier(tier, ROOMY) as jail:
        return [_run_honest(item, tier, jail) for item in programs if tier == "A" or not item.needs_folder]


def _run_honest(item: Honest, tier: str, jail: Jail) -> HonestRow:
    result = jail.run(item.program, [Call("f", ())])
    (outcome,) = result.outcomes
    found = (outcome.kind, outcome.value, result.stdout, result.stopped_by)
    wanted = ("returned", encode(item.returned), item.printed, "exit")
    detail = "" if found == wanted else f"{found} {outcome.error_message}{result.load_error}"
    return HonestRow(item.name, tier, found == wanted, detail)


def run_cheats(cheats: Sequence[Cheat] = CHEATS) -> list[CheatRow]:
    """Have every cheat graded in its own process, within the jail, and by each of our graders.

    Raises:
        SandboxError: this machine allows no jail.
    """
    # Mostly waiting for children: two at a time, each with a jail of its own.
    with ThreadPoolExecutor(_NUM_AT_ONCE) as pool:
        parts = list(pool.map(_run_cheats, [cheats[number::_NUM_AT_ONCE] for number in range(_NUM_AT_ONCE)]))
    rows = {row.name: row for part in parts for row in part}
    return [rows[cheat.name] for cheat in cheats]


def _run_cheats(cheats: Sequence[Cheat]) -> list[CheatRow]:
    with Sandbox("B", _CHEAP) as sandbox:
        return [judge_cheat(cheat, sandbox) for cheat in cheats]


def judge_cheat(cheat: Cheat, jail: Jail) -> CheatRow:
    """What all graders say of one cheat."""
    verifier = CodeVerifier(jail, num_inputs=_NUM_INPUTS)
    verdicts = {name: verifier.verify(task, cheat.program) for name, task in GRADERS.items()}
    return CheatRow(
        name=cheat.name,
        beats_in_process=passes_in_process(cheat, jail),
        accepted_by=tuple(name for name, verdict in verdicts.items() if verdict.is_accepted),
        past_policy=tuple(name for name, task in GRADERS.items() if keeps_a_promise(task, cheat.program, jail)),
        statuses=tuple(verdict.status.value for verdict in verdicts.values()),
    )


def passes_in_process(cheat: Cheat, jail: Jail) -> bool:
    """Whether the grader in the cheat's own process passes it: by the last line that the process printed."""
    return jail.run(in_process_grading(cheat)).stdout.splitlines()[-1:] == [PASSED]


def keeps_a_promise(task: TaskSpec, code: str, jail: Jail) -> bool:
    """Whether a grader, its policy left out, finds code to do right on any of some large inputs."""
    if task.examples:
        return any(check.passed for check in judge_examples(jail, task, code).checks)
    oracle = DifferentialOracle(task, jail, code) if task.reference else PropertyOracle(task, jail, code)
    return any(item is None for row in oracle.judge([(number,) for number in _LARGE]) for item in row.values())
