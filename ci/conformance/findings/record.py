"""Records the evidence of findings in every release: `python -m kraftcheck.ci.conformance.findings.record`.

Names of findings limit it to them. The trace of a finding that a release does not have is that of the newest release
that has it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kraftcheck.ci.conformance.findings.command import evidence_of
from kraftcheck.ci.conformance.findings.search import ReleaseSearch, record, recorded, search
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.run.questions import SearchBudget
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.properties.register.findings import SEARCHED


def main(names: Sequence[str]) -> None:
    """Observe, and write the file beside this module; other findings keep their rows."""
    chosen = [one for one in SEARCHED if not names or one.id in names]
    budget = SearchBudget(1, default_memory())
    searches = {release: [search(one, release, budget, True) for one in chosen] for release in known_versions()}
    newest: dict[str, ReleaseSearch] = {}
    for of_release in searches.values():
        newest |= {one.finding.id: one for one in of_release if one.trace is not None}
    rows = recorded() if names else {}
    for release, of_release in searches.items():
        observed = evidence_of(of_release, [one if one.trace else newest[one.finding.id] for one in of_release])
        rows |= {(row.finding, release): row for row in observed}
        print(f"{release}: {sum(one.trace is not None for one in of_release)} of {len(of_release)} findings")
    record(rows[one.id, release] for release in known_versions() for one in SEARCHED)


if __name__ == "__main__":
    main(sys.argv[1:])
