"""A conversation from a pipe: its turns, its commands, and what is kept whatever happens."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chat_stage import Actor, Exact, turns_of
from fake_server import answers, refuses, serve

from armillary.cli.chat_commands import COMMANDS
from armillary.core.messages import Finished, ModelIdentity, Usage
from armillary.runtime import stack
from armillary.runtime.conversation import Conversation, Turn, newest, summaries

Run = Callable[..., Any]


@pytest.fixture
def chat(armillary: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """One chat whose turns are piped in."""

    def call(lines: str | bytes, *arguments: str) -> Any:
        content = lines.encode() if isinstance(lines, str) else lines
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))
        return armillary("chat", *arguments)

    return call


@pytest.fixture
def folder(home: Path) -> Path:
    return home / "conversations"


def test_turns_from_a_pipe_are_answered_on_stdout_and_nothing_else_is(chat: Run, actor: Run) -> None:
    model = actor("One.", "Two.")
    ran = chat("first\n\n  \nsecond\n", "--system", "Be brief.")
    assert (ran.code, ran.out, ran.err) == (0, "One.\nTwo.\n", "")
    assert model.seen == [["Be brief.", "first"], ["Be brief.", "first", "One.", "second"]]


def test_every_turn_is_kept_with_the_model_that_answered(chat: Run, actor: Run, folder: Path) -> None:
    actor("One.")
    chat("What is it?\n")
    (turn,) = turns_of(newest(folder))
    assert turn == Turn("What is it?", "One.", model=ModelIdentity("actor", "cd" * 32), usage=Usage(10, 1))
    assert newest(folder).name.endswith("Z-what-is-it.jsonl")


def test_without_a_turn_nothing_is_kept(chat: Run, actor: Run, folder: Path) -> None:
    actor()
    assert chat("/help\n").code == 0
    assert not folder.exists()


def test_json_prints_one_object_per_answer(chat: Run, actor: Run) -> None:
    actor("One.\n", "Two.")
    rows = [json.loads(line) for line in chat("a\nb\n", "--json").out.splitlines()]
    assert [row["text"] for row in rows] == ["One.\n", "Two."]
    assert rows[0]["conversation"] == rows[1]["conversation"] != ""
    assert rows[1]["model"]["name"] == "actor"


@pytest.mark.parametrize(
    ("lines", "question"),
    [
        ("one\\\ntwo\\\n\\\nthree\n", "one\ntwo\n\nthree"),
        ("one\\\n", "one\n"),
        ('"""one\ntwo\n\n/exit\n"""\n', "one\ntwo\n\n/exit"),
        ('  """\n/exit"""\n', "/exit"),
        ('"""/exit"""\n', "/exit"),
        ("/etc/hosts is what?\n", "/etc/hosts is what?"),
        (" /exit\r\n", " /exit"),
        ("last line without an end", "last line without an end"),
    ],
)
def test_a_turn_of_several_lines_is_one_question(chat: Run, actor: Run, lines: str, question: str) -> None:
    model = actor("x")
    assert chat(lines).code == 0
    assert model.seen == [[question]]


@pytest.mark.parametrize(
    ("lines", "code", "line"),
    [
        (b'"""one\ntwo\n', 2, 'a block that """ opened has no end'),
        (b"\xff\n", 2, "line 1 of stdin is not UTF-8 text"),
        (b"\n" + b"a" * 1_000_001 + b"\n", 2, "line 2 of stdin is longer than 1000000 bytes"),
        (b"/dance\n", 2, f"unknown command /dance (known: {', '.join(f'/{name}' for name in COMMANDS)})"),
        (b"/file nothing.py\n", 3, "no file nothing.py"),
        (b"/file -x\n", 3, "no file -x"),
        (b"/undo\n", 2, "there is no turn to take back"),
        (b"/retry\n", 2, "there is no question yet to ask again"),
        (b"/save\n", 2, "something is missing (/save PATH)"),
        (b"/load\n", 2, "something is missing (/load NAME)"),
        (b"/load tea\n", 3, "no conversation is called 'tea'"),
        (b"/list\n", 3, "there is no conversation yet"),
        (b"/save /\n", 2, "/ exists already (name another file)"),
        (b"/save nothing/x.md\n", 2, "nothing/x.md cannot be written: No such file or directory"),
        (b"/save \0\n", 2, "\\x00 cannot be written: embedded null byte"),
    ],
)
def test_the_first_error_ends_a_piped_chat_with_its_exit_code(
    chat: Run, actor: Run, lines: bytes, code: int, line: str
) -> None:
    model = actor("x")
    ran = chat(lines + b"never asked\n")
    assert (ran.code, ran.out, ran.err) == (code, "", f"error: {line}\n")
    assert model.requests == []


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (("--continue",), 3, "there is no conversation yet to go on with"),
        (("--conversation", "tea"), 3, "no conversation is called 'tea'"),
        (("--continue", "--conversation", "tea"), 2, "--continue and --conversation name two conversations (give one"),
        (("--file", "-"), 2, "stdin holds the turns of the chat (name a file)"),
        (("--file", "nothing.py"), 3, "no file nothing.py"),
    ],
)
def test_wrong_options_are_one_line(chat: Run, actor: Run, arguments: tuple[str, ...], code: int, line: str) -> None:
    actor()
    ran = chat("hi\n", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"error: {line}")
    assert ran.err.count("\n") == 1


def test_files_go_along_with_the_next_question_only(chat: Run, actor: Run, tmp_path: Path) -> None:
    model = actor("x", "y")
    (tmp_path / "a b.py").write_text("x = 1\n")
    (tmp_path / "b.md").write_text("``` \n")
    ran = chat("/file b.md\n/file\nWhy?\nSo?\n/file\n", "--file", "a b.py")
    question = "a b.py:\n```\nx = 1\n```\n\nb.md:\n````\n``` \n````\n\nWhy?"
    assert model.seen == [[question], [question, "x", "So?"]]
    assert ran.err.splitlines()[1:] == [
        "b.md (5 characters) goes along with the next question",
        "attached: a b.py, b.md",
        "attached: nothing",
    ]


def test_attached_files_can_be_taken_back_and_stay_small(chat: Run, actor: Run, tmp_path: Path) -> None:
    model = actor("x")
    (tmp_path / "half.txt").write_text("a" * 600_000)
    assert chat("/file half.txt\n/file -\nWhy?\n").code == 0
    assert model.seen == [["Why?"]]
    ran = chat("/file half.txt\n/file half.txt\n")
    assert ran.err.endswith("error: the files have 1200000 bytes together, at most 1000000 may go along\n")


def test_the_system_message_can_be_set_shown_and_removed(chat: Run, actor: Run) -> None:
    model = actor("x", "y")
    ran = chat("/system Be  brief.\na\n/system\n/system -\nb\n")
    assert model.seen == [["Be  brief.", "a"], ["a", "x", "b"]]
    assert ran.err.splitlines() == ["system message: Be  brief."] * 2 + ["system message: none"]


def test_undo_takes_the_last_turn_back(chat: Run, actor: Run, folder: Path) -> None:
    model = actor("x", "y", "z")
    ran = chat("a\nb\n/undo\nc\n/save out.md\n")
    assert model.seen[-1] == ["a", "x", "c"]
    assert ran.err == "taken back: b\nwritten to out.md\n"
    assert [turn.question for turn in turns_of(newest(folder))] == ["a", "c"]


def test_retry_asks_again_with_other_random_choices_and_replaces_the_answer(
    chat: Run, actor: Run, folder: Path, tmp_path: Path
) -> None:
    model = actor("x", "y", "z", "new")
    (tmp_path / "a.py").write_text("1")
    chat("/file a.py\na\n/retry\n/retry\nb\n", "--temperature", "0.5")
    assert [request.first_candidate for request in model.requests] == [0, 1, 2, 0]
    assert model.seen[0] == model.seen[1] == model.seen[2]
    assert [(turn.question, turn.answer) for turn in turns_of(newest(folder))] == [("a", "z"), ("b", "new")]


def test_retry_without_temperature_says_that_it_may_be_in_vain(chat: Run, actor: Run) -> None:
    actor("x", "x")
    assert chat("a\n/retry\n").err.startswith("the same answer may come again: the temperature is 0")


def test_save_writes_what_people_can_read_and_overwrites_nothing(chat: Run, actor: Run, tmp_path: Path) -> None:
    actor("One.\n", Finished(0, "length", Usage(1, 1)))
    (tmp_path / "a.py").write_text("x = 1\n")
    ran = chat("/save early.md\n/file a.py\na\nb\n/save out.md\n/save out.md\n", "--system", "Be brief.")
    assert ran.err.endswith("cut at max tokens\nwritten to out.md\nerror: out.md exists already (name another file)\n")
    assert (tmp_path / "early.md").read_text() == "# Conversation\n\n## System\n\nBe brief.\n"
    title, _, rest = (tmp_path / "out.md").read_text().partition("\n")
    assert title.endswith("Z-a")
    assert rest == (
        "\n## System\n\nBe brief.\n\n## Question\n\na.py:\n```\nx = 1\n```\n\na\n\n## actor\n\nOne.\n\n"
        "## Question\n\nb\n\n## actor (length)\n\nPartial\n"
    )


def test_load_goes_on_with_another_conversation_and_list_names_them(chat: Run, actor: Run, folder: Path) -> None:
    model = actor("1", "2", "3", "4")
    chat("tea?\n")
    ran = chat(f"coffee {'and ' * 40}milk?\n/load tea\nmore\n/load tea\n/list\n")
    first, second = [row.name for row in summaries(folder)]
    assert model.seen[-1] == ["tea?", "1", "more"]
    assert ran.err.splitlines() == [
        f"going on with {first}: 1 turn, the last question: tea?",
        f"going on with {first}: 2 turns, the last question: more",
        f"{first:{len(second)}}  2  tea?",
        f"{second}  1  coffee and and and and and and and and and and and and an...",
    ]


def test_a_chat_goes_on_where_it_ended_or_where_it_is_told_to(chat: Run, actor: Run, folder: Path) -> None:
    model = actor("1", "2", "3", "4")
    chat("tea\n", "--system", "Be brief.")
    chat("coffee\n")
    ran = chat("a\n", "--continue")
    assert model.seen[-1] == ["coffee", "2", "a"]
    assert ran.err.startswith("going on with ")
    chat("b\n", "--conversation", "tea", "--system", "Be long.")
    assert model.seen[-1] == ["Be long.", "tea", "1", "b"]
    assert [row.num_turns for row in summaries(folder)] == [2, 2]


def test_a_torn_last_line_is_told_and_left_out(chat: Run, actor: Run, folder: Path) -> None:
    model = actor("1", "2", "3")
    chat("a\nb\n")
    path = newest(folder)
    os.truncate(path, path.stat().st_size - 4)
    assert chat("c\n", "--continue").err.startswith(f"the last line of {path.name} was cut off and is left out\n")
    assert model.seen[-1] == ["a", "1", "c"]


def test_a_conversation_that_is_in_use_elsewhere_is_refused(chat: Run, actor: Run, folder: Path) -> None:
    actor("1")
    chat("a\n")
    with Conversation.resume(newest(folder)) as conversation:
        ran = chat("b\n", "--continue")
        assert ran.err.startswith(f"error: another process is in the conversation {conversation.name}")
    assert ran.code == 1


def test_model_and_tokens_tell_about_the_chat(chat: Run, actor: Run) -> None:
    actor("x")
    ran = chat("/model\na\n/tokens\n", "--context-tokens", "4096")
    assert ran.err.splitlines() == [
        f"actor (sha256 {'cd' * 32}, context 4096)",
        "the next prompt has about 24 tokens before its question, the context 4096; paid in this chat: 10 + 1",
    ]


def test_a_server_does_not_tell_its_hash_and_context(chat: Run) -> None:
    with serve(answers("ok")) as server:
        ran = chat("/model\n/tokens\n", "--remote", server.url, "--model", "far")
    assert ran.err.splitlines() == [
        "far (sha256 unknown, context unknown)",
        "the next prompt has about 8 tokens before its question, the context an unknown number; "
        "paid in this chat: 0 + 0",
    ]


def test_another_model_takes_over_with_the_whole_conversation(chat: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    models = {None: Actor("1"), "smollm2-135m": Actor("2")}
    monkeypatch.setattr(stack, "generator_for", lambda settings, name=None: models[name])
    assert chat("a\n/model smollm2-135m\nb\n").code == 0
    assert models["smollm2-135m"].seen == [["a", "1", "b"]]


def test_the_oldest_turns_are_left_out_with_one_line(chat: Run, actor: Run) -> None:
    model = actor("x" * 300, "y" * 300, "z")
    ran = chat("a\nb\nc\n/tokens\n", "--context-tokens", "200", "--max-tokens", "20")
    assert model.seen[-1] == ["b", "y" * 300, "c"]
    assert ran.err.startswith("the oldest 1 turn is left out of what the model reads: the conversation outgrew a ")
    assert "about 141 tokens before its question without the oldest 1 turns" in ran.err


def test_a_server_that_refuses_a_long_conversation_gets_a_shorter_one(chat: Run, folder: Path) -> None:
    too_long = refuses(400, b'{"error": {"message": "the request exceeds the available context size"}}')
    with serve(answers("1"), answers("2"), too_long, answers("3")) as server:
        ran = chat("a\nb\nc\n", "--remote", server.url)
    assert (ran.code, ran.out) == (0, "1\n2\n3\n")
    assert "the oldest 1 turn is left out of what the model reads: the conversation outgrew the model's" in ran.err
    assert [message["content"] for message in server.bodies[-1]["messages"]] == ["b", "2", "c"]
    assert [turn.question for turn in turns_of(newest(folder))] == ["a", "b", "c"]


def test_ctrl_c_in_a_piped_chat_keeps_the_part_and_ends_it(chat: Run, actor: Run, folder: Path) -> None:
    actor("1", KeyboardInterrupt())
    ran = chat("a\nb\nc\n", "--json")
    (name,) = [row.name for row in summaries(folder)]
    assert (ran.code, len(ran.out.splitlines())) == (130, 2)
    assert ran.err.splitlines() == [
        "stopped; what was written is kept",
        f"interrupted; the conversation is kept as {name}",
    ]
    assert [(turn.answer, turn.reason) for turn in turns_of(newest(folder))] == [
        ("1", "stop"),
        ("Partial", "cancelled"),
    ]


def test_ctrl_c_while_the_model_loads_is_one_line(chat: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(settings: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stack, "generator_for", load)
    ran = chat("a\n")
    assert (ran.code, ran.err) == (130, "interrupted; nothing was said\n")


def test_a_disk_that_fills_up_does_not_end_the_conversation(chat: Run, actor: Run, folder: Path, home: Path) -> None:
    home.mkdir()
    folder.touch()
    model = actor("1", "2")
    ran = chat("a\nb\n")
    assert (ran.code, ran.out) == (0, "1\n2\n")
    assert ran.err.startswith("from here on this conversation is not kept: cannot write the conversation ")
    assert ran.err.count("\n") == 1
    assert model.seen[-1] == ["a", "1", "b"]


def test_with_a_tokenizer_the_tokens_are_counted(chat: Run, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    model = Exact("x" * 50, "y" * 50, Finished(0, "length", Usage(53, 2)), KeyboardInterrupt())
    monkeypatch.setattr(stack, "generator_for", lambda settings: model)
    ran = chat("a\nb\n/tokens\nc\nd\n", "--context-tokens", "110", "--max-tokens", "20")
    lines = ran.err.splitlines()
    assert lines[0].startswith("the next prompt has 51 tokens before its question without the oldest 1 turns, the ")
    assert lines[1].endswith("is left out of what the model reads: the conversation outgrew a context of 110 tokens")
    assert lines[2] == "cut at the end of the context"
    assert [len(contents) for contents in model.seen] == [1, 3, 3, 5]
    assert turns_of(newest(folder))[-1].usage == Usage(60, 2)
