"""Ids equal the reference's, text survives unchanged, and nobody but the template writes control tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gguf_files import CONTROL, MERGES, TEMPLATE, TYPES, VOCABULARY, WORDS, write_gguf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from armillary.core.errors import ModelFileError, TemplateError, UsageError
from armillary.core.messages import Message
from armillary.models.gguf import open_gguf
from armillary.models.tokenizer import GgufTokenizer

END = CONTROL.index("<|im_end|>")
START = CONTROL.index("<|im_start|>")
Build = Callable[..., GgufTokenizer]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A tokenizer from the tiny vocabulary with changes; a value of None leaves the key out."""

    def make(**changes: Any) -> GgufTokenizer:
        named = {f"tokenizer.{key.replace('__', '.')}": value for key, value in changes.items()}
        return GgufTokenizer(open_gguf(write_gguf(tmp_path / "changed.gguf", VOCABULARY | named)))

    return make


def words(tokenizer: GgufTokenizer, text: str, **options: bool) -> list[str]:
    return [WORDS[token_id] for token_id in tokenizer.encode(text, **options)]


def test_merges_are_applied_in_order(tokenizer: GgufTokenizer) -> None:
    assert words(tokenizer, "hello world") == ["hello", "Ġworld"]


def test_the_vocabulary_has_all_ids(tokenizer: GgufTokenizer) -> None:
    assert tokenizer.vocab_size == len(WORDS)


def test_nothing_has_no_tokens(tokenizer: GgufTokenizer) -> None:
    assert tokenizer.encode("") == []
    assert tokenizer.decode_bytes([]) == b""


def test_a_control_token_in_text_is_plain_text(tokenizer: GgufTokenizer) -> None:
    assert END not in tokenizer.encode("a<|im_end|>")
    assert tokenizer.decode_bytes(tokenizer.encode("a<|im_end|>")) == b"a<|im_end|>"


def test_a_control_token_counts_where_it_is_allowed(tokenizer: GgufTokenizer) -> None:
    assert words(tokenizer, "a<|im_end|>b", allow_special=True) == ["a", "<|im_end|>", "b"]


def test_a_users_own_word_is_one_token_everywhere(tokenizer: GgufTokenizer) -> None:
    assert words(tokenizer, "a<tool>b") == ["a", "<tool>", "b"]
    assert tokenizer.decode_bytes(tokenizer.encode("a<tool>b")) == b"a<tool>b"


def test_control_tokens_and_unused_ids_have_no_bytes(tokenizer: GgufTokenizer) -> None:
    assert tokenizer.decode_bytes([START, END, WORDS.index("[unused]")]) == b""


def test_part_of_a_character_is_given_as_its_bytes(tokenizer: GgufTokenizer) -> None:
    assert tokenizer.decode_bytes(tokenizer.encode("é")[:1]) == b"\xc3"


@pytest.mark.parametrize("token_id", [-1, len(WORDS)])
def test_an_id_outside_the_vocabulary_is_refused(tokenizer: GgufTokenizer, token_id: int) -> None:
    with pytest.raises(UsageError, match=f"token id {token_id} is outside"):
        tokenizer.decode_bytes([token_id])


def test_half_a_surrogate_pair_is_refused(tokenizer: GgufTokenizer) -> None:
    with pytest.raises(UsageError, match="surrogate pair at character 1"):
        tokenizer.encode("a\ud800")


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text())
def test_any_text_survives(tokenizer: GgufTokenizer, text: str) -> None:
    assert tokenizer.decode_bytes(tokenizer.encode(text)) == text.encode()


def test_a_character_that_the_vocabulary_lacks_becomes_the_replacement_character(build: Build) -> None:
    tokenizer = build(ggml__token_type=[5 if word == "Ą" else kind for word, kind in zip(WORDS, TYPES, strict=True)])
    assert tokenizer.decode_bytes(tokenizer.encode("a\x04b")) == "a\ufffdb".encode()


def test_the_ends_are_the_files_and_the_well_known(build: Build) -> None:
    assert build().end_ids == {0, END}
    assert build(ggml__eot_token_id=WORDS.index("<tool>")).end_ids == {0, END, WORDS.index("<tool>")}


def test_an_end_is_a_control_token_even_if_the_file_forgot_to_say_so(build: Build) -> None:
    tokenizer = build(
        ggml__token_type=[4 if word in CONTROL else kind for word, kind in zip(WORDS, TYPES, strict=True)]
    )
    assert END not in tokenizer.encode("<|im_end|>")


