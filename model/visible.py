"""Text from outside, shown so that no terminal, no page and no log of a CI job takes it for a command."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that are not seen as they are: control, format (which may turn text round), surrogate, and
ends of lines."""

_COMMAND = re.compile(r"\s*(::|##\[)")
"""How a line begins that GitHub Actions and Azure Pipelines take for a command of the job."""


def visible(text: str) -> str:
    r"""The text in one line: what is not seen is written as Python's escapes, and a backslash precedes a job's command.

    >>> visible("topic\x1b[2J\n::error")
    'topic\\x1b[2J\\n::error'
    >>> visible("::error::all is well")
    '\\::error::all is well'
    """
    shown = text if text.isprintable() else "".join(map(_escaped, text))
    return f"\\{shown}" if _COMMAND.match(shown) else shown


def _escaped(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN
    return character.encode("unicode_escape").decode() if hidden else character


def visible_lines(text: str) -> str:
    """The text with its lines, each of them `visible`."""
    return "\n".join(map(visible, text.split("\n")))
