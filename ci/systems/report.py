"""Reports of explorations: tables for people, documents for machines."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from rich.table import Table

from kraftcheck.ci.systems import assurance
from kraftcheck.ci.systems.subject import Subject, relief
from kraftcheck.ci.terminal.console import escape
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.pruning import Pruning
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Unknown,
    Vacuous,
    worst_exit_code,
)
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.search.levels import OUT_OF_MEMORY

DOCUMENT_VERSION = 1

WORDS = {Holds: "holds", Refuted: "refuted", Incomplete: "incomplete", Unknown: "unknown", Vacuous: "vacuous"}
"""Name of each verdict in tables and documents."""

WORST_FIRST = ("refuted", "incomplete", "unknown", "vacuous", "holds")
"""Order of verdicts in a closing line: nothing that failed hides behind what holds."""

STYLES = {"holds": "green", "refuted": "red", "incomplete": "yellow", "unknown": "yellow", "vacuous": "magenta"}


def word_of(found: PropertyVerdict) -> str:
    """A verdict in a word, with the length of its trace: `holds`, `refuted 7`, `vacuous`."""
    word = WORDS[type(found.verdict)]
    return f"{word} {found.depth}" if isinstance(found.verdict, Refuted) else word


def detail(found: PropertyVerdict, shortest: bool = True) -> str:
    """What a table says beside the verdict; random walks find traces that are not the shortest."""
    match found.verdict:
        case Refuted():
            return f"in {found.depth} step{'' if found.depth == 1 else 's'}{', shortest' * shortest}"
        case Holds(_, witness) if witness is not None:
            return f"shown in {found.depth} step{'' if found.depth == 1 else 's'}"
        case Holds(_, _, cases) if cases is not None:
            return f"{cases:,} state{'s' * (cases != 1)} recover{'s' * (cases == 1)}"
        case Incomplete(cut):
            return cut
        case Unknown(reason):
            return reason
        case Vacuous(_, why):
            return why
    return ""


DEADLOCK_SAYS = "a state without successors is quiescent"
"""The sentence of the built-in property."""


def verdict_table(judged: Sequence[PropertyVerdict], claims: Sequence[Property], shortest: bool = True) -> Table:
    """A row for each property: verdict, detail, sentence; `shortest` as `detail` takes it."""
    sentences = {claim.id: claim.sentence for claim in claims}
    table = Table(box=None, pad_edge=False)
    for column in ("property", "verdict", "", "says"):
        table.add_column(column, overflow="fold")
    for found in judged:
        word = WORDS[type(found.verdict)]
        said = sentences.get(found.claim, DEADLOCK_SAYS)
        table.add_row(escape(found.claim), f"[{STYLES[word]}]{word}[/]", escape(detail(found, shortest)), escape(said))
    return table


def symmetries(result: Exploration) -> list[str]:
    """What states were reduced by."""
    reduction = result.program.reduction
    return [] if reduction is None else [one.symmetry.name for one in reduction.fields]


def summary(result: Exploration) -> list[str]:
    """Size, speed, and what the exploration did not touch."""
    rate, distinct_rate = (count / max(result.seconds, 1e-9) for count in (result.generated, result.distinct))
    told = [
        f"{result.distinct:,} distinct states, {result.generated:,} generated, depth {result.depth}, "
        f"in {result.seconds:.1f} s ({rate:,.0f} generated/s, {distinct_rate:,.0f} distinct/s, "
        f"{result.bytes_per_state:.0f} bytes a state); compiled in {result.compile_seconds:.1f} s"
        + (" (from cache)" if result.cached else "")
    ]
    told.append(assurance.of_explorations([result]))
    names = symmetries(result)
    if names:
        told.append(f"each state stands for all that are like it but for the names of: {', '.join(names)}")
    idle = [action for action, count in result.fired.items() if not count]
    if result.recovered.sweeps:
        sweeps, seconds = result.recovered.sweeps, result.recovered.seconds
        told.append(f"searched backward in {sweeps} rounds, {seconds:.1f} s")
    if idle:
        told.append(f"actions that never happened: {', '.join(idle)}")
    if result.never_true:
        told.append("guards never true: " + "; ".join(f"{a}: {c}" for a, c in result.never_true))
    if result.never_false:
        told.append("guards never false: " + "; ".join(f"{a}: {c}" for a, c in result.never_false))
    told += [one.told() for one in result.prunings if one.told() not in (result.cut or "")]
    if result.cut:
        program = result.program
        short = result.cut.startswith(OUT_OF_MEMORY)
        told.append(f"incomplete: {result.cut}" + (f"; {relief(program.system, program.setting)}" if short else ""))
    return told


def versions() -> dict[str, str]:
    """Versions of what the result depends on."""
    names = ("kraftcheck", "llvmlite", "numpy", "attrs")
    known = {}
    for name in names:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            known[name] = "not installed"
    return {**known, "python": platform.python_version()}


def document(subject: Subject, result: Exploration, spark: dict[str, Any] | None = None) -> dict[str, Any]:
    """One exploration as plain values, as docs/reference/file-formats.md lists them; `spark` is that engine's part."""
    return {
        "version": DOCUMENT_VERSION,
        "command": "explore",
        "engine": "native" if spark is None else "spark",
        **({} if spark is None else {"spark": spark}),
        "system": subject.name,
        "scope": subject.setting.scope,
        "bounds": dict(subject.setting.bounds),
        "rules": subject.rules,
        "exit_code": worst_exit_code(v.verdict for v in result.verdicts),
        "symmetry": symmetries(result),
        "complete": result.cut is None,
        "cut": result.cut,
        "states": {
            "distinct": result.distinct,
            "generated": result.generated,
            "depth": result.depth,
            "levels": list(result.levels),
            "bits": result.program.layout.bits,
            "bytes_per_state": round(result.bytes_per_state, 1),
        },
        "seconds": {
            "explore": result.seconds,
            "backward": result.recovered.seconds,
            "compile": result.compile_seconds,
            "audit": result.audit.seconds,
            "cached": result.cached,
        },
        "rates": {
            "generated": result.generated / max(result.seconds, 1e-9),
            "distinct": result.distinct / max(result.seconds, 1e-9),
        },
        "properties": [_property(found, result) for found in result.verdicts],
        "fired": dict(result.fired),
        "guards": {
            "never_true": [list(pair) for pair in result.never_true],
            "never_false": [list(pair) for pair in result.never_false],
        },
        "pruned": dict(result.pruned),
        "prunings": pruning_rows(result.prunings),
        "audit": assurance.document(result.audit),
        "warnings": list(result.warnings),
        "digest": result.program.digest(),
        "versions": versions(),
    }


