"""docs/reference/lemmas.md: whose proof used which lemma, and what refutes each, with pictures."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from tests.documentation.proofs import ProofRun
from tests.properties.register.lemmas import reason, refuter

SHOWN: Mapping[str, tuple[str, ...]] = {
    "elections": ("leader-active", "leader-in-isr", "clean-candidate-kept", "unclean-only-when-allowed"),
    "replication": ("acknowledged-survives", "leader-complete", "logs-match", "loss-is-paid-for"),
    "directories": ("failure-leads-away", "fenced-until-settled", "candidates-complete", "leader-active"),
}
"""The systems whose lemmas are shown, and the properties at the head of each picture."""


def shown(runs: Sequence[ProofRun]) -> list[ProofRun]:
    """The run of each of these systems that says what it used: the first."""
    first = {run.system: run for run in reversed(runs)}
    return [first[system] for system in SHOWN]


def _users(run: ProofRun, lemma: str) -> list[str]:
    """The claims whose proofs used a lemma, in the order of the run."""
    return [claim for claim, used in run.used.items() if lemma in used.split()]


INTRODUCTION = """# Lemmas

Which proof uses which lemma, and which variant of the rules shows that the lemma is no tautology.

A [lemma](../explanation/provers.md#lemmas) makes others inductive. What a proof used is told by the solver's unsat
cores. Another core may do as well, so an idle lemma, which no other proof of the run used, may be needed by another
solver, or with more brokers. In a picture the lines lead from four properties to what their proofs used themselves;
grey is what is promised too. What these rest on in turn is in the tables.

A lemma is refuted where a wrong rule has a run to a state that breaks it: with the variant beside `fixed`, in the
scope, in so many steps. Under `fixed` it holds there. A lemma of the controller is a claim of `elections`, and may be
refuted there. A frame lemma says what no variant changes, for the reason in its row.
`tests/properties/register/lemmas.toml` has the variants and reasons, and tests run the variants, most of them by
night. Lemmas about steps, which are of any number of brokers only, are refuted in `tests/properties/test_lemmas.py`.

Each table is of the first column of its system in [the table of proofs](proofs.md), which says how to make it anew."""


def page(runs: Sequence[ProofRun]) -> str:
    """Lemmas with what uses and what refutes them, as a page."""
    return "\n".join((INTRODUCTION, *(line for run in shown(runs) for line in _system(run)), ""))


def _system(row: ProofRun) -> Iterator[str]:
    system = SYSTEMS[row.system]
    lemmas = {lemma.id: lemma.sentence for lemma in system.lemmas(system.setting(row.scope, rules=parse(row.rules)))}
    idle = [lemma for lemma in lemmas if not _users(row, lemma)]
    frames = sum(reason(row.system, lemma) is not None for lemma in lemmas)
    yield from (
        "", f"## {row.system}", "", f"![What four proofs of {row.system} use](../images/lemmas-{row.system}.svg)", "",
        f"`{row.command()}`, answered by {row.solver}: "
        f"{len(lemmas)} lemmas. Variants refute {len(lemmas) - frames}; frame lemmas: {frames}; idle: {len(idle)}.", "",
        "| lemma | says | used by | refuted by | in | steps |", "|---|---|---|---|---|---|",
    )  # fmt: skip
    for lemma, sentence in lemmas.items():
        cells = (f"`{lemma}`", sentence.replace("|", "\\|"), _named(_users(row, lemma)), *_refuted(row.system, lemma))
        yield f"| {' | '.join(cells)} |"


def _named(users: Sequence[str]) -> str:
    """Properties by name, and how many other lemmas."""
    named = [f"`{claim}`" for claim in users if not claim.startswith("lemma-")]
    others = len(users) - len(named)
    return ", ".join(named + [f"{others} lemma{'s' * (others > 1)}"] * bool(others)) or "idle"


def _refuted(system: str, lemma: str) -> tuple[str, str, str]:
    if (why := reason(system, lemma)) is not None:
        return why, "", ""
    found = refuter(system, lemma)
    assert found is not None, f"{lemma} of {system} has neither a refuter nor a reason in lemmas.toml"
    return f"`{found.variant}`", f"`{found.system} {found.place()}`", str(found.steps)


ROW, LEFT, RIGHT, WIDTH = 18, 210, 470, 820  # height of a row; where lines begin and end; width, in pixels

COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df")
"""One for the lines of each property."""


def picture(row: ProofRun) -> str:
    """The properties on the left, what their proofs used on the right, and a line for each use, as SVG."""
    heads = dict(zip(SHOWN[row.system], COLOURS, strict=True))
    used = sorted({name for head in heads for name in row.used[head].split()}, key=list(row.used).index)
    height = ROW * (len(used) + 1)
    at = {head: (height * (2 * number + 1)) / (2 * len(heads)) for number, head in enumerate(heads)}
    to = {name: ROW * (number + 1) for number, name in enumerate(used)}
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height + ROW // 2}" role="img">',
        f"<title>What four proofs of {escape(row.system)} use</title>",
        "<style>text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328 }",
        ".promised { fill: #6e7781 }",
        "path { fill: none; stroke-opacity: .6 }</style>",
        f'<rect width="{WIDTH}" height="{height + ROW // 2}" fill="#ffffff"/>',
        *(_line(at[head], to[name], colour) for head, colour in heads.items() for name in row.used[head].split()),
        *(f'<text x="{LEFT - 6}" y="{y + 4:g}" text-anchor="end">{escape(head)}</text>' for head, y in at.items()),
        *(_name(name, y) for name, y in to.items()),
        "</svg>", "",
    ))  # fmt: skip


def _line(start: float, end: float, colour: str) -> str:
    middle = (LEFT + RIGHT) // 2
    return f'<path d="M{LEFT} {start:g}C{middle} {start:g} {middle} {end:g} {RIGHT} {end:g}" stroke="{colour}"/>'


def _name(name: str, y: float) -> str:
    kind = "" if name.startswith("lemma-") else ' class="promised"'
    return f'<text x="{RIGHT + 6}" y="{y + 4:g}"{kind}>{escape(name)}</text>'
