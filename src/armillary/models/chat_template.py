"""Render a model's own chat template, which is a stranger's program, within the metered sandbox.

Knows no tokens and no tools: a template that asks for tools or for today's date finds them undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from armillary.core.errors import TemplateError
from armillary.models.template_sandbox import METER_NAME, Meter, compile_metered

MAX_SOURCE_CHARS = 1 << 17


class ChatTemplate:
    """One compiled template.

    Args:
        source: the template's text.
        constants: names that it may read beside the messages, such as ``eos_token``.

    Raises:
        TemplateError: the source is too long or is no template.
    """

    def __init__(self, source: str, constants: Mapping[str, str]) -> None:
        if len(source) > MAX_SOURCE_CHARS:
            raise TemplateError(f"the chat template has {len(source)} characters, allowed are {MAX_SOURCE_CHARS}")
        self.source = source
        self._constants = dict(constants)
        try:
            self._template = compile_metered(source)
        except Exception as error:  # a stranger's source can break a compiler in any way
            raise _explained(error) from error

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The conversation as the model was trained to read it, open for the assistant's answer.

        Raises:
            TemplateError: the template fails, refuses the conversation, or asks for more than the limits.
        """
        meter = Meter()
        try:
            meter.weigh(messages)
            pieces = self._template.generate(
                {
                    **self._constants,
                    "messages": [dict(message) for message in messages],
                    "add_generation_prompt": True,
                    "raise_exception": _raise_exception,
                    METER_NAME: meter,
                }
            )
            return "".join(pieces)
        except Exception as error:  # a stranger's program can raise anything
            raise _explained(error) from error


def _explained(error: Exception) -> TemplateError:
    if isinstance(error, TemplateError):
        return error
    return TemplateError(f"the chat template failed: {type(error).__name__}: {str(error)[:200]}")


def _raise_exception(message: object) -> NoReturn:
    raise TemplateError(f"the chat template refuses the conversation: {str(message)[:200]}")
