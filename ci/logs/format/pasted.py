"""Texts as people paste them: in the encodings of terminals, behind prefixes, between lines of other programs."""

from __future__ import annotations

import re

_LINE = (
    r"(?=baseOffset: |\| |Dumping |(?:Log s|S)tarting offset: |Snapshot end offset: |payload: \{|\{\"|"
    r"Topic: |ClusterId: |NodeId\s|\d+\s+[\w-]{22}\s)"
)
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*"
_PREFIX = re.compile(
    rf"(?:\s++|>|\d++[\t:]|[\w.-]++\s++\| |(?:\w{{3}} +\d+ \d\d:\d\d:\d\d|{_TIME}) \S++ \S+: "
    rf"|{_TIME} (?:std(?:out|err) [FP] )?|\[[\w./ -]++\] )"
    rf"{{1,8}}?{_LINE}"
)
"""What terminals, editors, mails, `docker logs -t`, `docker compose logs`, journals, `kubectl logs --prefix` put before
a line: few parts, each of which can be read in one way, so that a long line of another kind is passed over at once."""

_HARMLESS = re.compile(
    r"Picked up \w+: |SLF4J(?:\([A-Z]\))?: |log4j:WARN (?:No appenders could be|Please initialize the|See http)"
    r"|(?:OpenJDK|Java HotSpot).{1,40} warning: (?:Sharing is only|Options? .{1,80} deprecated|[Ii]gnoring option)"
    r"|.{0,80}? INFO (?:Kafka (?:version|commitId|startTimeMs): |App info kafka|Metrics (?:scheduler|reporters) closed)"
    r'|Defaulted container "[\w.-]+" out of: |(?:[A-Z][a-z]{2} ){2} ?\d+ \d\d:\d\d:\d\d (?:[AP]M )?\w+ \d{4}\s*$'
    r"|```|--More--(?:\(\d+%\))?\s*$|\(END\)\s*$"
)
"""Lines of the JVM, of logging, and of a pager, or what fences a text: known to tell nothing of a cluster."""

_MORE = "--More--"  # what a pager shows below a page; at the end of a paste it says that there is more

_PROMPT = r"(?:(?:(?:\[[^\[\]]{1,80}\]|\S*[\w~/\]]) ?)?[$#%](?: +|$)|(?:PS )?[A-Z]:\\[^>]*>)"
_TOOL = r"(?:(?:sudo|docker|kubectl) [^|;&<]{0,300}?)?[^\s|;&<]{0,300}\bkafka-"
_REST = r"(?:[^|;&<`(]|2>&1)*"
_COMMAND = re.compile(
    rf"{_PROMPT}\s*(?:(?:cat|cd|ls|less|more|clear|exit|date)\b{_REST}"
    rf"|{_TOOL}[a-z-]+(?:[. ]{_REST})?(?:\| *(?:less|more|cat|tee)\b{_REST})?)?$"
)
"""A prompt, and a command whose words leave nothing of what it prints out; what those of kafka-topics ask for
`described` knows."""

_LEVELS = "TRACE|DEBUG|INFO|WARN|ERROR|FATAL"
_TALK = re.compile(
    rf"OpenJDK |Java HotSpot|log4j:[A-Z]|{_MORE}|{_PROMPT}"
    rf"|(?:\[[\w-]+\]|\[?\d{{4}}-\d\d-\d\d[ T][\d:,.]+Z?\]?) (?:{_LEVELS}) "
)
"""Other lines of the JVM, of logging, and of a terminal, any of which may tell that something is wrong, or left out."""

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
    """The lines without what stands before them, and how many were known to tell nothing; these are empty.

    >>> clean("kafka-1  | Dumping 0.log\\n$ ls")
    (['Dumping 0.log', ''], 1)
    """
    lines, noise = [], 0
    for line in _COLOURS.sub("", text).splitlines():
        prefix = _PREFIX.match(line)
        line = line if prefix is None else line[prefix.end() :]
        if _HARMLESS.match(line) or _COMMAND.match(line):
            noise, line = noise + 1, ""
        lines.append(line)
    if text.rstrip().rpartition("\n")[2].startswith(_MORE):
        lines[-1], noise = _MORE, noise - 1
    return lines, noise


def is_of_a_log(line: str) -> bool:
    """Whether a line is one of a program's log."""
    return re.match(rf"(?:\[?\d{{4}}-\d\d-\d\d[ T][\d:,.]+Z?\]? )?(?:{_LEVELS}) ", line) is not None


def holds_data(line: str) -> bool:
    """Whether a line holds what Kafka's tools print, behind something else."""
    return re.search(r"\s(?:Topic: |baseOffset: |Dumping )", line) is not None


def is_talk(line: str) -> bool:
    """Whether a line is no data, but what a program or a person says, and not known to be harmless."""
    return _TALK.match(line) is not None
