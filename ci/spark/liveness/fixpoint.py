"""The states from which a fair behaviour stays in a region, by rounds of jobs.

The fixpoint is that of `kraftcheck.solvers.liveness.fair`. There sweeps raise marks in place; here a round is a join:
what rose in the last round flows over the steps into it, of all constraints together.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from attrs import frozen

from kraftcheck.ci.spark.liveness.region import EDGES, RegionFrames
from kraftcheck.ci.spark.liveness.rounds import Round, RoundLog

MARKS = "place bigint, bits bigint"
KEPT = "place bigint, enabled bigint"


@frozen
class Fixpoints:
    """Fixpoints over a region.

    Attributes:
        log: keeps the rounds.
        name: what the names of rounds begin with.
        region: the graph.
        weak, strong: the bits of the constraints.
    """

    log: RoundLog
    name: str
    region: RegionFrames
    weak: int
    strong: int

    def fair(self) -> Round:
        """The states from which a behaviour stays in the region that satisfies all constraints (`KEPT`)."""
        nodes, edges = self.region.nodes.frame, self.region.edges.frame
        kept = self.log.round(f"{self.name}-kept-0", KEPT, lambda: nodes.select("place", "enabled"))
        number = 0
        while kept.count and self.weak | self.strong:
            number += 1
            good = self._satisfiable(kept.frame, edges, number)
            if good.count == kept.count:
                break
            kept = good
            edges = self.log.round(f"{self.name}-edges-{number}", EDGES, partial(_among, edges, kept.frame)).frame
        return kept

    def _satisfiable(self, kept: Any, edges: Any, number: int) -> Round:
        """The states kept that can satisfy all constraints among those kept."""

        def seeds() -> Any:
            taken = edges.groupBy("src").agg(_any("taken")).withColumnRenamed("src", "place")
            bits = f"coalesce(taken, 0L) | (~enabled & {self.weak}L) AS bits"
            return kept.join(taken, "place", "left").selectExpr("place", bits).where("bits <> 0")

        marks = self._closed(self.log.round(f"{self.name}-marks-{number}-0", MARKS, seeds), edges, f"marks-{number}")
        weak, strong = f"(bits & {self.weak}L) = {self.weak}L", f"((bits | ~enabled) & {self.strong}L) = {self.strong}L"

        def good() -> Any:
            known = kept.join(marks, "place", "left").selectExpr("place", "enabled", "coalesce(bits, 0L) AS bits")
            return known.where(f"{weak} AND {strong}").select("place", "enabled")

        return self.log.round(f"{self.name}-kept-{number}", KEPT, good)

    def reaching(self, goal: Any, name: str) -> Any:
        """The states of the region that reach some, given as places; as marks."""
        first = self.log.round(f"{self.name}-{name}-0", MARKS, lambda: goal.selectExpr("place", "1L AS bits"))
        return self._closed(first, self.region.edges.frame, name)

    def _closed(self, first: Round, edges: Any, name: str) -> Any:
        """All marks, once none rises any more: by place."""
        changed, every, number = first, [first.frame], 0
        while changed.count:
            number += 1

            risen = partial(_risen, changed.frame, every, edges)
            changed = self.log.round(f"{self.name}-{name}-{number}", MARKS, risen)
            every = [*every, changed.frame]
        return _joined(every)


def _among(edges: Any, kept: Any) -> Any:
    """The edges among the states kept."""
    within = edges.join(kept.selectExpr("place AS src"), "src").join(kept.selectExpr("place AS dst"), "dst")
    return within.select("src", "instance", "taken", "dst")


def _risen(changed: Any, every: list[Any], edges: Any) -> Any:
    """The bits that rise where edges lead to marks that rose."""
    frontier = changed.selectExpr("place AS dst", "bits AS got")
    flows = edges.select("src", "dst").join(frontier, "dst").groupBy("src").agg(_any("got"))
    joined = flows.selectExpr("src AS place", "got").join(_joined(every), "place", "left")
    return joined.selectExpr("place", "got & ~coalesce(bits, 0L) AS bits").where("bits <> 0")


def _joined(frames: list[Any]) -> Any:
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionByName(frame)
    return union.groupBy("place").agg(_any("bits"))


def _any(column: str) -> Any:
    from pyspark.sql import functions

    return functions.bit_or(column).alias(column)
