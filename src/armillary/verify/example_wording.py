"""Say whether the words around an example leave it as it looks. In doubt they do not; reads no values.

All look-behind and look-ahead is bounded, so that hostile text costs no more time than plain text.
"""

from __future__ import annotations

import re

_GAP = r"\s{0,80}"
_SPACE = r"\s{1,80}"
_BLANK = r"[^\S\n]{0,80}"
WINDOW_CHARS = 400
# How many of one kind of example are looked at in a text.
MAX_CALLS = 100

# How people write that a call has a result: one list for prose and for task files.
ARROWS = r"==+>|=>|--?>|➞|→|⇒|⟹|==|="
VERBS = (
    rf"(?:(?:should|must|will|would){_SPACE}(?:return|give|yield|output|equal|evaluate{_SPACE}to|be)"
    rf"|(?:return|give|yield|output|equal)s?|evaluates{_SPACE}to|is)(?:{_SPACE}equal{_SPACE}to)?\b"
)
CONNECTOR = re.compile(
    rf"`?{_GAP}(?:,{_GAP})?(?:{ARROWS}"
    rf"|\#{_GAP}(?:(?:==*>|->|➞|→|==|returns?|should{_SPACE}return){_GAP})?"
    rf"|(?:(?:it|this|the{_SPACE}(?:output|result|function|answer)){_SPACE})?{VERBS})"
    rf"{_GAP}:?{_GAP}`?"
)

# Words that call an example wrong, wherever they stand near it.
_VERDICT = (
    r"\b(?:wrong\w*|incorrect\w*|mistak\w+|bug\w*|errone\w+|fail\w*|avoid\w*|misconceptions?|pitfalls?|bad|broken"
    r"|naive\w*|untrue|never|(?:counter|non)[- ]?examples?|instead\s+of|rather\s+than|no\s+longer"
    r"|(?:not|cannot|\w+n['’]t)\s+(?:\w+\s+)?(?:hold|true|valid|correct|right|work|the\s+case|equal|return|happen"
    r"|okay|ok|expected|be|do))\b|[❌✗✘]"
)
# Words that leave open, within the same clause, whether it holds.
_DOUBT = (
    r"\b(?:not|cannot|\w+n['’]t|no(?!\.)|nor|neither|without|unlike|except|unless|if|when|whenever|until|suppos\w*"
    r"|assum\w*|imagin\w*|pretend|provided|let|whether|maybe|perhaps|might|may|could|such\s+that|false\s+that|myth"
    r"|otherwise|else|previous\w*|formerly|currently|used\s+to|invalid|illegal|contrary|hypothe\w*|hardly|doubt\w*"
    r"|error)\b"
)
_IS_WRONG = re.compile(_VERDICT, re.IGNORECASE)
_IS_DOUBTED = re.compile(f"{_VERDICT}|{_DOUBT}", re.IGNORECASE)

# What may not stand directly before a call: it would be a part of something larger.
_PART_OF_LARGER = re.compile(
    r"(?:[-+*/%=<>!~&|^@\[{\"'\\]|\w\(|\b(?:not|def|than|times|plus|minus|twice|thrice|half|by|in|or|either|nor|to"
    r"|(?<!\bresult\s)(?<!\bvalue\s)(?<!\boutput\s)(?<!\banswer\s)(?<!\bcall\s)(?<!\bcase\s)of))$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s*(?:[-*+•>]|\d+[.)])\s+`?$")
_SENTENCE_END = re.compile(r"(?<!\be\.g)(?<!\bi\.e)[.!?;](?=\s)")
_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
# What a line holds in front of an example that has the line for itself, and how the line above would lead into it.
_OWN_LINE = re.compile(r"(?:\W|\d|\bassert\b|\bfor\b)*")
_LEADS_ON = re.compile(
    r"(?:,|\b(?:that|is|are|be|if|when|unless|whether|while|until|suppose|assume|imagine|pretend|let|say|expect|think"
    r"|believe|claim|get|have|like|not|no|of|by|than|as|and|or|nor|but|where|with|without|for|to|in|the|a))\s*$",
    re.IGNORECASE,
)
# A line that begins with a small letter goes on with the sentence, unless it is code.
_GOES_ON = rf"{_BLANK}(?!(?:assert|for|and|but|while|whereas|because|since)\b)[a-z]+(?:['’]t)?(?!\w|{_BLANK}[=(.:\[])"
_CLAUSE_END = re.compile(rf"[.!?](?=\s|\Z)|\n(?!{_GOES_ON})")

