"""Where a run with a dataset may be cut, and its part of a report: what doors need, whatever packages are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen
class DatasetPart:
    """The part of a report that only a run with a dataset has.

    Attributes:
        handed_over: the first depth that the engine expanded; None: the native start found everything.
        out: the dataset; None: it was not kept.
        resumed: the level after which an earlier run was taken up; None: it was not.
        costs: by depth what its job cost.
        engine: `spark` or `disk`.
    """

    handed_over: int | None
    out: str | None
    resumed: int | None
    costs: Mapping[int, Mapping[str, float]] = field(factory=dict)
    engine: str = "spark"

    def lines(self) -> list[str]:
        """For people."""
        lines = []
        if self.resumed is not None:
            lines.append(f"resumed after level {self.resumed}")
        if self.handed_over is None:
            lines.append(f"explored natively: no level was large enough for the engine {self.engine} (--handover)")
        elif self.engine == "spark":
            shuffled, spilled = (
                sum(cost.get(name, 0) for cost in self.costs.values()) for name in ("shuffled", "spilled")
            )
            lines.append(
                f"handed over to Spark at level {self.handed_over}; {shuffled / 1e6:,.1f} MB shuffled, "
                f"{spilled / 1e6:,.1f} MB spilled"
            )
        else:
            visited, peak = (max(cost.get(name, 0) for cost in self.costs.values()) for name in ("visited", "peak"))
            lines.append(
                f"levels in files from level {self.handed_over} on; in memory {visited / 1e6:,.1f} MB of visited "
                f"states, {peak / 1e6:,.1f} MB with candidates at most"
            )
        if self.out is not None:
            lines.append(f'dataset in {self.out} (kraftcheck query {self.out} "SELECT ...")')
        return lines

    def document(self) -> dict[str, Any]:
        """For machines."""
        costs = {str(depth): dict(cost) for depth, cost in self.costs.items()}
        return {"handed_over": self.handed_over, "out": self.out, "resumed": self.resumed, "levels": costs}


HANDOVER = 200_000
"""States of the first level that the native start leaves to the engine, unless `--handover` says otherwise."""

BUCKETS = 64
"""Parts of the visited set on one machine, unless `--buckets` says otherwise."""
