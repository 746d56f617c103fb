"""A stranger's template renders what it should, and cannot take files, time or memory."""

from __future__ import annotations

import resource
import time

import pytest
from gguf_files import TEMPLATE

from armillary.core.errors import TemplateError
from armillary.models.chat_template import MAX_SOURCE_CHARS, ChatTemplate

HELLO = [{"role": "user", "content": "hi"}]


def render(source: str, **constants: str) -> str:
    return ChatTemplate(source, constants).render(HELLO)


def test_a_conversation_ends_open_for_the_assistant() -> None:
    assert render(TEMPLATE) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_one_template_renders_many_conversations() -> None:
    template = ChatTemplate("{{ messages[0].content }}", {})
    assert [template.render([{"role": "user", "content": text}]) for text in "ab"] == ["a", "b"]


def test_constants_are_seen() -> None:
    assert render("{{ eos_token }}", eos_token="</s>") == "</s>"


MEANINGS = {
    "{% set x, y = 1, 2 %}{{ x + y }}{{ x < y < 3 }}": "3True",
    "{{ 'a' ~ 1 ~ [2] ~ nothing }}": "a1[2]",
    "{{ 'x' * 3 }}{{ 7 // 2 }}{{ 2 ** 3 }}{{ 5 % 3 }}": "xxx382",
    "{{ [1, 2]|join('-') }}{{ messages|join(',', attribute='role') }}{{ '+'.join(['a', 'b']) }}": "1-2usera+b",
    "{{ 'aba'.replace('a', 'c', 1) }}{{ 'aba'|replace('a', 'c') }}": "cbacbc",
    "{{ 'a\n\nb'|indent(2) }}": "a\n\n  b",
    "{{ 'a\n\nb'|indent('> ', true, true) }}": "> a\n> \n> b",
    "{{ {'k': [1, 'é<']}|tojson }}": '{"k": [1, "é<"]}',
    "{{ [1]|tojson(indent=2) }}": "[\n  1\n]",
    "{{ 5|string|length }}": "1",
    "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{{ loop.last }}{{ loop.length }}{% endfor %}": "a1True1",
    "{% for i in range(5) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% else %}none{% endfor %}": "01",
    "{% for x in [[1, [[2, []]]]] recursive %}{{ x[0] }}{{ loop(x[1]) }}{% endfor %}": "12",
    "{% macro f() %}[{{ caller(1) }}]{% endmacro %}{% call(x) f() %}a{{ x }}{% endcall %}": "[a1]",
    "{% filter upper %}x{% endfilter %}{% set y %}ab{% endset %}{{ y|length }}": "X2",
    "{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}": "3",
    "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|list }}": "['hi']",
    "{{ messages[::-1][0].content[-1] }}{{ ' x '|trim }}{{ ' y '.strip() }}": "ixy",
    "{{ tools is defined }}{{ strftime_now is defined }}": "FalseFalse",
}


@pytest.mark.parametrize("source", MEANINGS)
def test_ordinary_templates_mean_what_they_mean_in_jinja(source: str) -> None:
    assert render(source) == MEANINGS[source]


def loop_of(step: str, start: str = "'ab'") -> str:
    return f"{{% set ns = namespace(x={start}) %}}{{% for i in range(60) %}}{{% set ns.x = {step} %}}{{% endfor %}}"


