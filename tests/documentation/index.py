"""First pages of the folders of docs/, and which pages of the reference the site alone has."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from kraftcheck.ci.conformance.findings.live import SCENARIOS, SHOWN, observations
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.ruleset import PRESETS, RELEASES
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EXPECTED
from tests.ci.dataset import questions
from tests.ci.mutants.operator_page import counted, percent, read_scores
from tests.documentation import commands
from tests.documentation.register import coverage, defects
from tests.documentation.releases import columns
from tests.model.language.words import page as words
from tests.properties.register import rules_page
from tests.shared.places import DOCS

REFERENCE = """# Reference

What there is, in tables. Most of these pages are written from data or by a run, and tests compare them with it; no
figure on this page is written by hand. A page without a link is made with the site: `.venv/bin/mkdocs serve` shows it.

kraftcheck has {systems} systems with {properties} properties, under {presets} rule sets.

{table}

The site has an API reference, too, made from the docstrings of the packages.

## Verdicts in short

How many properties are refuted in some scope, of those that `./ci/check` judges under a rule set. A rule set that is
not explored for a system has no number. [Verdicts](verdicts.md) names each property, and the length of its shortest
trace.

{verdicts}
"""

DECISIONS = """# Decisions

What was decided, in which situation, what else was considered, and what follows from it. A decision that is replaced
stays, and says by which.

{table}
"""

FIRST = {
    "how-to": """# How-to guides

One task a page. Each assumes that the [first ten minutes](../tutorial/first-ten-minutes.md) are behind you.
""",
    "tutorial": """# Tutorials

Begin with [ten minutes](first-ten-minutes.md), then write [a system of your own](a-system-of-your-own.md). What a
lesson shows is what is printed: a test runs it.
""",
    "explanation": """# Explanation

Why things are as they are: what is modelled, how it is decided, and what may be trusted. [Systems](systems/README.md)
and [decisions](adr/README.md) have pages of their own.

![From one set of rules to every engine, and from each witness back to the rules](../images/architecture.svg)
""",
    "explanation/systems": """# Systems

What each system models, what it abstracts, and what its refutations mean. The design documents are systems too: their
procedures are actions, their promises properties, and their open questions, which the pages answer, variants of rules.
`kraftcheck list SYSTEM --properties` prints each promise, `kraftcheck where KIP-858` what became of each statement of a
document, and `kraftcheck bugs` every defect that a system shows.
""",
}
"""What begins the first page of a folder; a table of the folder's pages follows."""


def properties(name: str) -> Mapping[str, Property]:
    """The properties that a system has in any of its scopes, under any rule set."""
    system = SYSTEMS[name]
    settings = [system.setting(scope, rules=preset) for scope in system.scopes for preset in PRESETS.values()]
    return {claim.id: claim for setting in settings for claim in system.properties(setting)}


def _verdicts() -> str:
    refuted = sum(word.startswith("refuted") for row in EXPECTED.values() for word in row.values())
    systems = len({row[0] for row in EXPECTED})
    return f"{len(EXPECTED)} explorations of {systems} systems, {refuted} refutations expected"


def _scopes() -> str:
    text = (DOCS / "reference" / "scopes.md").read_text(encoding="utf-8")
    sizes = re.findall(r"^\| `\S+` \| `\S+` \| [^|]* \| ([\d,]+) \|", text, re.MULTILINE)
    most = max(int(size.replace(",", "")) for size in sizes)
    scopes = sum(len(system.scopes) for system in SYSTEMS.values())
    return f"{scopes} scopes, the largest explored whole has {most:,} states"


def _load_bearing() -> str:
    text = (DOCS / "reference" / "load-bearing.md").read_text(encoding="utf-8")
    head, total = re.findall(r"^\| (?:system|all) \|.*$", text, re.MULTILINE)
    told = dict(zip(*([cell.strip() for cell in row.strip("|").split("|")] for row in (head, total)), strict=True))
    return f"{told['mutants']} mutants of the rules, {told['survives']} survive, each with its reason"


def _operator_mutants() -> str:
    every = sum(map(counted, read_scores(DOCS / "reference" / "operator-mutants.json")), Counter[str]())
    return f"{every['mutants']:,} changes of the rules, {percent(every)} of those that count are noticed"


