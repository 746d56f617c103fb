"""``armillary doctor``: what this machine offers, how strong the sandbox is, which settings apply. Repairs nothing."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from pathlib import Path
from typing import Annotated

import typer

from armillary.cli.output import columns, emit, human_bytes, say
from armillary.core.errors import ExitCode
from armillary.core.settings import Setting, Settings, load_settings
from armillary.core.values import Json
from armillary.hardware.probe import Machine, probe_machine
from armillary.runtime import stack
from armillary.verify.sandbox.tiers import MINIMUMS, ONLY_C, STRENGTH, TierReport, probe, probe_tier_c

SECRETS = ("remote.key",)


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> int:
    """Show what this machine offers, how strong its sandbox is, and where each setting came from.

    Exit status 1 if the sandbox is weaker than the settings ask for.
    """
    settings = load_settings()
    minimum = settings["sandbox.minimum_tier"]
    machine, sandbox = probe_machine(), _probe_sandbox(minimum)
    is_safe = STRENGTH[sandbox.tier] >= MINIMUMS[minimum]
    if as_json:
        emit(_to_json(settings, machine, sandbox, is_safe=is_safe))
    else:
        for title, lines in _sections(settings, machine, sandbox):
            print("\n".join((title, *(f"  {line}" for line in lines))))
    if not is_safe:
        say(f"error: the sandbox is tier {sandbox.tier}, the settings ask for {minimum}: code will not be run")
    return ExitCode.OK if is_safe else ExitCode.FAILED


def _probe_sandbox(minimum: str) -> TierReport:
    """Tier C is looked at only where it is asked for or nothing else works: the first time it takes seconds."""
    found = probe() if minimum != ONLY_C else TierReport("none", ())
    if found.tier != "none":
        return found
    weakest = probe_tier_c()
    return TierReport(weakest.tier, (*found.layers, *weakest.layers))


def _sections(settings: Settings, machine: Machine, sandbox: TierReport) -> list[tuple[str, list[str]]]:
    layers = [(layer.name, "works" if layer.works else "FAILS", layer.detail) for layer in sandbox.layers]
    return [
        ("machine", _machine_lines(machine)),
        (f"sandbox: tier {sandbox.tier}", columns(layers)),
        ("engine", columns([("kernels", stack.kernels_status()), ("torch", _torch()), ("python", _python())])),
        ("models", _model_lines(settings)),
        ("settings", columns([(row.name, _shown(row), row.source) for row in settings.rows])),
    ]


def _machine_lines(machine: Machine) -> list[str]:
    quota = "" if machine.cpu_quota_cores is None else f", quota {machine.cpu_quota_cores:g}"
    return columns(
        [
            ("processor", machine.cpu_model),
            ("kernel", machine.kernel),
            (
                "cores",
                f"{machine.num_free_cores} free of {machine.num_allowed_cores} allowed{quota} "
                f"(others use {machine.busy_cores:g}, steal {machine.steal_ratio:.1%})",
            ),
            ("vectors", " ".join(sorted(machine.cpu_flags)) or "none that we use"),
            (
                "memory",
                f"{human_bytes(machine.available_memory_bytes)} available of {human_bytes(machine.total_memory_bytes)}",
            ),
        ]
    )


def _model_lines(settings: Settings) -> list[str]:
    folder = stack.models_folder(settings)
    here = [row.name for row in stack.list_models(settings) if row.path]
    free = human_bytes(_free_bytes(folder))
    return columns([("folder", str(folder)), ("here", ", ".join(here) or "none"), ("disk", f"{free} free")])


def _free_bytes(folder: Path) -> int:
    """Free bytes of the disk on which the folder is, or would be made."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.is_dir())
    return shutil.disk_usage(nearest).free


def _torch() -> str:
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "not installed: the engine cannot run here, a remote server can"


def _python() -> str:
    return f"{platform.python_version()} on {platform.machine()}"


def _shown(row: Setting) -> str:
    if row.name in SECRETS and row.value:
        return "(set, not shown)"
    return ", ".join(row.value) if isinstance(row.value, tuple) else str(row.value)


def _to_json(settings: Settings, machine: Machine, sandbox: TierReport, *, is_safe: bool) -> dict[str, Json]:
    return {
        "machine": {
            "cpu_model": machine.cpu_model,
            "kernel": machine.kernel,
            "num_free_cores": machine.num_free_cores,
            "num_allowed_cores": machine.num_allowed_cores,
            "busy_cores": machine.busy_cores,
            "steal_ratio": machine.steal_ratio,
            "cpu_flags": [*sorted(machine.cpu_flags)],
            "available_memory_bytes": machine.available_memory_bytes,
            "total_memory_bytes": machine.total_memory_bytes,
        },
        "sandbox": {
            "tier": sandbox.tier,
            "is_enough": is_safe,
            "layers": [{"name": layer.name, "works": layer.works, "detail": layer.detail} for layer in sandbox.layers],
        },
        "engine": {"kernels": stack.kernels_status(), "torch": _torch(), "python": _python()},
        "models": {
            "folder": str(stack.models_folder(settings)),
            "free_bytes": _free_bytes(stack.models_folder(settings)),
        },
        "settings": {row.name: {"value": _shown(row), "source": row.source} for row in settings.rows},
    }
