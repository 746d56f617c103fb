"""The frame around every command: help, usage errors, expected errors, a reader that leaves."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import armillary as face
from armillary.cli import application, ask, main
from armillary.core.errors import SandboxError

Run = Callable[..., Any]


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def command() -> int:
        raise error

    monkeypatch.setattr(ask, "command", command)


def test_without_arguments_the_help_lists_every_command(armillary: Run) -> None:
    ran = armillary()
    assert ran.code == 0
    assert all(f"  {name} " in ran.out for name in application.COMMANDS)


def test_every_command_explains_itself(armillary: Run) -> None:
    for name in application.COMMANDS:
        ran = armillary(name, "--help")
        assert ran.code == 0
        assert f"armillary {name}" in ran.out
        assert "--json" in ran.out


def test_the_version_is_printed(armillary: Run) -> None:
    assert armillary("--version").out == f"{face.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("slove",), "error: No such command 'slove'. Did you mean 'solve'?"),
        (("solve",), "error: Missing argument 'TASK'."),
        (("ask", "hi", "--temprature", "1"), "error: No such option: --temprature"),
        (("ask", "hi", "--temperature", "hot"), "error: Invalid value for '--temperature': "),
        (("verify",), "error: Missing argument 'TASK'."),
        (("--verbose",), "error: No such option: --verbose"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(armillary: Run, arguments: tuple[str, ...], line: str) -> None:
    ran = armillary(*arguments)
    assert ran.code == 2
    assert ran.err.startswith(line)
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_an_expected_error_is_one_line_and_its_exit_code(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, SandboxError("tier A is not to be had", hint="set sandbox.minimum_tier"))
    ran = armillary("ask")
    assert (ran.code, ran.err) == (1, "error: tier A is not to be had (set sandbox.minimum_tier)\n")


def test_an_error_of_the_operating_system_names_the_file(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, OSError(28, "No space left on device", "/full/trace.jsonl"))
    assert armillary("ask").err == "error: No space left on device: /full/trace.jsonl\n"


def test_an_error_without_a_number_or_a_file_still_says_what_it_is(
    armillary: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, OSError("the pipe is odd"))
    assert armillary("ask").err == "error: the pipe is odd\n"


def test_ctrl_c_is_one_line_and_exit_130(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    ran = armillary("ask")
    assert (ran.code, ran.err) == (130, "interrupted; nothing was changed\n")


def test_ctrl_c_while_a_command_is_still_loading_is_the_same(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(application, "import_module", stop)
    ran = armillary("ask", "hi")
    assert (ran.code, ran.err) == (130, "interrupted; nothing was changed\n")


def test_a_mistake_of_ours_is_not_hidden(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        armillary("ask")


def test_a_broken_settings_file_is_one_line(armillary: Run, tmp_path: Path) -> None:
    (tmp_path / "armillary.toml").write_text("[modles]\ndefault = 'x'\n")
    ran = armillary("ask", "hi")
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert "unknown setting 'modles.default'" in ran.err
    assert ran.err.count("\n") == 1


def test_the_script_ends_with_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["armillary", "slove"])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 2


def test_output_that_nobody_reads_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        assert main.run(["--help"]) == 1
    assert capsys.readouterr().err == ""


def test_a_reader_that_leaves_causes_no_complaint() -> None:
    script = str(Path(sys.executable).parent / "armillary")
    with subprocess.Popen([script, "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail at alloc_cpu.cpp:114] err == 0. DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_a_machine_without_memory_is_one_line_that_names_it(
    armillary: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    failing(monkeypatch, error)
    ran = armillary("ask")
    assert ran.code == 1
    assert ran.err.startswith("error: the machine has too little free memory")
    assert ran.err.count("\n") == 1


def test_a_runtime_error_about_something_else_is_not_hidden(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        armillary("ask")


SCRIPT = str(Path(sys.executable).parent / "armillary")
TASK = 'prompt: Double it.\nsignature: "def f(n: int) -> int"\nexamples:\n  - f(1) == 2\n'


def in_shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The script as ``$0`` of a shell that can close what it inherits."""
    return subprocess.run(
        ["/bin/sh", "-c", line, SCRIPT],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=60,
    )


@pytest.mark.parametrize("line", ['"$0" --version >&-', '"$0" models >&-', '"$0" models --json <&- >&-'])
def test_a_closed_stdout_causes_no_complaint(line: str) -> None:
    ran = in_shell(line)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_closed_stdin_is_empty(tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("def f(n):\n    return n * 2\n")
    ran = in_shell('"$0" verify - ok.py <&-')
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: ")
    assert ran.stderr.count("\n") == 1


def test_with_a_closed_stderr_stdout_still_holds_nothing_but_json(tmp_path: Path) -> None:
    (tmp_path / "ok.py").write_text("def f(n):\n    return n * 2\n")
    (tmp_path / "task.yaml").write_text(TASK)
    ran = in_shell('"$0" verify task.yaml ok.py --json 2>&-')
    assert json.loads(ran.stdout)["status"] == "EXAMPLES_PASS"


def test_a_name_that_the_terminal_cannot_write_is_escaped() -> None:
    ran = in_shell('"$0" verify задача.yaml ok.py', PYTHONIOENCODING="ascii")
    assert ran.returncode == 3
    assert ran.stderr.startswith(r"error: no file \u0437")


def test_ctrl_c_before_anything_is_loaded_is_one_line_too() -> None:
    program = (
        "import builtins, sys\n"
        "from armillary.cli.main import main\n"
        "load = builtins.__import__\n"
        "def stop(name, *more):\n"
        "    if name == 'typer':\n        raise KeyboardInterrupt\n"
        "    return load(name, *more)\n"
        "builtins.__import__ = stop\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "interrupted; nothing was changed\n")


def test_the_script_has_nothing_of_others_loaded_when_it_begins() -> None:
    program = (
        "import sys\nimport armillary.cli.main\n"
        "print([name for name in sys.modules if name.startswith(('armillary.', 'typer', 'rich'))])"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "['armillary.cli', 'armillary.cli.main']\n"


def test_ctrl_c_where_no_line_can_be_said_is_still_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "run", stop)
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 130


def test_streams_that_were_closed_are_empty_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    monkeypatch.setattr("sys.argv", ["armillary", "--version"])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 0
    streams = [sys.stdin, sys.stdout, sys.stderr]
    assert [os.get_inheritable(stream.fileno()) for stream in streams] == [True, True, True]
    for stream in streams:
        stream.close()


def test_a_stream_that_is_no_terminal_and_no_file_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.StringIO()
    monkeypatch.setattr(sys, "stdout", printed)
    monkeypatch.setattr("sys.argv", ["armillary", "--version"])
    with pytest.raises(SystemExit) as end:
        main.main()
    assert (end.value.code, printed.getvalue()) == (0, f"{face.__version__}\n")
