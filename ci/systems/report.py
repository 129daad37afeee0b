"""Reports of explorations: tables for people, documents for machines."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

from rich.text import Text

from kraftcheck.ci.systems import assurance
from kraftcheck.ci.systems.subject import Subject, relief
from kraftcheck.ci.terminal.console import Column, Screen, Table
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.trace import Pruning
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Unknown,
    Vacuous,
    worst_exit_code,
)
from kraftcheck.solvers.search.levels import OUT_OF_MEMORY
from kraftcheck.solvers.traces.itf import loop_document, trace_document

DOCUMENT_VERSION = 1

WORDS = {Holds: "holds", Refuted: "refuted", Incomplete: "incomplete", Unknown: "unknown", Vacuous: "vacuous"}
"""Name of each verdict in tables and documents."""

WORST_FIRST = ("refuted", "incomplete", "unknown", "vacuous", "holds")
"""Order of verdicts in tables and closing lines: nothing that failed hides behind what holds."""

STYLES = {"holds": "green", "refuted": "red", "incomplete": "yellow", "unknown": "yellow", "vacuous": "magenta"}


def word_of(verdict: PropertyVerdict) -> str:
    """A verdict in a word, with the length of its trace, or of the run into its cycle: `holds`, `refuted 7`."""
    word = WORDS[type(verdict.verdict)]
    if not isinstance(verdict.verdict, Refuted):
        return word
    loop = verdict.verdict.trace.loop
    return f"{word} {verdict.depth if loop is None else loop.start}"


def detail(verdict: PropertyVerdict, shortest: bool = True) -> str:
    """The detail of a verdict, for a table; random walks find traces that are not the shortest."""
    match verdict.verdict:
        case Refuted(trace) if trace.loop is not None:
            return f"a run of {steps_text(trace.loop.start)} into {_cycle(len(trace.steps) - trace.loop.start)}"
        case Refuted(trace):
            return f"in {steps_text(len(trace.steps))}{', shortest' * shortest}"
        case Holds(_, witness) if witness is not None:
            return f"shown in {steps_text(len(witness.steps))}"
        case Holds(_, _, cases) if cases is not None:
            return f"{cases:,} state{'s' * (cases != 1)} recover{'s' * (cases == 1)}"
        case Incomplete(cut):
            return cut
        case Unknown(reason):
            return reason
        case Vacuous(_, text):
            return text
    return ""


def steps_text(count: int) -> str:
    """A number of steps in words."""
    return f"{count:,} step{'' if count == 1 else 's'}"


def _cycle(length: int) -> str:
    return f"a cycle of {length}" if length else "a halt"


DEADLOCK_SAYS = "a state without successors is quiescent"  # the sentence of the built-in property
DEADLOCK_FAILS = "a state that is not quiescent has no successor"  # what refutes it


def in_order(judged: Sequence[PropertyVerdict], verbose: bool = True) -> list[PropertyVerdict]:
    """The verdicts, the worst first; those that hold only where everything is listed."""
    ranked = sorted(judged, key=lambda verdict: WORST_FIRST.index(WORDS[type(verdict.verdict)]))
    return [verdict for verdict in ranked if verbose or not isinstance(verdict.verdict, Holds)]


def verdict_table(judged: Sequence[PropertyVerdict], claims: Sequence[Property], shortest: bool = True) -> Table:
    """A row for each property, as given: verdict, detail, sentence; `shortest` as `detail` takes it."""
    sentences = {claim.id: claim.sentence for claim in claims}
    table = Table((Column("property"), Column("verdict"), Column("", is_prose=True), Column("says", is_prose=True)))
    for verdict in judged:
        sentence = sentences.get(verdict.claim, DEADLOCK_SAYS)
        table.add(verdict.claim, styled(verdict), detail(verdict, shortest), sentence)
    return table


def styled(verdict: PropertyVerdict) -> Text:
    """The word of a verdict in its colour."""
    word = WORDS[type(verdict.verdict)]
    return Text(word, style=STYLES[word])


def print_verdicts(
    screen: Screen, judged: Sequence[PropertyVerdict], claims: Sequence[Property], verbose: bool, shortest: bool = True
) -> None:
    """Print the verdicts, the worst first; unless everything is asked for, what holds is only counted."""
    listed = in_order(judged, verbose)
    if listed:
        screen.table(verdict_table(listed, claims, shortest))
    if len(judged) > len(listed):
        screen.plain(held(len(judged) - len(listed)))


def last_line(judged: Sequence[PropertyVerdict], code: int) -> str:
    """How many properties have which verdict, with the exit code."""
    return f"{counted(judged)} (exit {code})"


def counted(judged: Sequence[PropertyVerdict]) -> str:
    """How many properties have which verdict, the worst first."""
    words = [WORDS[type(one.verdict)] for one in judged]
    return ", ".join(f"{words.count(word)} {word}" for word in WORST_FIRST if word in words)


def held(count: int, word: str = "hold") -> str:
    """A line for verdicts that are not listed because they pass.

    >>> held(1), held(12), held(2, "are proven")
    ('1 holds (-v lists it)', '12 hold (-v lists them)', '2 are proven (-v lists them)')
    """
    if count == 1:
        word = {"hold": "holds", "are proven": "is proven"}[word]
    return f"{count} {word} (-v lists {'it' if count == 1 else 'them'})"


def symmetries(result: Exploration) -> list[str]:
    """The names of the symmetries by which states were reduced."""
    reduction = result.program.reduction
    return [] if reduction is None else [field.symmetry.name for field in reduction.fields]


def summary(result: Exploration) -> list[str]:
    """Size, speed, and what the exploration did not touch."""
    rate, distinct_rate = (count / max(result.seconds, 1e-9) for count in (result.generated, result.distinct))
    lines = [
        f"{result.distinct:,} distinct states, {result.generated:,} generated, depth {result.depth}, "
        f"in {result.seconds:.1f} s ({rate:,.0f} generated/s, {distinct_rate:,.0f} distinct/s, "
        f"{result.bytes_per_state:.0f} bytes a state); compiled in {result.compile_seconds:.1f} s"
        + (" (from cache)" if result.cached else "")
    ]
    if result.answers is None:
        lines.append(assurance.of_explorations([result]))
    else:
        lines += [*result.answers.lines(), assurance.of_answers(result)]
    names = symmetries(result)
    if names:
        lines.append(f"each state stands for all that are like it but for the names of: {', '.join(names)}")
    if result.program.reduction is not None and result.program.reduction.proof:
        lines.append(result.program.reduction.proof)
    if result.orders is not None:
        lines.append(result.orders.text())
    idle = [action for action, count in result.fired.items() if not count]
    if result.recoverability.sweeps:
        sweeps, seconds = result.recoverability.sweeps, result.recoverability.seconds
        lines.append(f"searched backward in {sweeps} round{'s' * (sweeps != 1)}, {seconds:.1f} s")
    if result.liveness.sweeps:
        sweeps, seconds = result.liveness.sweeps, result.liveness.seconds
        each = f"{result.liveness.memory / max(1, result.distinct):.0f} bytes a state"
        took = f"{sweeps} sweep{'s' * (sweeps != 1)}, {seconds:.1f} s"
        lines.append(f"searched for fair behaviours in {took}, with at most {each}")
    if idle:
        lines.append(f"actions that never happened: {', '.join(idle)}")
    if result.never_true:
        lines.append("guards never true: " + "; ".join(f"{a}: {c}" for a, c in result.never_true))
    if result.never_false:
        lines.append("guards never false: " + "; ".join(f"{a}: {c}" for a, c in result.never_false))
    lines += [pruning.text() for pruning in result.prunings if pruning.text() not in (result.cut or "")]
    if result.cut:
        program = result.program
        short = result.cut.startswith(OUT_OF_MEMORY)
        lines.append(f"incomplete: {result.cut}" + (f"; {relief(program.system, program.setting)}" if short else ""))
    return lines


def versions() -> dict[str, str]:
    """Versions of what the result depends on."""
    names = ("kraftcheck", "llvmlite", "numpy", "attrs")
    found_versions = {}
    for name in names:
        try:
            found_versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found_versions[name] = "not installed"
    return {**found_versions, "python": platform.python_version()}


def told(command: str, code: int, **parts: Any) -> dict[str, Any]:
    """A command's document: its parts between version, exit code, and the versions of what it depends on."""
    return {"version": DOCUMENT_VERSION, "command": command, "exit_code": code, **parts, "versions": versions()}