def _live_findings() -> str:
    shown = [one for one in observations() if one.outcome == SHOWN]
    releases = len({one.release for one in shown})
    return f"{len({one.finding for one in shown})} of {len(SCENARIOS)} scenarios shown, on {releases} releases"


OF_SITE = {
    "commands.md": commands, "coverage.md": coverage, "defects.md": defects, "questions.md": questions,
    "rules.md": rules_page, "words.md": words,
}  # fmt: skip
"""What makes the long tables of the reference that the site alone has: `HEAD` begins each, `page()` is the whole."""

FIGURES: Mapping[str, Callable[[], str]] = {
    "commands.md": lambda: f"{len(commands.commands())} commands",
    "conformance.md": lambda: f"{len(known_versions())} releases of Kafka",
    "coverage.md": coverage.figures,
    "defects.md": lambda: f"{len(BUGS)} defects",
    "live-findings.md": _live_findings,
    "load-bearing.md": _load_bearing,
    "operator-mutants.md": _operator_mutants,
    "releases.md": lambda: f"{len(RELEASES)} releases, {len(columns())} rule sets",
    "scopes.md": _scopes,
    "verdicts.md": _verdicts,
}
"""What the pages come to, counted."""


def described(text: str) -> tuple[str, str]:
    """The title of a page, and its first sentence without links."""
    title, _, rest = text.removeprefix("# ").partition("\n")
    paragraph = " ".join(rest.strip().split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.?]) (?=[A-Z`[])", paragraph)[0]
    return title, re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", sentence)


def table(folder: Path, figures: Mapping[str, Callable[[], str]], made: Mapping[str, str] = {}) -> str:
    """A row for each page of a folder but the first, and for those that are made with the site, by their beginning."""
    lines = ["| page | says | figures |", "|---|---|---|"] if figures else ["| page | says |", "|---|---|"]
    kept = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md") if page.name != "README.md"}
    for name, text in sorted({**kept, **made}.items()):
        title, sentence = described(text)
        cells = [title if name in made else f"[{title}]({name})", sentence.replace("|", "\\|")]
        cells += [figures.get(name, str)()] if figures else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verdicts() -> str:
    """A row for each system: how many of its properties some scope refutes, under each rule set that is explored."""
    names = [name for name in PRESETS if any(rules == name for _, _, rules in EXPECTED)]
    lines = [f"| system | {' | '.join(f'`{name}`' for name in names)} |", "|---" * (len(names) + 1) + "|"]
    for system in dict.fromkeys(system for system, _, _ in EXPECTED):
        cells = [_refuted(system, rules) for rules in names]
        lines.append(f"| [`{system}`](../explanation/systems/{system}.md) | {' | '.join(cells)} |")
    return "\n".join(lines)


def _refuted(system: str, rules: str) -> str:
    rows = {scope: row for (name, scope, under), row in EXPECTED.items() if (name, under) == (system, rules)}
    if not rows:
        return ""
    chosen, preset = SYSTEMS[system], PRESETS[rules]
    judged = {claim.id for scope in rows for claim in chosen.properties(chosen.setting(scope, rules=preset))}
    return f"{len({claim for row in rows.values() for claim in row} & judged)} of {len(judged)}"


def reference() -> str:
    """The first page of docs/reference."""
    figures = {
        "systems": len(SYSTEMS),
        "properties": f"{sum(len(properties(name)) for name in SYSTEMS):,}",
        "presets": len(PRESETS),
        "table": table(DOCS / "reference", FIGURES, {name: one.HEAD for name, one in OF_SITE.items()}),
        "verdicts": verdicts(),
    }
    return REFERENCE.format(**figures)


def decisions() -> str:
    """The first page of docs/explanation/adr."""
    rows = []
    for page in sorted((DOCS / "explanation" / "adr").glob("0*.md")):
        number, _, title = described(page.read_text(encoding="utf-8"))[0].partition(". ")
        rows.append(f"| {number} | [{title}]({page.name}) |")
    return DECISIONS.format(table="\n".join(["| number | decision |", "|---|---|", *rows]))


def first(folder: str) -> str:
    """The first page of a folder."""
    return f"{FIRST[folder]}\n{table(DOCS / folder, {})}\n"