ATTACKS = {
    "classes": ("{{ ''.__class__.__mro__ }}", "unsafe"),
    "classes by filter": ("{{ messages|attr('__class__') }}", "No filter named 'attr'"),
    "subclasses": ("{{ [].__class__.__base__.__subclasses__() }}", "unsafe"),
    "mutation of a list": ("{{ messages.append(1) }}", "unsafe"),
    "mutation of a message": ("{{ messages[0].clear() }}", "unsafe"),
    "files by include": ("{% include '/etc/passwd' %}", "no loader"),
    "files by import": ("{% import 'os' as os %}", "no loader"),
    "a huge range": ("{% for i in range(10**9) %}x{% endfor %}", "counts over more than 65536 items"),
    "nested loops": (
        "{% set r = range(60000) %}{% for a in r %}{% for b in r %}{% for c in r %}" + "{% endfor %}" * 3,
        "longer than 2 s",
    ),
    "endless macros": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "RecursionError"),
    "endless loops": ("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", "RecursionError"),
    "deep parentheses": ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "RecursionError"),
    "a long text": ("{{ 'a' * 10**10 }}", "characters or items"),
    "a long text from the left": ("{{ 10**10 * 'a' }}", "characters or items"),
    "a long list": ("{{ [1] * 10**10 }}", "characters or items"),
    "doubling by ~": (loop_of("ns.x ~ ns.x"), "characters or items"),
    "doubling by +": (loop_of("ns.x + ns.x"), "characters or items"),
    "doubling lists": (loop_of("[ns.x, ns.x]"), "characters or items"),
    "doubling dicts": (loop_of("{'a': ns.x, 'b': ns.x}"), "characters or items"),
    "doubling tuples": (loop_of("(ns.x, ns.x)"), "characters or items"),
    "doubling by dict()": (loop_of("dict(a=ns.x, b=ns.x)"), "characters or items"),
    "hidden doubling": (loop_of("namespace(y=[ns.x, ns.x])") + "{{ ns.x }}", "prints a Namespace"),
    "hidden doubling in JSON": (loop_of("namespace(y=[ns.x, ns.x])") + "{{ [ns.x]|tojson }}", "prints a Namespace"),
    "growth by replace": (loop_of("ns.x.replace('a', ns.x)"), "characters or items"),
    "growth by the replace filter": (loop_of("ns.x|replace('a', ns.x)"), "characters or items"),
    "growth by join": (loop_of("ns.x.join([ns.x, ns.x])"), "characters or items"),
    "growth by the join filter": (loop_of("[ns.x, ns.x]|join(ns.x)"), "characters or items"),
    "growth of integers": (loop_of("ns.x * ns.x", "3"), "integer of over 4096 bits"),
    "powers": ("{{ 10 ** 10 ** 10 }}", "power"),
    "a wide centre": ("{{ 'x'|center(10**9) }}", "No filter named 'center'"),
    "a wide indent": ("{{ 'x'|indent(10**9, true) }}", "characters or items"),
    "a wide JSON": ("{{ messages|tojson(indent=10**9) }}", "indents JSON"),
    "a wide printf": ("{{ '%1000000000d' % 1 }}", "formats text with %"),
    "a wide format": ("{{ '{:>1000000000}'.format(1) }}", "unsafe"),
    "a wide justification": ("{{ 'x'.ljust(10**9) }}", "unsafe"),
    "bytes of an integer": ("{{ (1).to_bytes(10**9) }}", "unsafe"),
    "much output from little": (
        "{% for i in range(60000) %}" + "x" * 1000 + "{% endfor %}",
        "writes over 4194304",
    ),
    "much output in a macro": (
        "{% macro m() %}{% for i in range(60000) %}" + "x" * 1000 + "{% endfor %}{% endmacro %}{% set x = m() %}",
        "writes over 4194304",
    ),
    "a printed generator": ("{{ messages|map('upper') }}", "prints a generator"),
    "random words": ("{{ lipsum(n=10**6) }}", "'lipsum' is undefined"),
    "no template at all": ("{% if %}", "TemplateSyntaxError"),
    "division by zero": ("{{ 1 / 0 }}", "ZeroDivisionError"),
    "its own refusal": (
        "{{ raise_exception('roles must alternate') }}",
        "refuses the conversation: roles must alternate",
    ),
    "a stranger's tag": ("{% generation %}{% endgeneration %}", "unknown tag"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_ends_in_one_clear_line(attack: str) -> None:
    source, message = ATTACKS[attack]
    begin = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TemplateError) as caught:
        render(source)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - begin < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_private_things_read_as_nothing() -> None:
    assert render("{{ range.__globals__ }}{{ raise_exception.__globals__ }}{{ self.__init__ }}") == ""


def test_a_template_cannot_change_the_next_rendering() -> None:
    template = ChatTemplate("{% set messages = [] %}{{ messages|length }}", {})
    assert [template.render(HELLO), template.render(HELLO)] == ["0", "0"]


def test_an_overlong_source_is_refused_before_it_is_read() -> None:
    with pytest.raises(TemplateError, match=f"allowed are {MAX_SOURCE_CHARS}"):
        ChatTemplate("x" * (MAX_SOURCE_CHARS + 1), {})


def test_an_overlong_conversation_is_refused() -> None:
    with pytest.raises(TemplateError, match="characters or items"):
        ChatTemplate("x", {}).render([{"role": "user", "content": "x" * (1 << 23)}])
