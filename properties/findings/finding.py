"""A finding: a defect of released controllers, as data."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen


@frozen
class FindingSearch:
    """The search that shows a finding.

    Attributes:
        system, scope, bounds: where it shows; bounds override the scope.
        property: what it refutes.
        without: choices of a release that are switched off in the search, because they break the same property by
            another way.
    """

    system: str
    scope: str
    property: str
    bounds: Mapping[str, int] = field(factory=dict)
    without: tuple[str, ...] = ()


@frozen
class Finding:
    """A defect of released controllers.

    Attributes:
        id: its name on the command line.
        title: what goes wrong, in a sentence.
        effect: what an operator sees, and what it costs.
        source: Kafka's class and method, the entry of the catalogue, and issues that report it.
        rules: ids of the model's rules that have it right.
        switches: the choices of a release that are the defect; without them the property holds.
        search: what shows it; None where no explored system can, as none has the text of a configuration.
        mend: what a mend has to do, and what it must keep.
        scenario: the name of the scenario that shows it on a live cluster; empty where there is none.
        broker_cases: the cases of a broker's classes that show it, where no event of the controller alone does.
        reported: the issues and pull requests that report or mend it; empty where none is known.
    """

    id: str
    title: str
    effect: str
    source: str
    rules: tuple[str, ...]
    switches: tuple[str, ...]
    search: FindingSearch | None
    mend: str
    scenario: str = ""
    reported: str = ""
    broker_cases: tuple[str, ...] = ()
