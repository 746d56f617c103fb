"""Conversations on disk: kept turn by turn, found again, mended after a crash, never damaged by two at once."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from armillary.core.errors import NotFoundError, UsageError
from armillary.core.messages import ModelIdentity, Usage
from armillary.core.settings import load_settings
from armillary.runtime.conversation import (
    Attachment,
    Conversation,
    ConversationError,
    Summary,
    Turn,
    conversations_folder,
    find,
    newest,
    summaries,
)

FULL = Turn("Why?", "Because.\n", (Attachment("a.py", "x = 1\n"),), "length", ModelIdentity("m", "ab"), Usage(3, 4))


def kept(folder: Path, *turns: Turn, system: str = "") -> Path:
    with Conversation(folder, system=system) as conversation:
        for turn in turns:
            conversation.add(turn)
        assert conversation.path is not None
        return conversation.path


def resumed(path: Path) -> tuple[str, tuple[Turn, ...], str]:
    with Conversation.resume(path) as conversation:
        return conversation.system, conversation.turns, conversation.repair_note


def test_a_conversation_comes_back_as_it_was(tmp_path: Path) -> None:
    path = kept(tmp_path, FULL, Turn("Und\nnun? \udcff", ""), system="Be brief.")
    assert resumed(path) == ("Be brief.", (FULL, Turn("Und\nnun? \udcff", "")), "")


def test_nothing_is_written_before_the_first_turn(tmp_path: Path) -> None:
    with Conversation(tmp_path / "folder") as conversation:
        conversation.set_system("Be brief.")
        assert (conversation.name, conversation.path) == ("", None)
    assert not (tmp_path / "folder").exists()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = kept(tmp_path / "folder", FULL)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("question", "slug"),
    [
        ("What is  a ring?\n", "what-is-a-ring"),
        ("../../etc/passwd", "etc-passwd"),
        ("?!", "chat"),
        ("Ärger über Öl " * 9, "ärger-über-öl-ärger-über-öl-ärger-"),
        ("\udcff", "chat"),
    ],
)
def test_the_file_is_named_by_time_and_first_words(tmp_path: Path, question: str, slug: str) -> None:
    with Conversation(tmp_path) as conversation:
        conversation.add(Turn(question, ""))
        stamp, _, words = conversation.name.partition("-")
    assert len(stamp) == len("20260102T030405.123456Z")
    assert words == slug.strip("-")


def test_a_conversation_without_a_folder_stays_in_memory() -> None:
    conversation = Conversation(None)
    conversation.add(FULL)
    conversation.add(Turn("b", "c"))
    assert conversation.undo() == Turn("b", "c")
    assert (conversation.turns, conversation.path) == ((FULL,), None)


def test_changes_are_kept_as_lines_of_their_own(tmp_path: Path) -> None:
    path = kept(tmp_path, Turn("a", "1"), Turn("b", "2"))
    with Conversation.resume(path) as conversation:
        conversation.undo()
        conversation.replace_last(Turn("a", "3"))
        conversation.set_system("Be brief.")
        conversation.set_system("Be brief.")
        expected = (conversation.system, conversation.turns, "")
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    assert kinds == ["begin", "turn", "turn", "undo", "undo", "turn", "system"]
    assert resumed(path) == expected == ("Be brief.", (Turn("a", "3"),), "")


def test_what_is_not_there_cannot_be_taken_back_or_replaced() -> None:
    with pytest.raises(UsageError, match="no turn to take back"):
        Conversation(None).undo()
    with pytest.raises(UsageError, match="no turn to replace"):
        Conversation(None).replace_last(FULL)


@pytest.mark.parametrize("num_lost_bytes", [2, 10, 60])
def test_a_last_line_that_was_cut_off_is_left_out_and_the_rest_goes_on(tmp_path: Path, num_lost_bytes: int) -> None:
    path = kept(tmp_path, Turn("a", "1"), Turn("b", "2"))
    os.truncate(path, path.stat().st_size - num_lost_bytes)
    with Conversation.resume(path) as conversation:
        assert conversation.turns == (Turn("a", "1"),)
        assert conversation.repair_note == f"the last line of {path.name} was cut off and is left out"
        conversation.add(Turn("c", "3"))
    assert resumed(path) == ("", (Turn("a", "1"), Turn("c", "3")), "")


def test_a_last_line_that_only_lacks_its_end_is_kept(tmp_path: Path) -> None:
    path = kept(tmp_path, Turn("a", "1"))
    os.truncate(path, path.stat().st_size - 1)
    with Conversation.resume(path) as conversation:
        assert conversation.repair_note == ""
        conversation.add(Turn("b", "2"))
    assert resumed(path)[1] == (Turn("a", "1"), Turn("b", "2"))


KILLED = """
import os, sys
from pathlib import Path
from armillary.runtime.conversation import Conversation, Turn
conversation = Conversation(Path(sys.argv[1]))
for number in range(1000):
    conversation.add(Turn(f"q{number}", "a" * 5000))
    print(number, flush=True)
