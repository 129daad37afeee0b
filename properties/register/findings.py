"""The findings: defects of released controllers, worst first; from findings.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen

from kraftcheck.model.register import RegisterError, content, record, spelled

SEVERITIES: Mapping[str, str] = {
    "loss": "acknowledged records may be lost",
    "divergence": "those that have read the same log differ, and nothing says so",
    "controller": "the controller resigns",
    "start": "a broker cannot start",
    "offline": "a partition is offline, or refuses writes, though a live replica could lead",
    "stuck": "what was asked for is refused, never ends, or ends otherwise",
    "unmarked": "metadata says what is not so",
}
"""What a finding costs, worst first."""

LIKELIHOODS: Mapping[str, str] = {
    "ordinary": "ordinary operations and restarts suffice",
    "fault": "a disk, a machine or a network has to fail",
    "window": "a fault or a request has to come in a narrow moment, or late, or requests of one kind alone fail",
    "other client": "no released broker or tool does it",
}
"""What it takes beside the needs of a finding, likely ones first."""


@frozen
class FindingSearch:
    """The search that shows a finding.

    Attributes:
        system, scope, bounds: where it shows; bounds override the scope.
    """

    system: str
    scope: str
    property: str  # what it refutes
    bounds: Mapping[str, int] = field(factory=dict)
    # choices of a release that are switched off in the search, because they break the same property by another way
    without: tuple[str, ...] = ()


@frozen
class Finding:
    """A defect of released controllers."""

    id: str  # its name on the command line
    title: str  # what goes wrong, in a sentence
    severity: str  # a key of SEVERITIES
    likely: str  # a key of LIKELIHOODS
    effect: str  # what an operator sees, and what it costs
    needs: str  # the faults, acts of operators and configuration without which it does not happen
    workaround: str  # what an operator can do until a release fixes it; by the rules, unless it says tried
    source: str  # Kafka's class and method, the entry of the catalogue, and issues that report it
    rules: tuple[str, ...]  # ids of the model's rules that have it right
    switches: tuple[str, ...]  # the choices of a release that are the defect; without them the property holds
    # what shows it; None where no explored system can, as none has the text of a configuration
    search: FindingSearch | None
    mend: str  # what a mend has to do, and what it must keep
    scenario: str = ""  # the name of the scenario that shows it on a live cluster; empty where there is none
    # what a proposal or the documentation of Kafka says that is broken: where, a colon, and the sentence; empty where
    # none says it but by the rules
    promised: str = ""
    # the issues and pull requests that report or mend it, each with what it says of it; empty where none is known
    reported: str = ""
    searched: str = ""  # the words with which a report was searched in vain; empty where one is known
    near: str = ""  # issues and pull requests about the same place, each with what it has to do with this
    # what no live cluster has shown of it in the newest release, and why; empty where one shows all, or none was tried
    not_live: str = ""
    hidden: str = ""  # what keeps a release from the steps, where they were searched with other defects fixed
    # the cases of a broker's classes that show it, where no event of the controller alone does
    broker_cases: tuple[str, ...] = ()
    untested: str = ""  # why no JUnit test shows it; empty where there is one, or no release that is new enough has it


def _finding(name: str, table: dict[str, Any]) -> Finding:
    """A finding; `search` is system, scope and bounds as on the command line, `refutes` and `without` go with it."""
    place, search = f"findings.toml: [{name}]", None
    if "search" in table:
        names, bounds = spelled(table.pop("search"), place)
        if len(names) != 2 or "refutes" not in table:
            raise RegisterError(f"{place}: search names a system and a scope, and refutes a property; write the three")
        without = tuple(table.pop("without", ()))
        search = FindingSearch(*names, table.pop("refutes"), bounds, without)
    for key, known in (("severity", SEVERITIES), ("likely", LIKELIHOODS)):
        if table.get(key) not in known:
            raise RegisterError(f"{place}: {key} is {table.get(key)!r}; write one of {', '.join(known)}")
    return record(Finding, table, place, id=name, search=search)


FINDINGS: tuple[Finding, ...] = tuple(_finding(*one) for one in content(__package__, "findings.toml").items())
"""The findings, worst first."""

BY_ID: Mapping[str, Finding] = {one.id: one for one in FINDINGS}  # by name
SEARCHED = tuple(finding for finding in FINDINGS if finding.search is not None)  # that an explored system shows
