"""Citations: the fixed forms in which sources are named, and the page that each form leads to.

A source is a list of citations with semicolons between them. A citation begins with one of these forms; after a
comma it may go on with another, or with a detail such as a section:

| form | leads to |
|---|---|
| `KIP-966` | the proposal in Kafka's wiki |
| `KAFKA-19522`, `PR 20716` | the issue, the pull request |
| `PartitionChangeBuilder.build` | class or method in Kafka's source at the snapshot |
| `semantics 3`, `semantics 2.4` | section, or step of section 2, of the semantics reference |
| `invariant 33`, `B4` | candidate invariant, or suspicious behaviour, of the same page |
| `catalogue 12`, `X1`, `S1` | entry, or finding, of the catalogue of defects |
| `seeded` | what a seeded defect is |
| `broker-id KIP` and the like | the page of the system that has the document as its subject |

>>> for reference in references("PR 20716; B2"):
...     print(reference.target)
https://github.com/apache/kafka/pull/20716
docs/reference/kafka-semantics.md#b2
"""

from __future__ import annotations

import re

from attrs import frozen

from kraftcheck.properties.sources.kafka import CLASSES, LINES, RELEASED, SNAPSHOT, WITHOUT_CLASS

WIKI = "https://cwiki.apache.org/confluence/display/KAFKA/"
SEMANTICS = "docs/reference/kafka-semantics.md"
CATALOGUE = "docs/reference/bug-catalogue.md"
SYSTEMS = "docs/explanation/systems/"

PROPOSALS = {
    101: "KIP-101 - Alter Replication Protocol to use Leader Epoch rather than High Watermark for Truncation",
    106: "KIP-106 - Change Default unclean.leader.election.enabled from True to False",
    112: "KIP-112: Handle disk failure for JBOD",
    113: "KIP-113: Support replicas movement between log directories",
    279: "KIP-279: Fix log divergence between leader and follower after fast leader fail over",
    320: "KIP-320: Allow fetchers to detect and handle log truncation",
    380: "KIP-380: Detect outdated control requests and bounced brokers using broker generation",
    392: "KIP-392: Allow consumers to fetch from closest replica",
    455: "KIP-455: Create an Administrative API for Replica Reassignment",
    497: "KIP-497: Add inter-broker API to alter ISR",
    570: "KIP-570: Add leader epoch in StopReplicaRequest",
    631: "KIP-631: The Quorum-based Kafka Controller",
    704: "KIP-704: Send a hint to the partition leader to recover the partition",
    841: "KIP-841: Fenced replicas should not be allowed to join the ISR in KRaft",
    858: "KIP-858: Handle JBOD broker disk failure in KRaft",
    860: "KIP-860: Add client-provided option to guard against replication factor change during partition "
    "reassignments",
    866: "KIP-866 ZooKeeper to KRaft Migration",
    903: "KIP-903: Replicas with stale broker epoch should not be allowed to join the ISR",
    966: "KIP-966: Eligible Leader Replicas",
    1066: "KIP-1066: Mechanism to cordon brokers and log directories",
}
"""Page titles of the proposals that are cited; the wiki finds a page by its whole title."""

_RECOVERY = SYSTEMS + "unclean-recovery.md"

DOCUMENTS = {
    "early controller design": SYSTEMS + "zk-controller.md",
    "JBOD KIP on ZooKeeper": SYSTEMS + "zk-jbod.md",
    "broker-id KIP": SYSTEMS + "broker-ids.md",
    "unclean-recovery KIP": _RECOVERY,
    "GetReplicaLogInfo": _RECOVERY,
    "Designated Leader Elections": _RECOVERY,
    "ElectLeaders": _RECOVERY,
    "--recovery-duration-ms": _RECOVERY,
    "exit status": _RECOVERY,
    "SIGTERM": _RECOVERY,
    "ZooKeeper watches": "https://zookeeper.apache.org/doc/current/zookeeperProgrammers.html#ch_zkWatches",
    "seeded": CATALOGUE + "#seeded",
}
"""Documents, and parts of them, by the name that sources give them."""

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
    """What one citation leads to.

    Attributes:
        text: the citation, with its detail.
        target: a URL, or a file below the project's root with an anchor.
    """

    text: str
    target: str


def references(source: str) -> tuple[Reference, ...]:
    """What each citation of a source leads to.

    Raises:
        UnknownCitation: for one that leads nowhere.
    """
    found: list[Reference] = []
    for citation in source.split(";"):
        for number, part in enumerate(piece.strip() for piece in citation.split(",")):
            target = _target(part)
            if target is not None:
                found.append(Reference(part, target))
            elif number == 0:
                raise UnknownCitation(f"{part!r} in {source!r} is no citation: see the forms in {__name__}")
            else:
                found[-1] = Reference(f"{found[-1].text}, {part}", found[-1].target)
    return tuple(found)


def _target(text: str) -> str | None:
    """The target of a text that begins with a form; None for a detail."""
    numbered = _NUMBERED.match(text)
    if numbered is not None and not text[numbered.end() : numbered.end() + 1].isalnum():
        return _of_number(text, **numbered.groupdict())
    document = next((name for name in DOCUMENTS if re.match(rf"{re.escape(name)}\b", text)), None)
    if document is not None:
        return DOCUMENTS[document]
    name = _NAME.match(text)
    return None if name is None else _in_kafka(name.group())


def _of_number(text: str, **parts: str | None) -> str:
    kind, number = next((kind, number) for kind, number in parts.items() if number is not None)
    if kind == "kip":
        if int(number) not in PROPOSALS:
            raise UnknownCitation(f"{text!r}: the title of KIP-{number} is not in PROPOSALS of {__name__}")
        return WIKI + PROPOSALS[int(number)].replace(":", "%3A").replace(" ", "+")
    if kind in _TRACKERS:
        return _TRACKERS[kind] + number
    anchor = {
        "section": f"semantics-{number.replace('.', '-')}", "invariant": f"invariant-{number}",
        "entry": f"catalogue-{number}",
    }.get(kind, number.lower())  # fmt: skip
    return f"{CATALOGUE if kind in ('entry', 'finding') else SEMANTICS}#{anchor}"


def _in_kafka(name: str) -> str | None:
    """The place of a class or method in Kafka's source; None for a word that names none."""
    name = WITHOUT_CLASS.get(name, name)
    owner = name.split(".")[0]
    if owner not in CLASSES:
        return None
    if name != owner and name not in LINES and name not in RELEASED:
        raise UnknownCitation(f"{name!r}: {owner} is known, the line of the method is not in LINES")
    line = f"#L{LINES[name]}" if name in LINES else ""
    return f"https://github.com/apache/kafka/blob/{RELEASED.get(name, SNAPSHOT)}/{CLASSES[owner]}{line}"
