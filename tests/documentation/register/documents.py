"""Pages of the reference whose entries rules cite: candidate properties, suspicious behaviours, defects."""

from collections.abc import Iterator

from kraftcheck.properties.register.coverage import DOCUMENTS, Statement
from tests.documentation.register.coverage import refuted

INVARIANTS = """# Invariants, and behaviour that breaks them

Candidate properties of the snapshot that [the semantics reference](kafka-semantics.md) describes, and what in it
should not be; the letters are explained there.

## Candidate properties

Each is evaluated after a whole event; a prime marks the next state. From 40 on they are about what finally happens,
with fair timers and a controller that can be reached. In the snapshot some hold (H), and some are broken by the named
behaviour: both by reading and by random walks. Invariant 34 does not hold after all: with B5 and B8 an unclean
election can seat "broker" −1 ([controller](controller.md)). The last column has the variants that refute the property
here, with the length of the shortest trace; [verdicts](verdicts.md) has what each rule set refutes.

| # | property | as a formula | snapshot | refuted by |
|---|---|---|---|---|
"""

BEHAVIOUR = """
## Suspicious behaviour

Which releases still have it is in [the table of classes](kafka-classes.md#defects-on-the-released-classes). Those
marked ✔ were reproduced on Kafka's classes; the others were read and not run.

| # | behaviour | refuted here |
|---|---|---|
"""

CATALOGUE = """# Defects of Kafka's replication and controller: the catalogue

Real defects of Kafka's replication and controller code, and of design documents, that a model checker of them should
find again: each with the wrong rule, the right one, and the variant that puts it back here.

With the variant the named property breaks, in the scope and the steps that "shown" has; without it the same scope
holds no violation. `kraftcheck bugs VARIANT` explores both, `kraftcheck where X1` leads to the code. Which releases
have a defect is in [the table of classes](kafka-classes.md#defects-on-the-released-classes). Sources: `apache/kafka`
(1eb7644349c, 2024-10-25), the TLA+ specifications `hachikuji/kafka-specification` (d68782b) and
`Vanlightly/kafka-tlaplus` (823615e), the design documents, issues and pull requests of 2024 to 2026.

<a id="seeded"></a>

**Seeded defects.** A source may say `seeded`. Such a variant is a wrong rule that no release and no document has. It
shows that the property it refutes can fail.

| tag | the entry was |
|---|---|
| `run` | observed on Kafka's own classes of 1eb7644349c |
| `bfs` | found in a small explicit-state port of one rule, which holds without the defect |
| `code`, `text` | read in the commit or source; only in an issue, PR, KIP or page |
| `tla` | stated or encoded in a TLA+ specification |
| `read` | found by reading 1eb7644349c, without an upstream report, and not tried on a live cluster |

**Notation.** Partition: `R` replicas, `A` adding, `D` removing, `I` ISR, `E` ELR, `K` last-known-leader list, `L`
leader (−1 none), `le`/`pe` leader/partition epoch, `min` effective min.insync.replicas. Broker b: `fenced`, `csd`
(controlled shutdown), `be` broker epoch, `reg` registered online dirs, `dir(b)` directory of its replica.
Leader-local: `J` committed ISR it knows, `M = J ∪ proposed` maximal ISR, `leo[f]`, `leso` leader-epoch start offset,
`hw`.

## What the set teaches

1. **Six families** cover nearly everything: a *stale fact* is used (fetch, epoch, incarnation, metadata); two
   decisions are made from *one base state*; *replication quorum* and *election quorum* come apart; *absence is read as
   a value* (empty list, −1, missing epoch); a set is *not intersected* with R, min or liveness; an *unfinished
   two-phase step is forgotten* (promotion, reassignment, shutdown).
2. **Bounds hide defects.** 2 replicas never show `fetch-unfenced`, `no-leader-epoch-start-check` and
   `hw-by-record-epoch-only`; 3 do. min ≤ 2 never shows S1; min 3 shows it in two steps. X1 loses data only after
   reassign, cancel, reassign. `one-directory-means-all-online` needs exactly 2 directories.
3. `candidates-complete` fires before `leader-complete`, so traces stay short. Liveness needs healing without a cap.

## Findings not seen upstream

| id | what | known by | shown |
|---|---|---|---|
"""

SHORT = """## Short entries

| # | entry | wrong → right rule | mended by | known by | shown |
|---|---|---|---|---|---|
"""

OTHERS = """
## Smaller siblings, and what was reported since 2024

| report | says | shown, or why not |
|---|---|---|
"""


def statements(document: str) -> tuple[Statement, ...]:
    """Those of a document of the register."""
    return next(one.statements for one in DOCUMENTS if one.name == document)


def invariants() -> str:
    """The text of the page of candidate properties and suspicious behaviours."""
    rows = [
        _row(f"{_anchor(f'invariant-{_at(one)}')}{_at(one)}", one.says, one.right, ", ".join(one.known), refuted(one))
        for one in statements("invariant")
    ]
    behaviours = [
        _row(f"{_anchor(_at(one).lower())}{_at(one)}{' ✔' * ('run' in one.known)}", f"**{one.title}.** {one.tells}",
             refuted(one))
        for one in statements("behaviour")
    ]  # fmt: skip
    return f"{INVARIANTS}{''.join(rows)}{BEHAVIOUR}{''.join(behaviours)}"


def catalogue() -> str:
    """The text of the catalogue of defects."""
    every = statements("catalogue")
    findings = [
        _row(f"{_anchor(_at(one).lower())}{_at(one)}", one.tells, _code(one.known), _shown(one))
        for one in statements("finding")
    ]
    short = [
        _row(f"{_anchor(f'catalogue-{_at(one)}')}{_at(one)}", f"**{one.title}.** {one.says}",
             f"{one.wrong} → {one.right}", one.mend, _code(one.known), _shown(one))
        for one in every if not one.tells
    ]  # fmt: skip
    others = [_row(_at(one), one.says, _shown(one)) for name in ("sibling", "later") for one in statements(name)]
    full = "".join(line for one in every if one.tells for line in _entry(one))
    head = f"{CATALOGUE}{''.join(findings)}\n## Full entries, most instructive first\n"
    return f"{head}{full}\n{SHORT}{''.join(short)}{OTHERS}{''.join(others)}"


def _entry(one: Statement) -> Iterator[str]:
    yield f"\n### {_anchor(f'catalogue-{_at(one)}')}{_at(one)}. {one.title}\n\n{one.tells}\n\n"
    rules = {"wrong": one.wrong, "right": one.right, "mended by": one.mend, "known by": _code(one.known)}
    yield from (f"* {word}: {told}\n" for word, told in {**rules, "shown": _shown(one)}.items() if told)


def _shown(one: Statement) -> str:
    return ". ".join(part for part in (refuted(one), one.reason) if part)


def _at(one: Statement) -> str:
    return one.id.partition(" ")[2]


def _anchor(name: str) -> str:
    return f'<a id="{name}"></a>'


def _code(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
