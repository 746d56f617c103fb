"""The tokenizer that a GGUF file carries: byte-level BPE with the file's own words, merges and chat template.

Text is never normalised, so what is encoded decodes to the same bytes. Knows no other kind of vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tokenizers import Regex
from tokenizers import Tokenizer as BpeTokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Split
from tokenizers.pre_tokenizers import Sequence as InOrder

from armillary.core.errors import ModelFileError, TemplateError, UsageError
from armillary.core.messages import Message
from armillary.models.chat_template import ChatTemplate
from armillary.models.gguf import GgufFile, read_numbers, read_value
from armillary.models.pre_tokenizers import find_pre_tokenizer
from armillary.models.spelling import BYTE_OF_LETTER, LETTERS, REPLACEMENT, Guard, lacking_bytes, missing_as_replacement

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5
END_NAMES = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>", "</s>"
)  # fmt: skip


class GgufTokenizer:
    """Implements ``core.protocols.Tokenizer``.

    Tokens that the file marks as its user's own words, such as ``<tool_call>``, are always recognised in text; control
    tokens only where allowed. A character whose bytes the vocabulary lacks is encoded as U+FFFD.

    Raises:
        ModelFileError: the vocabulary is of another kind, is incomplete, or contradicts itself.
    """

    def __init__(self, gguf: GgufFile) -> None:
        kind = gguf.require("tokenizer.ggml.model", str)
        if kind != "gpt2":
            raise ModelFileError(f"{gguf.path}: unknown vocabulary {kind!r}", hint="known: gpt2 (byte-level BPE)")
        self._words: list[str] = gguf.require("tokenizer.ggml.tokens", list)
        vocabulary = _Vocabulary(gguf, self._words)
        self._silent = frozenset(vocabulary.control.values()) | vocabulary.unused
        self._literal = vocabulary.literal
        self._bpe = _build_bpe(gguf, vocabulary.normal)
        self._always = _Splitter(vocabulary.user_defined)
        # A control token of one letter could not be told from text, so it is never read from any.
        spelled = {word: token_id for word, token_id in vocabulary.control.items() if len(word) > 1}
        self._everything = _Splitter(vocabulary.user_defined | spelled)
        self._guard = Guard(tuple(spelled))
        self._missing = lacking_bytes(vocabulary.normal)
        if set(REPLACEMENT.encode()).intersection(self._missing):
            raise ModelFileError(f"{gguf.path}: the vocabulary lacks the bytes of U+FFFD")
        self._end_ids = vocabulary.end_ids()
        self._bos_id = vocabulary.bos_id if read_value(gguf.metadata, "tokenizer.ggml.add_bos_token", bool) else None
        self._template_source = read_value(gguf.metadata, "tokenizer.chat_template", str)
        named = {"bos_token": vocabulary.bos_id, "eos_token": vocabulary.named_ends[0]}
        self._constants = {name: self._words[token_id] for name, token_id in named.items() if token_id is not None}
        self._template: ChatTemplate | None = None

    @property
    def vocab_size(self) -> int:
        """Number of token ids."""
        return len(self._words)

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end an answer."""
        return self._end_ids

    def encode(self, text: str, *, allow_special: bool = False) -> list[int]:
        """Token ids of ``text``; spelled-out control tokens count as plain text unless allowed.

        Raises:
            UsageError: the text holds half a surrogate pair, which is no character.
        """
        return self._encode_pieces(self._everything if allow_special else self._always, text, marker="")

    def decode_bytes(self, token_ids: Sequence[int]) -> bytes:
        """The exact bytes of the tokens; control tokens and unused ids give none.

        Raises:
            UsageError: an id is outside the vocabulary.
        """
        return b"".join(self._bytes_of(token_id) for token_id in token_ids)

    def encode_chat(self, messages: Sequence[Message]) -> list[int]:
        """Render the model's own chat template, ready for the assistant's answer, and encode it.

        Control tokens are recognised only where the template wrote them: inside roles and contents they are broken by
        a marker before rendering, which is taken out again before encoding. Everything else is encoded as one text.

        Raises:
            TemplateError: the file has no template, or the template fails or asks for too much.
        """
        fields = [text for message in messages for text in (message.role, message.content)]
        template = self._chat_template()
        marker = self._guard.marker(template.source, *fields)
        guarded = [self._guard.protect(text, marker) for text in fields]
        turns = [{"role": role, "content": content} for role, content in zip(guarded[::2], guarded[1::2], strict=True)]
        ids = self._encode_pieces(self._everything, template.render(turns), marker)
        if self._bos_id is not None and ids[:1] != [self._bos_id]:
            return [self._bos_id, *ids]
        return ids

    def _encode_pieces(self, splitter: _Splitter, text: str, marker: str) -> list[int]:
        ids: list[int] = []
        for piece, token_id in splitter.split(text):
            plain = piece.replace(marker, "") if marker else piece
            if token_id is not None:
                ids.append(token_id)
            elif plain:
                ids += self._encode_plain(plain)
        return ids

    def _encode_plain(self, text: str) -> list[int]:
        try:
            whole = missing_as_replacement(text, self._missing)
        except UnicodeEncodeError as error:
            raise UsageError(f"the text holds half a surrogate pair at character {error.start}") from error
        ids: list[int] = self._bpe.encode(whole, add_special_tokens=False).ids
        return ids

    def _bytes_of(self, token_id: int) -> bytes:
        if not 0 <= token_id < len(self._words):
            raise UsageError(f"token id {token_id} is outside the vocabulary of {len(self._words)}")
        if token_id in self._silent:
            return b""
        word = self._words[token_id]
        return word.encode() if token_id in self._literal else word.translate(BYTE_OF_LETTER).encode("latin-1")

    def _chat_template(self) -> ChatTemplate:
        if self._template is None:
            if self._template_source is None:
                raise TemplateError("the model file has no chat template", hint="use an instruction-tuned model")
            self._template = ChatTemplate(self._template_source, self._constants)
        return self._template