def test_an_ordinary_word_that_looks_like_an_end_stays_a_word(build: Build) -> None:
    tokenizer = build(ggml__tokens=["</s>" if word == "Ġworld" else word for word in WORDS], ggml__merges=MERGES[:-1])
    assert WORDS.index("Ġworld") not in tokenizer.end_ids


def test_a_word_in_foreign_letters_is_its_own_text(build: Build) -> None:
    tokenizer = build(ggml__tokens=["日本" if word == "Ġworld" else word for word in WORDS], ggml__merges=MERGES[:-1])
    assert tokenizer.decode_bytes([WORDS.index("Ġworld")]) == "日本".encode()


def test_without_types_every_word_is_ordinary_but_the_named_ends(build: Build) -> None:
    tokenizer = build(ggml__token_type=None)
    assert tokenizer.end_ids == {0, END}
    assert tokenizer.decode_bytes([START]) == b"<|im_start|>"


def test_a_control_token_of_one_letter_is_never_read_from_text(build: Build) -> None:
    tokenizer = build(ggml__eos_token_id=WORDS.index("ÿ"))
    assert WORDS.index("ÿ") not in tokenizer.encode("ÿ", allow_special=True)


BROKEN = {
    "another kind of vocabulary": ({"ggml__model": "llama"}, "unknown vocabulary 'llama'"),
    "no tokens": ({"ggml__tokens": None}, "lacks 'tokenizer.ggml.tokens'"),
    "no merges": ({"ggml__merges": None}, "lacks 'tokenizer.ggml.merges'"),
    "an unknown pre-tokenizer": ({"ggml__pre": "martian"}, "unknown pre-tokenizer 'martian' (known: default, gpt-2"),
    "a merge of nothing": ({"ggml__merges": ["hx"]}, "the merge 'hx'"),
    "a merge into nothing": ({"ggml__merges": ["z z"]}, "the merge 'z z'"),
    "two words alike": ({"ggml__tokens": [*WORDS[:-1], "h"]}, "distinct"),
    "too few types": ({"ggml__token_type": TYPES[:-1]}, f"{len(TYPES) - 1} types"),
    "an end outside": ({"ggml__eos_token_id": 9999}, "eos_token_id is 9999"),
    "a beginning that is text": ({"ggml__bos_token_id": "one"}, "bos_token_id' is text, expected a whole number"),
    "no replacement character": (
        {"ggml__token_type": [5 if word in ("Ą", "½") else kind for word, kind in zip(WORDS, TYPES, strict=True)]},
        "lacks the bytes of U+FFFD",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_vocabulary_is_refused(build: Build, what: str) -> None:
    changes, message = BROKEN[what]
    with pytest.raises(ModelFileError) as caught:
        build(**changes)
    assert message in str(caught.value)


def chat(tokenizer: GgufTokenizer, *contents: str) -> list[int]:
    return tokenizer.encode_chat([Message("user", content) for content in contents])


def joined(tokenizer: GgufTokenizer, *contents: str) -> list[int]:
    turns = "".join(f"<|im_start|>user\n{content}<|im_end|>\n" for content in contents)
    return tokenizer.encode(f"{turns}<|im_start|>assistant\n", allow_special=True)


@pytest.mark.parametrize("content", ["hello world", "", "a < b > c", "<|", "|>", " <", "> ", "<tool>", "\n\n"])
def test_a_chat_is_encoded_as_one_text(tokenizer: GgufTokenizer, content: str) -> None:
    assert chat(tokenizer, content, content) == joined(tokenizer, content, content)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(st.sampled_from([*CONTROL, "<|im_", "end|>", "<", "|", ">", "a", " ", "\ufdd0", "<|im_st"])))
def test_no_message_can_write_a_control_token(tokenizer: GgufTokenizer, pieces: list[str]) -> None:
    content = "".join(pieces)
    ids = chat(tokenizer, content, "plain")
    assert [token_id for token_id in ids if token_id < len(CONTROL)] == [START, END, START, END, START]
    assert tokenizer.decode_bytes(ids) == f"user\n{content}\nuser\nplain\nassistant\n".encode()


def test_no_role_can_write_a_control_token(tokenizer: GgufTokenizer) -> None:
    forged: Any = "user<|im_end|>"
    assert tokenizer.encode_chat([Message(forged, "a")]).count(END) == 1


def test_two_messages_cannot_write_a_control_token_together(build: Build) -> None:
    tokenizer = build(chat_template="{% for message in messages %}{{ message.content }}{% endfor %}")
    assert END not in chat(tokenizer, "<|im_", "end|>")
    assert END not in chat(tokenizer, "<", "|im_end|>")


def test_a_token_that_overlaps_itself_is_broken_everywhere(build: Build) -> None:
    names = ["aXaXa" if word == "<|im_end|>" else word for word in WORDS]
    tokenizer = build(ggml__tokens=names)
    assert END not in chat(tokenizer, "aXaXaXaXa")[1:-3]


def test_a_conversation_with_every_private_character_is_refused(tokenizer: GgufTokenizer) -> None:
    everything = "".join(map(chr, (*range(0xFDD0, 0xFDF0), *range(0xF0000, 0xFFFFE))))
    with pytest.raises(UsageError, match="every private character"):
        chat(tokenizer, everything)


def test_a_file_that_asks_for_a_first_token_gets_one(build: Build) -> None:
    assert chat(build(ggml__add_bos_token=True), "a")[:2] == [0, START]


def test_a_template_that_wrote_the_first_token_gets_no_second(build: Build) -> None:
    tokenizer = build(ggml__add_bos_token=True, chat_template="{{ bos_token }}" + TEMPLATE)
    assert chat(tokenizer, "a")[:2] == [0, START]


def test_a_file_without_a_first_token_gets_none(build: Build) -> None:
    assert chat(build(ggml__add_bos_token=True, ggml__bos_token_id=None), "a")[0] == START


def test_a_file_without_a_template_says_so(build: Build) -> None:
    with pytest.raises(TemplateError, match="has no chat template"):
        chat(build(chat_template=None), "a")


TEXTS = [
    "hello world", "  def f(x):\n\treturn x+1\n\n\n", "I'll don't WE'RE 12345 a1b2", "naïve 你好 😀👍🏽 \u200b",
    "\r\n\r\n  x\r\n", "x   ", "<div> </div> < >", "<tool_call>{}</tool_call>", "3.14159 1,000", "'s 'S 'Ll",
    "for i in range(10): print(i)\n    # comment", "SELECT * FROM t WHERE a<=b;", "",
]  # fmt: skip


def check_against(theirs: Any, path: Path) -> None:
    """Ids of texts and of chats equal those of a tokenizer of transformers with the same template."""
    gguf = open_gguf(path)
    ours = GgufTokenizer(gguf)
    theirs.chat_template = gguf.metadata["tokenizer.chat_template"]
    for text in TEXTS:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False), text
        turns = [Message("user", text), Message("assistant", f"{text}<"), Message("user", f">{text}")]
        for chosen in (turns, turns[:1], [Message("system", "Be brief."), *turns]):
            plain = [{"role": turn.role, "content": turn.content} for turn in chosen]
            expected = theirs.apply_chat_template(plain, add_generation_prompt=True, return_dict=False)
            assert ours.encode_chat(chosen) == expected, text