_CLOSING = re.compile(rf"`?\){{0,3}}`?(?:,?{_SPACE}always\b)?")
_REMARK = re.compile(
    rf"{_BLANK}\((?:because|since|the|it|they|this|that|there|here|all|both|every|see|note)\b[^()\n]{{0,200}}\)"
)
_LINE_END = re.compile(rf"{_BLANK}(?:\n|\Z)|,{_BLANK}(?:\Z|\n{_BLANK}(?:\n|\Z))")
_CONTINUED = re.compile(rf"{_BLANK}\n{_GOES_ON}")
_COMMENT = re.compile(rf"{_BLANK}\#")
_STOP = re.compile(r"[.;]\){0,3}(?=\s|\Z)")
_REASON = re.compile(rf",?{_SPACE}(?:because|since|as{_SPACE}(?:it|they|there|expected|described))\b")
_NEXT_CALL = re.compile(rf",?{_SPACE}(?:(?:and|but|while|whereas){_SPACE})?`?")


def stands_free(text: str, start: int) -> bool:
    """Whether what stands at ``start`` is no part of a larger expression that ends there."""
    line = text[max(0, start - WINDOW_CHARS) : start].rpartition("\n")[2].replace(">>>", "", 1)
    return _BULLET.fullmatch(line) is not None or _PART_OF_LARGER.search(line.rstrip()) is None


def is_disputed(text: str, start: int, beginning: re.Pattern[str]) -> bool:
    """Whether the clause or the heading before ``start`` calls what follows wrong, or leaves it open.

    ``beginning`` is how an example begins; a line with an earlier one is no part of the clause.
    """
    before = text[max(0, start - WINDOW_CHARS) : start]
    clause = before[max((end.end() for end in _SENTENCE_END.finditer(before)), default=0) :]
    lines = clause.split("\n")
    earlier = [index for index, line in enumerate(lines[:-1]) if beginning.search(line) or line.rstrip().endswith(":")]
    clause = "\n".join(lines[earlier[-1] + 1 :] if earlier else lines)
    above, _, line = _PARAGRAPH_END.split(clause)[-1].rpartition("\n")
    is_alone = _OWN_LINE.fullmatch(line) is not None and _LEADS_ON.search(above) is None
    is_doubted = _IS_DOUBTED.search(line if is_alone else f"{above}\n{line}")
    return bool(is_doubted or _IS_WRONG.search(clause) or _IS_WRONG.search(_heading(before)))


def is_called_wrong(text: str, start: int) -> bool:
    """Whether the heading above ``start`` calls what follows wrong."""
    return _IS_WRONG.search(_heading(text[max(0, start - WINDOW_CHARS) : start])) is not None


def leaves_open(words: str) -> bool:
    """Whether words call something wrong, or may make it depend on a condition."""
    return _IS_DOUBTED.search(words) is not None


def is_complete(text: str, end: int, beginning: re.Pattern[str]) -> bool:
    """Whether a result that ends at ``end`` ends a statement too, and nothing behind takes it back.

    ``beginning`` is how the next example may begin.
    """
    remark = _REMARK.match(text, end)
    if remark is not None and _IS_WRONG.search(remark.group()):
        return False
    closing = _CLOSING.match(text, end if remark is None else remark.end())
    assert closing is not None
    position = closing.end()
    if _LINE_END.match(text, position):
        return _CONTINUED.match(text, position) is None
    line = text[position : position + WINDOW_CHARS].partition("\n")[0]
    if _COMMENT.match(text, position) or _STOP.match(text, position):
        return _IS_WRONG.search(line) is None
    clause = _CLAUSE_END.split(text[position : position + WINDOW_CHARS], maxsplit=1)[0]
    joint = _NEXT_CALL.match(text, position)
    if _REASON.match(text, position) or (joint is not None and beginning.match(text, joint.end())):
        return _IS_WRONG.search(clause) is None
    return ")" in closing.group() and clause[:1].isspace() and _IS_DOUBTED.search(clause) is None


def _heading(before: str) -> str:
    """The last line of ``before`` that announces what follows: it ends with a colon or begins with ``#``."""
    is_gap = False
    for line in map(str.strip, reversed(before.split("\n")[:-1])):
        if line.endswith(":") or line.startswith("#"):
            return _SENTENCE_END.split(line)[-1]
        if is_gap and line:
            return ""
        is_gap = not line
    return ""
