"""The page of operator mutants: the score of the properties, from the outcomes that a command writes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from kraftcheck.ci.mutants.operators import Alive, SystemScore, judgement
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.properties.catalogue import FAIR_SYSTEMS
from kraftcheck.properties.register.mutants import FURTHER
from kraftcheck.solvers.mutants.operators import OF_CONDITIONS, OPERATORS


def read_scores(path: Path) -> list[SystemScore]:
    """The scores of a document; it is one of this version, or the test fails."""
    systems = read_json(path)["systems"]
    return [SystemScore(**{**one, "alive": tuple(Alive(**row) for row in one["alive"])}) for one in systems]


HEAD = """# Operator mutants

The score of the properties: how many changes of the rules that nobody chose a property, or a goal, notices in a small
scope, per system.

An operator changes one expression of the rules. Every expression is changed that a system meets while it is traced,
under the rules `fixed`. The properties are traced with the mutant too: a property that calls what it judges does not
notice the change. No unit test counts. Conditions are dropped, too, as in [the load-bearing table](load-bearing.md),
which says of each which property breaks first, and by how short a trace.

## Score

{score}

* `refused`: the rules cannot be traced, as when a set stands where a number is meant; there is nothing to explore.
* `leaves its domain`: the only effect that is noticed is a field with a value that it cannot have. The states are
  then incomplete, so that this is no kill.
* `same program`: the terms of the system are those without the mutant. No question of any engine tells them apart.
* `no effect`: the terms differ, and no state and no step of the scope does. A larger scope may tell them apart.
* `killed`: a property is refuted. The changed rules on ints confirm each counterexample.
* `goal lost`: no property is refuted, and the scope does not show something any more that it should.
* `elsewhere`: nothing kills it here, and a property or a goal of another system of the table does, or one in a further
  scope, where mutants of operators that nothing kills are asked again. There lemmas count, too: where one is refuted,
  the proofs that rest on it are none. Fair behaviours are asked of {fair}.
* `judged`: it makes a difference that is none to Kafka, or that the scope cannot show; the reasons are below.
* `open`: nothing kills it, and nobody has said why that is right. Each is a property that may be missing.
* `undecided`: its states were more than the limit, or a behaviour leaves the bounds, and nothing kills it elsewhere.

The score is the part that is killed, here or elsewhere, of those that are killed, open or undecided.
A row `of N drawn` is of the mutants that the system meets among N of the operators' that were drawn by lot, whatever
their system, and of as large a share of its conditions; a larger sample holds the smaller one.

## Operators

{operators}
| `guard`, `branch`, `conjunct`, `disjunct` | a condition that is dropped, or a branch that is taken always or never |

The words that rules are written with, the choices of rule sets, the tests of `if`, and what describes a scope are
not changed; nor is the code that [the load-bearing table](load-bearing.md) leaves as it is.

## Made again

```text
kraftcheck explain --operators --limit 300000{drawn} --results outcomes.jsonl \\
    --json docs/reference/operator-mutants.json
python -m tests.documentation
```

