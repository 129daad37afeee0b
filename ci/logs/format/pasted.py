"""Texts as people paste them: in the encodings of terminals, behind prefixes, between lines of other programs."""

from __future__ import annotations

import re

_LINE = (
    r"(?=baseOffset: |\| |Dumping |(?:Log s|S)tarting offset: |Snapshot end offset: |payload: \{|\{\"|"
    r"Topic: |ClusterId: |NodeId\s|\d+\s+[\w-]{22}\s)"
)
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*"
_PREFIX = re.compile(
    rf"(?:\s++|>|\d++[\t:]|[\w.-]++\s++\| |(?:\w{{3}} +\d+ \d\d:\d\d:\d\d|{_TIME}) \S++ \S+: |{_TIME} |\[[\w./-]++\] )"
    rf"{{1,8}}?{_LINE}"
)
"""What terminals, editors, mails, `docker logs -t`, `docker compose logs`, journals, `kubectl logs --prefix` put before
a line: few parts, each of which can be read in one way, so that a long line of another kind is passed over at once."""

_LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR"
_NOISE = re.compile(
    rf"OpenJDK |Java HotSpot|Picked up |SLF4J: |log4j:"
    rf"|(?:\[[\w-]+\]|\[?\d{{4}}-\d\d-\d\d[ T][\d:,.]+Z?\]?) (?:{_LEVELS}) "
    r"|```|(?:(?:\[[^\[\]]{1,80}\]|\S*[\w~/\]]) ?)?[$#%](?: |$)|(?:PS )?[A-Z]:\\[^>]*>"
    r"|--More--(?:\(\d+%\))?\s*$|\(END\)\s*$"
)
"""Lines of the JVM, of logging, and of a terminal, of its pager, or what fences its text."""

_COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]")

_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def encoding_of(data: bytes) -> str:
    """The encoding of a text: UTF-16 by its mark, or by the zeros that it has beside plain letters; else UTF-8.

    >>> encoding_of("Dumping".encode("utf-16-le"))
    'utf-16-le'
    """
    if data.startswith(_UTF_16):
        return "utf-16"
    head = data[:64]
    for zeros, name in ((head[1::2], "utf-16-le"), (head[::2], "utf-16-be")):
        if len(head) > 1 and not any(zeros) and head.count(0) == len(zeros):
            return name
    return "utf-8-sig"


def decoded(data: bytes) -> str:
    """A text in its encoding; raises UnicodeDecodeError."""
    return data.decode(encoding_of(data))


def clean(text: str) -> tuple[list[str], int]:
    """The lines without what stands before them, and how many were none of a log; these are empty.

    >>> clean("kafka-1  | Dumping 0.log\\n$ ls")
    (['Dumping 0.log', ''], 1)
    """
    lines, noise = [], 0
    for line in _COLOURS.sub("", text).splitlines():
        prefix = _PREFIX.match(line)
        line = line if prefix is None else line[prefix.end() :]
        if _NOISE.match(line):
            noise, line = noise + 1, ""
        lines.append(line)
    return lines, noise