class _Vocabulary:
    """The file's words by what they are for; the ids that end or begin a text are control tokens whatever it says."""

    def __init__(self, gguf: GgufFile, words: list[str]) -> None:
        kinds = read_numbers(gguf.metadata, "tokenizer.ggml.token_type")
        types = [NORMAL] * len(words) if kinds is None else kinds.tolist()
        if len(types) != len(words) or len(set(words)) != len(words):
            raise ModelFileError(f"{gguf.path}: {len(words)} tokens, {len(set(words))} distinct, {len(types)} types")
        self.named_ends = [self._id(gguf, key, len(words)) for key in ("eos_token_id", "eot_token_id", "eom_token_id")]
        self.bos_id = self._id(gguf, "bos_token_id", len(words))
        forced = {*self.named_ends, self.bos_id}
        self.normal: dict[str, int] = {}
        self.control: dict[str, int] = {}
        self.user_defined: dict[str, int] = {}
        unused = []
        for token_id, (word, kind) in enumerate(zip(words, types, strict=True)):
            if kind == UNUSED or not word:
                unused.append(token_id)
            elif (
                token_id in forced or kind not in (NORMAL, USER_DEFINED) or (kind == USER_DEFINED and word in END_NAMES)
            ):
                self.control[word] = token_id
            else:
                (self.normal if kind == NORMAL else self.user_defined)[word] = token_id
        self.unused = frozenset(unused)
        foreign = [token_id for word, token_id in self.normal.items() if not LETTERS.issuperset(word)]
        self.literal = frozenset([*self.user_defined.values(), *foreign])

    @staticmethod
    def _id(gguf: GgufFile, name: str, limit: int) -> int | None:
        token_id = read_value(gguf.metadata, f"tokenizer.ggml.{name}", int)
        if token_id is not None and not 0 <= token_id < limit:
            raise ModelFileError(f"{gguf.path}: {name} is {token_id!r}, the vocabulary has {limit} tokens")
        return token_id

    def end_ids(self) -> frozenset[int]:
        named = {token_id for token_id in self.named_ends if token_id is not None}
        return frozenset(named | {self.control[word] for word in END_NAMES if word in self.control})


def _build_bpe(gguf: GgufFile, normal: dict[str, int]) -> BpeTokenizer:
    name = read_value(gguf.metadata, "tokenizer.ggml.pre", str)
    rule = find_pre_tokenizer("default" if name is None else name)
    merges: list[tuple[str, str]] = []
    for line in gguf.require("tokenizer.ggml.merges", list):
        left, _, right = line.partition(" ")
        if left not in normal or right not in normal or left + right not in normal:
            raise ModelFileError(f"{gguf.path}: the merge {line!r} names a word that is not in the vocabulary")
        merges.append((left, right))
    bpe = BpeTokenizer(BPE(normal, merges, ignore_merges=rule.whole_words_first))
    cuts: list[Any] = [Split(Regex(pattern), "isolated") for pattern in rule.patterns]
    bpe.pre_tokenizer = InOrder([*cuts, ByteLevel(add_prefix_space=False, use_regex=False)])
    return bpe


class _Splitter:
    """Cuts text at given words; of two that begin at the same place, the longer."""

    def __init__(self, words: dict[str, int]) -> None:
        self._words = words
        longest_first = sorted(words, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if words else None

    def split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Yield pieces in order, with the id of those that are given words."""
        position = 0
        for found in self._pattern.finditer(text) if self._pattern else ():
            yield text[position : found.start()], None
            yield found.group(), self._words[found.group()]
            position = found.end()
        yield text[position:], None
