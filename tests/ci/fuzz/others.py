"""Traces, tables of runs, expressions and outcomes of mutants changed at random, for the commands that read them."""

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from kraftcheck.ci.mutants.table import Outcomes
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.expressions.checking import ExpressionError
from kraftcheck.solvers.expressions.expression import expression
from kraftcheck.solvers.traces.itf import normal, spelled
from tests.ci.fuzz.bounds import spoken
from tests.ci.fuzz.mutations import MILD, NUMBERS, SIGNS, VALUES, list_changed, mutation, text_changed
from tests.shared.places import DOCS, TESTS

LIMIT = ("--time-limit", "2s", "--workers", "1", "--quiet")


@cache
def _trace(number: int) -> str:
    found = sorted((TESTS / "traces").glob("*.itf.json"))
    return found[number % len(found)].read_text(encoding="utf-8")


def traces(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """A trace in ITF, or one that says nothing of kraftcheck, with other values or other letters."""
    document = json.loads(_trace(draw.randrange(100)))
    foreign = draw.randrange(3) == 0
    if foreign:
        del document["#meta"]["kraftcheck"]
    if draw.randrange(8) == 0:
        document["states"] = list_changed(draw, document["states"])
    if draw.randrange(5) and document["states"]:
        values = draw.choice((MILD, SIGNS, VALUES, [_itf_value(draw, 4) for _ in range(20)]))
        mutation(draw, values)(draw.choice((document, document["#meta"], *draw.choices(document["states"], k=2))))
    if draw.randrange(8) == 0:
        document["loop"] = draw.choice((0, 1, -1, *NUMBERS))
    text = json.dumps(document, ensure_ascii=bool(draw.randrange(2)))
    if draw.randrange(6) == 0:
        text = text_changed(draw, text, (*SIGNS, "NaN", "1e400", "[" * 5000, "{", "}", '"#set":'))
    with suppress(ValueError):
        assert (same := normal(document.get("states"))) == normal(same)
        assert spelled(same)
    file = place / "trace.itf.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    yield from _trace_commands(draw, file, foreign, place)


_MARKS = ("#bigint", "#set", "#tup", "#map", "#unserializable", "#", "tag", "value", "", "a b")


def _itf_value(draw: random.Random, depth: int) -> Any:
    """A value in ITF's encoding, of any form and depth; some are none of ITF's."""
    if depth == 0 or draw.randrange(4) == 0:
        number = {"#bigint": draw.choice(("0", "-7", "+1", " 1_0", "\uff19", "9" * 4301, 1))}
        return draw.choice((number, *MILD, *SIGNS))
    inner = [_itf_value(draw, depth - 1) for _ in range(draw.choice((0, 1, 2, 2, 5)))]
    kind = draw.randrange(6)
    if kind == 0:
        return {"#map": draw.choice(([[one, one] for one in inner], inner))}
    if kind == 1:
        return {"tag": draw.choice(("Some", *SIGNS)), "value": inner}
    if kind == 2:
        return {draw.choice((*_MARKS, *SIGNS)): one for one in inner}
    return inner if kind == 3 else {draw.choice(_MARKS): inner}


def _trace_commands(draw: random.Random, file: Path, foreign: bool, place: Path) -> Iterator[Sequence[object]]:
    svg, text, graph, out = (place / f"trace.{end}" for end in ("svg", "mermaid", "dot", "again"))
    words: tuple[object, ...] = ("trace", file, "--svg", svg, "--mermaid", text, "--dot", graph)
    if foreign or draw.randrange(20) == 0:  # of ours it searches what other rules would have done, which takes seconds
        words += ("--html", place / "trace.html")
    if not foreign:
        words += draw.choice((("--out", out), ("--full", "--verbose"), ("--minimise", "--out", out)))
    yield words
    assert not [file for file in (text, graph) if file.exists() and spoken(file.read_text(encoding="utf-8"))]
    if svg.exists():
        ElementTree.fromstring(svg.read_bytes())
    if text.exists():
        drawn = text.read_text(encoding="utf-8").splitlines()
        assert not [line for line in drawn if line.lstrip().startswith(("%%{", "click "))]
    if out.exists():
        assert isinstance(json.loads(out.read_bytes()), dict)


@cache
def _table() -> str:
    """A system of the load-bearing table with one row of each outcome."""
    document = json.loads((DOCS / "reference" / "load-bearing.json").read_text(encoding="utf-8"))
    system = document["systems"][0]
    system["mutants"] = list({row["outcome"]: row for row in system["mutants"]}.values())
    return json.dumps({**document, "systems": [system]})


OUTCOMES: Sequence[dict[str, Any]] = tuple(
    {"right": "a", "mutant": "b", "whole": ["c", "d"], "says": ["e", None], "limit": 9, "kind": kind, "of": of}
    for kind, of in (
        ("Killed", {"by": ["x"], "steps": ["y"], "shortest": True}), ("Survived", {"effect": "none"}),
        ("GoalLost", {"goals": ["x"], "idle": []}), ("Undecided", {"cut": "x"}), ("Refused", {"why": "x"}),
    )
)  # fmt: skip
"""Outcomes of operator mutants, of each kind."""


def mutants(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """A table of mutants, and a file of outcomes, with other values, keys or letters."""
    table, rows = json.loads(_table()), json.loads(json.dumps(OUTCOMES))
    mutation(draw)(draw.choice((table, *table["systems"], *table["systems"][0]["mutants"])))
    mutation(draw)(draw.choice(rows))
    texts = {"table.json": json.dumps(table), "outcomes.jsonl": "\n".join(map(json.dumps, rows))}
    for name, text in texts.items():
        changed = text_changed(draw, text, (*SIGNS, "NaN", "[" * 5000)) if draw.randrange(6) == 0 else text
        (place / name).write_text(changed, encoding="utf-8", errors="surrogatepass")
    with suppress(Refusal):
        Outcomes(place / "outcomes.jsonl", 9)
    page, text_page = place / "page.html", place / "page.md"
    yield ("explain", "--from", place / "table.json", "--html", page, "--markdown", text_page)
    assert not [file for file in (page, text_page) if file.exists() and spoken(file.read_text(encoding="utf-8"))]


RUNS: Sequence[dict[str, Any]] = (
    {"system": "broker-ids", "scope": "tiny", "rules": "fixed", "strict": True, "bounds": {"machines": 2},
     "expect": {"ids-unique": "holds"}, "invariants": {"few": "machines[0].id <= 3", "odd": "nothing == 1"}},
    {"name": "walks", "system": "broker-ids", "engine": "simulate", "runs": 5, "steps": 9, "seed": 3, "scope": "tiny"},
    {"name": "proof", "system": "broker-ids", "engine": "prove", "properties": ["ids-unique"], "timeout": 1,
     "bounds": {"machines": "any"}},
)  # fmt: skip
"""Runs of a table; none of them is quite right, which a change may mend."""


def tables(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """A table of runs with other values, keys or letters."""
    document = {"runs": [dict(run, **{"bounds": dict(run["bounds"])} if "bounds" in run else {}) for run in RUNS]}
    document["runs"] = draw.sample(document["runs"], draw.choice((1, 1, 2, 3)))
    for run in document["runs"]:
        if draw.randrange(2):
            run.pop("bounds", None), run.pop("expect", None), run.pop("properties", None), run.pop("invariants", None)
    mutation(draw)(draw.choice((document, draw.choice(document["runs"]))))
    text = _toml(document)
    if draw.randrange(4) == 0:
        text = text_changed(draw, text, (*SIGNS, "[" * 500, "=", "a.b.c", "1e400", "nan", "inf", "0x1F", "1979-05-27"))
    file = place / draw.choice(("kraftcheck.toml", "pyproject.toml"))
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    yield ("check", "--config", file, *LIMIT)


def _toml(document: dict[str, Any]) -> str:
    """A document as TOML, values in lines of their own; null, which TOML lacks, is a text."""
    runs = document.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        return "\n".join(f"{_quoted(key)} = {_value(value)}" for key, value in document.items())
    return "\n".join(
        "[[runs]]\n" + "\n".join(f"{_quoted(key)} = {_value(value)}" for key, value in run.items()) for run in runs
    )


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value if isinstance(value, str) else str(value))


EXPRESSIONS = (
    "leader == none or leader in isr", "size(isr) == 1", "isr == {} and size(elr) == 2", "leader in fenced",
    "all(r in replicas for r in isr)", "not (leader in isr and elr_enabled)", "isr <= {0, 1} | elr",
    "replicas[0] == leader if recovering else 1 < 2", "min_insync_replicas + 1 <= size(isr) * 2 - 3",
    "implies(elr_enabled, size(elr) < 3)", "any(0 in online_dirs[b] for b in registered)",
    "sum(size(d) for d in online_dirs) >= 2", "first(replicas) == last_known_elr", "min(size(isr), 3) != max(1, 2)",
)  # fmt: skip
"""Expressions about elections; some are refused as they are."""

_PIECES = (
    "leader", "isr", "elr", "replicas", "online_dirs", "last_known_elr", "none", "True", "state", "__import__", "(",
    ")", "[", "]", "{", "}", ",", ":", ".", "-", "+", "*", "**", "//", "%", "<<", "<", "==", "!=", " in ", " not in ",
    " and ", " or ", "not ", " if ", " else ", " for x in isr", "lambda", ":=", "await ", "yield ", "size(", "all(",
    "any(", "sum(", "get(", "min(", "1e9", "0x7f", "1_0", "1j", "...", "é", "\ufb01", "\U0001d7cf", "\u200b", "f''",
    "b''", "#", "*isr", "**{}",
)  # fmt: skip


def expressions(draw: random.Random, place: Path) -> Iterator[Sequence[object]]:
    """Expressions with other words, of which a few are given to a command."""
    shape = _layout()
    texts = []
    for _ in range(30):
        text = draw.choice(EXPRESSIONS)
        if draw.randrange(4) == 0:
            text = f"{text} {draw.choice(('and', 'or', '==', 'if True else'))} {draw.choice(EXPRESSIONS)}"
        if draw.randrange(8) == 0:
            text = draw.choice(("(", "not ", "-", "[", "size(", "{")) * draw.choice((3, 30, 90, 900)) + text
        words = text_changed(draw, text, (*_PIECES, *SIGNS, *map(str, NUMBERS)))
        texts.append(words)
        with suppress(ExpressionError):
            expression(words, shape)
    options = draw.choice((("--find",), ("--invariant",), ("--invariant", "--when")))
    given = [word for option in options for word in (option, draw.choice(texts))]
    only = () if "--find" in options else ("--property", "deadlock")
    yield ("explore", "elections", "--scope", "tiny", "--rules", "fixed", *given, *only, *LIMIT)


@cache
def _layout() -> Any:
    chosen = subject("elections", "tiny", {}, "fixed")
    return find_system("elections").layout(chosen.setting)
