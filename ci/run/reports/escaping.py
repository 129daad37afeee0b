"""Text as each format takes it."""

from __future__ import annotations

import html
import re

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_MARKDOWN = re.compile(r"([\\`*_\[\]#|~$])")


def xml_text(text: str) -> str:
    r"""Text of characters that XML 1.0 can hold; the others are spelled out.

    >>> xml_text("a\0b")
    'a\\x00b'
    """
    return _NOT_IN_XML.sub(lambda found: repr(found.group())[1:-1], text)


def token(text: str) -> str:
    """Text on one line, as attributes of names take it."""
    return " ".join(xml_text(text).split()) or "-"


def command_data(text: str) -> str:
    r"""The message of a workflow command.

    >>> command_data("50%\nof all")
    '50%25%0Aof all'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    """The value of a property of a workflow command.

    >>> command_property("a:b,c")
    'a%3Ab%2Cc'
    """
    return command_data(text).replace(":", "%3A").replace(",", "%2C")


def markdown(text: str) -> str:
    """Text on one line that Markdown shows as it is, in a cell of a table too.

    >>> markdown("a|b <i>")
    'a\\\\|b &lt;i&gt;'
    """
    return html.escape(_MARKDOWN.sub(r"\\\1", " ".join(text.split())), quote=False)


def fenced(text: str) -> str:
    """A block of code, whose fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