"""


def test_a_process_that_is_killed_loses_no_turn_that_it_had_added(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        told += process.stdout.readlines()
    system, turns, _ = resumed(newest(tmp_path))
    assert system == ""
    assert [turn.question for turn in turns][: len(told)] == [f"q{number}" for number in range(len(told))]
    assert len(turns) <= len(told) + 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{\n", "line 2 is not JSON"),
        ("[" * 100_000 + "\n", "line 2 is not JSON"),
        ("[]\n", "line 2 is no entry"),
        ('{"kind": "dance"}\n', r"line 2 is no entry \(unknown kind 'dance'\)"),
        ('{"kind": "begin", "version": 2}\n', r"line 2 is no entry \(version 2 is not 1\)"),
        ('{"kind": "undo"}\n', "line 2 is no entry"),
        ('{"kind": "system", "text": 3}\n', r"line 2 is no entry \(3 is not text\)"),
        ('{"kind": "turn", "reason": "tired"}\n', r"line 2 is no entry \(unknown reason 'tired'\)"),
        ('{"kind": "turn", "reason": "stop"}\n', "line 2 is no entry"),
    ],
)
def test_a_line_that_makes_no_sense_is_named_and_nothing_is_changed(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "damaged.jsonl"
    content = f'{{"kind": "begin", "version": 1}}\n{line}{{"kind": "system", "text": "s"}}\n'
    path.write_text(content)
    for _ in range(2):
        with pytest.raises(ConversationError, match=f"damaged: {problem}"):
            Conversation.resume(path)
    assert path.read_text() == content
    (row,) = summaries(tmp_path)
    assert (row.name, row.num_turns) == ("damaged", 0)
    assert "damaged: line 2" in row.note


def test_two_at_once_do_not_go_on_with_the_same_conversation(tmp_path: Path) -> None:
    path = kept(tmp_path, FULL)
    with Conversation.resume(path):
        with pytest.raises(ConversationError, match="another process is in the conversation"):
            Conversation.resume(path)
        assert summaries(tmp_path) == [Summary(path.stem, 1, "Why?")]
    assert resumed(path)[1] == (FULL,)


def test_a_conversation_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no conversation .*nothing\.jsonl"):
        Conversation.resume(tmp_path / "nothing.jsonl")


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConversationError, match=r"cannot write the conversation .*: Not a directory"):
        Conversation(tmp_path / "file" / "folder").add(FULL)


def test_a_full_disk_leaves_whole_lines_behind(tmp_path: Path) -> None:
    with Conversation(tmp_path) as conversation:
        conversation.add(Turn("a", "1"))
        assert conversation.path is not None
        before = conversation.path.read_bytes()
        full = pytest.raises(ConversationError, match=r"cannot write the conversation .*: File too large")
        with small_files(len(before) + 100), full:
            conversation.add(Turn("b", "2" * 1000))
        assert conversation.turns == (Turn("a", "1"),)
    assert conversation.path.read_bytes() == before


@contextmanager
def small_files(num_bytes: int) -> Iterator[None]:
    """Bound every file of this process, for as short as can be: the report of the tests may be longer already."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_the_newest_is_the_one_that_was_used_last(tmp_path: Path) -> None:
    old, new = kept(tmp_path, Turn("old", "")), kept(tmp_path, Turn("new", ""))
    os.utime(old, ns=(1, 1))
    assert newest(tmp_path) == new
    os.utime(new, ns=(0, 0))
    assert newest(tmp_path) == old


def test_without_any_there_is_no_newest(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no conversation yet"):
        newest(tmp_path / "nothing")


@pytest.mark.parametrize("name", ["20260101T000000Z-tea", "20260101T000000Z-tea.jsonl", "01T0", "tea-time"])
def test_a_conversation_is_found_by_its_name_or_a_part_of_it(tmp_path: Path, name: str) -> None:
    for stem in ("20260101T000000Z-tea", "20260102T000000Z-tea-time"):
        (tmp_path / f"{stem}.jsonl").touch()
    assert find(tmp_path, name).stem in ("20260101T000000Z-tea", "20260102T000000Z-tea-time")


@pytest.mark.parametrize(
    ("name", "kind", "line"),
    [
        ("tea", UsageError, "2 conversations match 'tea' (such as 1-tea, 2-tea-time)"),
        ("coffee", NotFoundError, "no conversation is called 'coffee' (the last ones: 1-tea, 2-tea-time)"),
        ("", NotFoundError, "no conversation is called '' (the last ones: 1-tea, 2-tea-time)"),
    ],
)
def test_a_name_that_is_not_clear_is_one_line(tmp_path: Path, name: str, kind: type[Exception], line: str) -> None:
    for stem in ("1-tea", "2-tea-time"):
        (tmp_path / f"{stem}.jsonl").touch()
    with pytest.raises(kind) as error:
        find(tmp_path, name)
    assert str(error.value) == line


def test_without_any_the_error_names_none(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"^no conversation is called 'tea'$"):
        find(tmp_path, "tea")


def test_a_list_tells_turns_and_first_question(tmp_path: Path) -> None:
    path = kept(tmp_path, Turn("a", "1"), Turn("b", "2"))
    (tmp_path / "empty.jsonl").touch()
    assert summaries(tmp_path) == [Summary(path.stem, 2, "a"), Summary("empty")]


def test_they_are_kept_in_the_home_folder(tmp_path: Path) -> None:
    settings = load_settings({"home": str(tmp_path)})
    assert conversations_folder(settings) == tmp_path / "conversations"


def test_after_closing_it_goes_on_in_memory(tmp_path: Path) -> None:
    with Conversation(tmp_path) as conversation:
        conversation.add(Turn("a", "1"))
    conversation.add(Turn("b", "2"))
    conversation.close()
    assert [turn.question for turn in conversation.turns] == ["a", "b"]
    assert [row.num_turns for row in summaries(tmp_path)] == [1]