The first command keeps every outcome in `outcomes.jsonl`. Stopped and started again, it goes on from there; after a
change it asks again only where the program of the rules, or of a property that did not break, is another. Without
`--sample` it judges all.
`kraftcheck explain SYSTEM --scope SCOPE --operators --sample N` judges N mutants that are drawn. A test draws some at
each change, by the text of the rules, and fails where one survives that this page does not know. The nightly run judges
all that are drawn for this page again, and of all others the part that is killed."""


def page(scores: Sequence[SystemScore]) -> str:
    """The page."""
    draws = dict.fromkeys((one.sample, one.seed) for one in scores if one.sample)
    drawn = "".join(f" --sample {sample} --seed {seed}" for sample, seed in draws)
    text = HEAD.format(score="\n".join(table(scores)), operators="\n".join(_operators()), drawn=drawn, fair=_fair())
    return "\n".join([text, *_killers(scores), *_judged(scores), *_open(scores)]) + "\n"


def table(scores: Sequence[SystemScore]) -> Iterator[str]:
    """A row for each system, and the sums."""
    yield (
        "| system | mutants | refused | leaves its domain | same program | no effect | killed | goal lost "
        "| elsewhere | judged | open | undecided | score |"
    )
    yield "|---" * 13 + "|"
    rows = [counted(one) for one in scores]
    for one, row in zip(scores, rows, strict=True):
        scope = one.title.split(" (")[0].partition(", ")[2]
        yield _page_row(f"`{one.system}`, {scope}" + (f", of {one.sample:,} drawn" if one.sample else ""), row)
    yield _page_row("all", sum(rows, Counter()))


COLUMNS = (
    "mutants", "refused", "left", "same", "none", "killed", "lost", "elsewhere", "judged", "open", "undecided",
)  # fmt: skip


def counted(one: SystemScore) -> Counter[str]:
    """The numbers of a system by column."""
    kinds = Counter(kind(one.system, row) for row in one.alive)
    return Counter({
        "mutants": one.mutants, "refused": one.refused, "left": one.left, "same": one.same,
        "none": one.without_effect, "killed": sum(one.killed.values()), "lost": sum(one.lost.values()), **kinds,
    })  # fmt: skip


def kind(system: str, row: Alive) -> str:
    """What is to be said of a mutant that lives in a system."""
    if row.elsewhere:
        return "elsewhere"
    if judgement(system, row) is not None:
        return "judged"
    return "undecided" if row.cut else "open"


def percent(row: Counter[str]) -> str:
    """The score."""
    noticed = row["killed"] + row["lost"] + row["elsewhere"]
    every = noticed + row["open"] + row["undecided"]
    return f"{100 * noticed / every:.1f} %" if every else ""


def _page_row(name: str, row: Counter[str]) -> str:
    return f"| {name} | {' | '.join(f'{row[column]:,}' for column in COLUMNS)} | {percent(row)} |"


def _operators() -> Iterator[str]:
    yield "| operator | puts in an expression's place |"
    yield "|---|---|"
    for name, operator in ((name, one) for name, one in OPERATORS.items() if name not in OF_CONDITIONS):
        sentence = " ".join((operator.__doc__ or "").split()).rstrip(".")
        yield f"| `{name}` | {sentence[0].lower()}{sentence[1:]} |"


def _fair() -> str:
    """The further scopes with fair behaviours."""
    return ", ".join(f"`{system}` {scope}" for system, scope, _ in FURTHER if system in FAIR_SYSTEMS)


def _killers(scores: Sequence[SystemScore]) -> Iterator[str]:
    yield "\n## What kills\n"
    for one in scores:
        every = sorted({**one.killed, **one.lost}.items(), key=lambda pair: (-pair[1], pair[0]))
        if every:
            yield f"* `{one.system}`: {', '.join(f'`{name}` {count}' for name, count in every)}"


def _judged(scores: Sequence[SystemScore]) -> Iterator[str]:
    reasons: dict[tuple[str, str], Counter[str]] = {}
    for one in scores:
        for row in one.alive:
            judged = judgement(one.system, row)
            if kind(one.system, row) == "judged" and judged is not None:
                reasons.setdefault((judged.kind, judged.why), Counter())[row.group.rpartition(":")[2]] += 1
    if reasons:
        yield "\n## Judged\n"
        for (what, why), names in reasons.items():
            listed = ", ".join(f"`{name}`" + (f" ({count})" if count > 1 else "") for name, count in names.items())
            yield f"* {what}: {why}: {listed}"


def _open(scores: Sequence[SystemScore]) -> Iterator[str]:
    for one in scores:
        rows = [row for row in one.alive if kind(one.system, row) in ("open", "undecided")]
        if rows:
            yield f"\n## Open in `{one.system}`\n"
            yield "| function | operator | as written | as changed |"
            yield "|---|---|---|---|"
            yield from (_listed(row) for row in rows)


def _listed(row: Alive) -> str:
    group, operator, number = row.name.rsplit(":", 2)
    cut = f" (undecided: {row.cut})" if row.cut else ""
    return f"| `{group}` | {operator} {number} | {_code(row.before)} | {_code(row.after)}{cut} |"


SHOWN = 90


def _code(text: str) -> str:
    short = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return f"`{short.replace('|', chr(92) + '|')}`"
