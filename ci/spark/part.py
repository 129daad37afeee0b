"""What a Spark run tells besides the exploration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import field, frozen


@frozen
class SparkPart:
    """What a Spark run tells besides the exploration.

    Attributes:
        handed_over: the first depth that Spark expanded; None: the native start found everything.
        out: the dataset; None: it was not kept.
        resumed: the level after which an earlier run was taken up; None: it was not.
        costs: by depth what its job cost.
    """

    handed_over: int | None
    out: str | None
    resumed: int | None
    costs: Mapping[int, Mapping[str, float]] = field(factory=dict)

    def lines(self) -> list[str]:
        """For people."""
        told = []
        if self.resumed is not None:
            told.append(f"resumed after level {self.resumed}")
        if self.handed_over is None:
            told.append("explored natively: no level was large enough for Spark (--handover)")
        else:
            shuffled, spilled = (
                sum(cost.get(name, 0) for cost in self.costs.values()) for name in ("shuffled", "spilled")
            )
            told.append(
                f"handed over to Spark at level {self.handed_over}; {shuffled / 1e6:,.1f} MB shuffled, "
                f"{spilled / 1e6:,.1f} MB spilled"
            )
        if self.out is not None:
            told.append(f'dataset in {self.out} (kraftcheck query {self.out} "SELECT ...")')
        return told

    def document(self) -> dict[str, Any]:
        """For machines."""
        costs = {str(depth): dict(cost) for depth, cost in self.costs.items()}
        return {"handed_over": self.handed_over, "out": self.out, "resumed": self.resumed, "levels": costs}