def document(
    subject: Subject, result: Exploration, part: dict[str, Any] | None = None, engine: str = "native"
) -> dict[str, Any]:
    """One exploration as plain values (docs/reference/file-formats.md); `part` is what only this engine says."""
    return {
        "version": DOCUMENT_VERSION,
        "command": "explore",
        "engine": engine,
        **({} if part is None else {engine: part}),
        **({} if result.answers is None else {"kafka": result.answers.document()}),
        **subject.document(),
        "exit_code": worst_exit_code(v.verdict for v in result.verdicts),
        "symmetry": symmetries(result),
        "orders": None if result.orders is None else result.orders.document(),
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
            "backward": result.recoverability.seconds,
            "liveness": result.liveness.seconds,
            "compile": result.compile_seconds,
            "audit": result.audit.seconds,
            "cached": result.cached,
        },
        "rates": {
            "generated": result.generated / max(result.seconds, 1e-9),
            "distinct": result.distinct / max(result.seconds, 1e-9),
        },
        "properties": [_property(verdict, result) for verdict in result.verdicts],
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


def pruning_rows(prunings: Sequence[Pruning]) -> list[dict[str, Any]]:
    """The pruned transitions at each bound of each field, as plain values."""
    return [
        {"field": pruning.field, "domain": [pruning.lo, pruning.hi], "side": "above" if pruning.above else "below",
         "count": pruning.count, "actions": dict(pruning.actions), "declared": bool(pruning.cap),
         "reason": pruning.cap or None}
        for pruning in prunings
    ]  # fmt: skip


def _closure(verdict: PropertyVerdict) -> dict[str, Any] | None:
    """The states that can follow a counterexample to `recovers`, as checked on ints."""
    closure = verdict.verdict.trace.closure if isinstance(verdict.verdict, Refuted) else None
    return None if closure is None else {"states": closure.states, "complete": closure.complete}


def _property(verdict: PropertyVerdict, result: Exploration) -> dict[str, Any]:
    claim = next((c for c in result.program.claims if c.id == verdict.claim), None)
    return {
        "id": verdict.claim,
        "kind": verdict.kind,
        "verdict": WORDS[type(verdict.verdict)],
        "depth": verdict.depth,
        "detail": detail(verdict, result.shortest),
        "bound": verdict.verdict.bound if isinstance(verdict.verdict, Holds) else None,
        "failing": list(verdict.verdict.trace.failing) if isinstance(verdict.verdict, Refuted) else [],
        "closure": _closure(verdict),
        "loop": loop_document(verdict.verdict.trace) if isinstance(verdict.verdict, Refuted) else None,
        "trace": trace_document(verdict.verdict),
        "sentence": claim.sentence if claim else None,
        "source": claim.source if claim else None,
    }