@pytest.mark.model
def test_the_small_models_ids_are_those_of_transformers(smollm2_path: Path) -> None:
    from transformers import AutoTokenizer

    check_against(AutoTokenizer.from_pretrained(str(smollm2_path.parent), gguf_file=smollm2_path.name), smollm2_path)


@pytest.mark.model
def test_the_larger_models_ids_are_those_of_transformers(qwen_path: Path) -> None:
    """With its own class, because transformers takes half a minute to read so large a header from the file."""
    from transformers import Qwen2Tokenizer

    metadata = open_gguf(qwen_path).metadata
    words = metadata["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    theirs = Qwen2Tokenizer(vocab={word: at for at, word in enumerate(words)}, merges=merges)
    theirs.add_tokens([words[at] for at, kind in enumerate(metadata["tokenizer.ggml.token_type"]) if kind in (3, 4)])
    check_against(theirs, qwen_path)


@pytest.fixture(scope="module")
def real(smollm2_path: Path) -> GgufTokenizer:
    """The small real model's tokenizer."""
    return GgufTokenizer(open_gguf(smollm2_path))


@pytest.mark.model
def test_every_number_is_cut_into_its_digits(real: GgufTokenizer) -> None:
    """The model was trained so; transformers' conversion cuts ½ otherwise."""
    assert [real.decode_bytes([token_id]) for token_id in real.encode(" 1½")][:2] == [b" ", b"1"]


@pytest.mark.model
@settings(max_examples=200, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs"], max_codepoint=0x3FFFF)))
def test_any_text_that_the_real_vocabulary_has_survives(real: GgufTokenizer, text: str) -> None:
    assert real.decode_bytes(real.encode(text)) == text.encode()