def pruning_rows(found: Sequence[Pruning]) -> list[dict[str, Any]]:
    """What was left out at each bound of each field, as plain values."""
    return [
        {"field": one.field, "domain": [one.lo, one.hi], "side": "above" if one.above else "below", "count": one.count,
         "actions": dict(one.actions), "declared": bool(one.cap), "reason": one.cap or None}
        for one in found
    ]  # fmt: skip


def _closure(found: PropertyVerdict) -> dict[str, Any] | None:
    """What ints saw of the states that can follow a counterexample to `recovers`."""
    closure = found.verdict.trace.closure if isinstance(found.verdict, Refuted) else None
    return None if closure is None else {"states": closure.states, "complete": closure.complete}


def _property(found: PropertyVerdict, result: Exploration) -> dict[str, Any]:
    claim = next((c for c in result.program.claims if c.id == found.claim), None)
    return {
        "id": found.claim,
        "kind": found.kind,
        "verdict": WORDS[type(found.verdict)],
        "depth": found.depth,
        "detail": detail(found),
        "bound": found.verdict.bound if isinstance(found.verdict, Holds) else None,
        "failing": list(found.verdict.trace.failing) if isinstance(found.verdict, Refuted) else [],
        "closure": _closure(found),
        "sentence": claim.sentence if claim else None,
        "source": claim.source if claim else None,
    }
