"""Citations: the fixed forms in which sources are named, and the page that each form leads to.

A source is a list of citations with semicolons between them. A citation begins with one of these forms; after a
comma it may go on with another, or with a detail such as a section:

| form | leads to |
|---|---|
| `KIP-966` | the proposal in Kafka's wiki |
| `KAFKA-19522`, `PR 20716` | the issue, the pull request |
| `PartitionChangeBuilder.build` | class or method in Kafka's source at the snapshot |
| `semantics 3`, `semantics 2.4` | section, or step of section 2, of the semantics reference |
| `invariant 33`, `B4` | candidate property, or suspicious behaviour, of the page of invariants |
| `catalogue 12`, `X1`, `S1` | entry, or finding, of the catalogue of defects |
| `seeded` | what a seeded defect is |
| `broker-id KIP` and the like | the page of the system that has the document as its subject |

>>> for reference in references("PR 20716; B2"):
...     print(reference.target)
https://github.com/apache/kafka/pull/20716
docs/reference/invariants.md#b2
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import frozen

from kraftcheck.model.register import content, numbered

WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
SEMANTICS = "docs/reference/kafka-semantics.md"
CATALOGUE = "docs/reference/bug-catalogue.md"
INVARIANTS = "docs/reference/invariants.md"

_TABLES = content(
    __package__, "kafka.toml",
    "snapshot", "classes", "lines", "without-class", "released", "places", "alike", "proposals", "documents",
)  # fmt: skip

SNAPSHOT: str = _TABLES["snapshot"]
"""The commit of Kafka's source that the rules were read from; line numbers are of it."""

CLASSES: Mapping[str, str] = _TABLES["classes"]  # path of the file of each class that a source names

LINES: Mapping[str, int] = {
    f"{owner}.{method}": line
    for owner, methods in _TABLES["lines"].items()
    for method, line in numbered(methods, f"kafka.toml: lines.{owner}").items()
}
"""Line of the declaration of each method, and of each inner class, that a source names."""

WITHOUT_CLASS: Mapping[str, str] = _TABLES["without-class"]  # names that stand alone in a source, in full

RELEASED: Mapping[str, str] = {name: release for release, names in _TABLES["released"].items() for name in names}
"""Classes and methods that the snapshot does not have yet, with the first release that has them."""

PLACES: Mapping[str, Mapping[str, str]] = _TABLES["places"]
"""Where the newest release that has a finding has the classes and methods that it names, from its jars, by release."""

ALIKE: Mapping[str, str] = _TABLES["alike"]
"""From which release on a method that a finding names is compiled as in the newest, where no class was asked."""

PROPOSALS: Mapping[int, str] = {int(number): title for number, title in _TABLES["proposals"].items()}
"""Page titles of the proposals that are cited."""

DOCUMENTS: Mapping[str, str] = _TABLES["documents"]
"""Documents, and parts of them, by the name that sources give them: where each leads."""

_REPOSITORY = "https://github.com/apache/kafka/blob"
_TRACKERS = {"issue": "https://issues.apache.org/jira/browse/KAFKA-", "pull": "https://github.com/apache/kafka/pull/"}

_NUMBERED = re.compile(
    r"KIP-(?P<kip>\d+)|KAFKA-(?P<issue>\d+)|PR (?P<pull>\d+)|semantics (?P<section>\d+(\.\d+)?)"
    r"|invariant (?P<invariant>\d+)|(?P<behaviour>B\d+)|catalogue (?P<entry>\d+)|(?P<finding>[XS]\d+)"
)
_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)?")


class UnknownCitation(ValueError):
    """A citation of no known form, or of a proposal or a class that has no entry here."""


@frozen
class Reference:
    """The target of one citation."""

    text: str  # the citation, with its detail
    target: str  # a URL, or a file below the project's root with an anchor


def references(source: str, release: str = "") -> tuple[Reference, ...]:
    """The targets of the citations of a source.

    Args:
        release: whose classes are meant, of a source that a finding has; else those of the snapshot.

    Raises:
        UnknownCitation: for one that leads nowhere.
    """
    found: list[Reference] = []
    for citation in source.split(";"):
        for number, part in enumerate(piece.strip() for piece in citation.split(",")):
            target = _target(part, release)
            if target is not None:
                found.append(Reference(part, target))
            elif number == 0:
                raise UnknownCitation(f"{part!r} in {source!r} is no citation: see the forms in {__name__}")
            else:
                found[-1] = Reference(f"{found[-1].text}, {part}", found[-1].target)
    return tuple(found)


def _target(text: str, release: str) -> str | None:
    """The target of a text that begins with a form; None for a detail."""
    numbered = _NUMBERED.match(text)
    if numbered is not None and not text[numbered.end() : numbered.end() + 1].isalnum():
        return _of_number(text, **numbered.groupdict())
    document = next((name for name in DOCUMENTS if re.match(rf"{re.escape(name)}\b", text)), None)
    if document is not None:
        return DOCUMENTS[document]
    name = _NAME.match(text)
    return None if name is None else in_kafka(name.group(), release)


def _of_number(text: str, **parts: str | None) -> str:
    kind, number = next((kind, number) for kind, number in parts.items() if number is not None)
    if kind == "kip":
        if int(number) not in PROPOSALS:
            raise UnknownCitation(f"{text!r}: the title of KIP-{number} is not in kafka.toml")
        return WIKI + PROPOSALS[int(number)].replace(":", "%3A").replace(" ", "+")
    if kind in _TRACKERS:
        return _TRACKERS[kind] + number
    anchor = {
        "section": f"semantics-{number.replace('.', '-')}", "invariant": f"invariant-{number}",
        "entry": f"catalogue-{number}",
    }.get(kind, number.lower())  # fmt: skip
    page = {"section": SEMANTICS, "entry": CATALOGUE, "finding": CATALOGUE}.get(kind, INVARIANTS)
    return f"{page}#{anchor}"


def in_kafka(name: str, release: str = "") -> str | None:
    """The place of a class or method in Kafka's source; None for a word that names none."""
    if name in PLACES.get(release, {}):
        return f"{_REPOSITORY}/{release}/{PLACES[release][name]}"
    name = WITHOUT_CLASS.get(name, name)
    owner = name.split(".")[0]
    if owner not in CLASSES:
        return None
    if name != owner and name not in LINES and name not in RELEASED:
        raise UnknownCitation(f"{name!r}: {owner} is known, the line of the method is not in kafka.toml")
    line = f"#L{LINES[name]}" if name in LINES else ""
    return f"{_REPOSITORY}/{RELEASED.get(name, SNAPSHOT)}/{CLASSES[owner]}{line}"
