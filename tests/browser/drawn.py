"""Pictures of the documentation that are drawn from data: how parts go together, a finding, and what scale costs."""

import math
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.findings.junit_tests import retraced
from kraftcheck.ci.conformance.findings.report import in_words
from kraftcheck.ci.conformance.findings.search import recorded, rules_of, subject_of
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.findings import BY_ID
from tests.documentation.index import properties
from tests.shared.places import DOCS

STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .head { font-weight: 600 } .small { font-size: 12px }
.bad { fill: #b31d28; font-weight: 600 } .lost { fill: none; stroke: #b31d28; stroke-dasharray: 3 3 }
.paper { fill: #ffffff } .box { fill: #f6f8fa; stroke: #8c959f } .core { fill: #ddf4ff; stroke: #0969da }
path { fill: none; stroke: #57606a; stroke-width: 1.5 } .tip { fill: #57606a; stroke: none }
.back { stroke: #8250df; stroke-dasharray: 5 4 } .backtip { fill: #8250df; stroke: none } .told { fill: #7340cf }
.grid { stroke: #8c959f; stroke-opacity: .4; stroke-width: 1 }
.c0 { fill: #0969da; stroke: #0969da } .c1 { fill: #bc4c00; stroke: #bc4c00 } .c2 { fill: #1a7f37; stroke: #1a7f37 }
path.c0, path.c1, path.c2 { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .bad { fill: #ff8a8f } .lost { stroke: #ff8a8f }
.paper { fill: #0d1117 } .box { fill: #161b22; stroke: #6e7681 }
.core { fill: #0c2d6b; stroke: #58a6ff } path { stroke: #8b949e } .tip { fill: #8b949e }
.back { stroke: #b78aff } .backtip { fill: #b78aff } .told { fill: #c9a6ff }
.c0 { fill: #58a6ff; stroke: #58a6ff } .c1 { fill: #ffa657; stroke: #ffa657 } .c2 { fill: #3fb950; stroke: #3fb950 }
}
"""
"""Colours on white paper, and on dark paper where the reader prefers that."""

LINE, WIDE = 18, 900


def document(title: str, height: int, parts: Sequence[str]) -> str:
    """An SVG document without a script or anything from elsewhere."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDE} {height}">'
    paper = f'<rect class="paper" width="{WIDE}" height="{height}"/>'
    return "\n".join((head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", paper, *parts, "</svg>", ""))


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    """A line of text."""
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>'


@frozen
class Box:
    """A part of kraftcheck."""

    folders: tuple[str, ...]  # where it is in the sources
    # x, y, width: its place in pixels
    x: int
    y: int
    width: int
    # title, lines: what stands in it
    title: str
    lines: tuple[str, ...]
    kind: str = "box"  # its colour

    @property
    def height(self) -> int:
        """By its lines."""
        return LINE * (len(self.lines) + 1) + 16

    def drawn(self) -> Iterator[str]:
        """The box and its text."""
        place = f'x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6"'
        yield f'<rect class="{self.kind}" {place}/>'
        yield text(self.x + 12, self.y + 22, self.title, "head")
        for row, line in enumerate(self.lines, start=1):
            yield text(self.x + 12, self.y + 22 + LINE * row, line, "small")


def boxes() -> dict[str, Box]:
    """The parts, with what there is of each."""
    rules, systems = len(entries()), len(SYSTEMS)
    claims = len({(name, one) for name in SYSTEMS for one in properties(name)})
    return {
        "rules": Box(("model", "properties"), 20, 150, 220, "One set of rules in Python", (
            f"{rules} rules with id and source,", f"{systems} systems, {claims} properties,",
            "each with what refutes it;", "or a system of your own"), "core"),
        "ints": Box(("solvers/reference", "solvers/audit"), 300, 60, 190, "called with ints", (
            "a state, a step, an answer:", "what every engine", "is held to"), "core"),
        "terms": Box(("model/language", "solvers/program"), 300, 262, 190, "called with terms", (
            "traced once into a program", "of fields, guards, effects"), "core"),
        "kafka": Box(("ci/conformance",), 580, 14, 300, "Kafka's classes: conform, branch", (
            f"{len(known_versions())} releases, or any build", "must decide alike, or are explored themselves")),
        "logs": Box(("ci/logs", "solvers/logs"), 580, 100, 300, "Kafka's logs: status, replay, whatif", (
            "each batch by the rules of its release",)),
        "walks": Box(("solvers/walks", "solvers/hypothesis"), 580, 168, 300, "Hypothesis, walks, serve", (
            "runs beyond what can be searched",)),
        "code": Box(("solvers/machine_code", "ci/spark"), 580, 236, 300, "machine code: explore", (
            "every state: in memory, in files, on Spark;", "liveness under fairness")),
        "proofs": Box(("solvers/smt", "ci/prove"), 580, 322, 300, "Z3, cvc5, Bitwuzla: prove", (
            "any number of steps, and of brokers",)),
        "others": Box(("solvers/tla", "solvers/certificates"), 580, 390, 300, "TLA+, SMT-LIB, VMT: other checkers", (
            "the same system, without our engines",)),
    }  # fmt: skip


ARROWS = (
    ("rules", "ints"), ("rules", "terms"), ("ints", "kafka"), ("ints", "logs"), ("ints", "walks"), ("terms", "code"),
    ("terms", "proofs"), ("terms", "others"),
)  # fmt: skip


def architecture() -> str:
    """From rules to engines, and from every engine's witness back to the rules."""
    placed = boxes()
    parts = [_arrow(placed[start], placed[end]) for start, end in ARROWS]
    ints, code = placed["ints"], placed["code"]
    x, top = ints.x + 130, ints.y + ints.height
    parts.append(f'<path class="back" d="M{code.x} {code.y + 22} H{x} V{top + 8}"/>')
    parts.append(f'<polygon class="backtip" points="{x - 5},{top + 9} {x + 5},{top + 9} {x},{top}"/>')
    parts.append(text(x - 10, top + 34, "each witness, and", "small told", "end"))
    parts.append(text(x - 10, top + 34 + LINE, "a sample of states", "small told", "end"))
    parts += [line for box in placed.values() for line in box.drawn()]
    return document("One set of rules, called with ints and with terms; every engine is held to the ints", 464, parts)


def _arrow(start: Box, end: Box) -> str:
    x, y = start.x + start.width, start.y + start.height / 2
    to, height = end.x, end.y + end.height / 2
    turn = (x + to) / 2
    tip = f'<polygon class="tip" points="{to - 8},{height - 5:g} {to - 8},{height + 5:g} {to},{height:g}"/>'
    return f'<path d="M{x} {y:g} C{turn:g} {y:g} {turn:g} {height:g} {to - 8} {height:g}"/>{tip}'


STORY, FRAMES = "ghost-elr-member", (0, 3, 5, 6, 7)
"""The finding that is told, and the steps after which its frames stand."""


def story() -> str:
    """The shortest trace of a finding in the newest release, in frames: steps in words, and each broker after them."""
    finding, release = BY_ID[STORY], known_versions()[-1]
    shown = recorded()[STORY, release]
    chosen = subject_of(finding, rules_of(finding, release))
    states, said = retraced(finding, shown, chosen).states, [in_words(chosen.system.name, one) for one in shown.events]
    told = [" ".join(said[last:step]) or "At the start." for last, step in zip((0, *FRAMES), FRAMES, strict=False)]
    lines = [textwrap.wrap(words, 27) for words in told]
    top, height = 52 + LINE * max(map(len, lines)), 6 * LINE
    parts = [text(10, 22, f"{finding.title} (rules of Kafka {release})", "head")]
    for number, (words, step) in enumerate(zip(lines, FRAMES, strict=True)):
        x = 10 + 178 * number
        parts += [text(x, 50 + LINE * row, line, "small") for row, line in enumerate(words)]
        for broker in range(len(states[step].brokers)):
            parts += _broker(x, top + broker * (height + 10), height, states[step], broker)
    return document(finding.title, top + len(states[0].brokers) * (height + 10), parts)


def _broker(x: int, y: int, height: int, state: Any, broker: int) -> Iterator[str]:
    """A broker in a state: whether it leads, what it is to the partition, and its log beside the committed records."""
    partition, log, committed = state.controller, state.brokers[broker].log.end(), state.committed.end()
    leads, member = partition.leader == broker, broker in partition.replicas
    yield f'<rect class="{"core" if leads else "box"}" x="{x}" y="{y}" width="168" height="{height}" rx="6"/>'
    yield text(x + 10, y + 22, f"broker {broker}", "head")
    yield text(x + 158, y + 22, "fenced" if broker in partition.fenced else "", "small", "end")
    says = {
        "leads": leads, "in sync": broker in partition.isr and not leads, "in the ELR": broker in partition.elr,
        "being added": broker in partition.adding, "no replica": not member,
    }  # fmt: skip
    for row, word in enumerate((word for word, holds in says.items() if holds), start=1):
        wrong = word == "in the ELR" and not member
        yield text(x + 10, y + 22 + LINE * row, word, "small bad" if wrong else "small")
    lost = leads and log < committed
    yield text(x + 10, y + height - 12, "log", "small")
    for place in range(max(log, committed if lost else 0)):
        kind = "c2" if place < log else "lost"
        yield f'<rect class="{kind}" x="{x + 38 + 18 * place}" y="{y + height - 24}" width="14" height="14"/>'
    if lost or log == 0:
        yield text(x + 158, y + height - 12, "lost" if lost else "empty", f"small {'bad' * lost}", "end")


def measured() -> list[tuple[str, float, float, float]]:
    """The rows of the table of docs/explanation/scale.md: engine, states, seconds, megabytes or NaN."""
    page = (DOCS / "explanation" / "scale.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .* \| (native|disk|Spark) \| ([\d,]+) \| ([\d,.]+) \| ?([\d,]*) \|$", page, re.MULTILINE)
    return [(engine, *(float(one.replace(",", "") or "nan") for one in numbers)) for engine, *numbers in rows]


ENGINES = ("native", "disk", "Spark")
LEAST, MOST = 4, 10  # powers of ten of states at the left and at the right


def scale() -> str:
    """Seconds, and bytes of memory, by states."""
    rows = measured()
    parts = _chart(70, "seconds", (-1, 4), [(engine, states, seconds) for engine, states, seconds, _ in rows])
    parts += _chart(510, "MB of memory", (0, 5), [(engine, states, memory) for engine, states, _, memory in rows])
    for number, engine in enumerate(ENGINES):
        parts.append(f'<circle class="c{number}" cx="{90 + 120 * number}" cy="352" r="5"/>')
        parts.append(text(102 + 120 * number, 357, engine))
    return document("What a space costs, by its states: both scales are logarithmic", 370, parts)


def _chart(left: int, name: str, powers: tuple[int, int], points: Sequence[tuple[str, float, float]]) -> list[str]:
    """One chart: a grid of powers of ten, and the points of each engine, joined."""
    width, top, bottom = 350, 40, 290
    low, high = powers

    def place(states: float, value: float) -> tuple[float, float]:
        across = (math.log10(states) - LEAST) / (MOST - LEAST)
        return left + width * across, bottom - (bottom - top) * (math.log10(value) - low) / (high - low)

    parts = [text(left, 24, name, "head"), text(left + width, bottom + 36, "states", "small", "end")]
    for power in range(LEAST, MOST + 1):
        x, _ = place(10**power, 1)
        parts += [f'<path class="grid" d="M{x:g} {top} V{bottom}"/>', _power(x, bottom + 18, power, "middle")]
    for power in range(low, high + 1):
        _, y = place(10, 10.0**power)
        parts += [f'<path class="grid" d="M{left} {y:g} H{left + width}"/>', _power(left - 8, y + 4, power, "end")]
    for number, engine in enumerate(ENGINES):
        line = [place(states, value) for of, states, value in points if of == engine and not math.isnan(value)]
        parts += [f'<path class="c{number}" d="M{" L".join(f"{x:.1f} {y:.1f}" for x, y in line)}"/>'] * (len(line) > 1)
        parts += [f'<circle class="c{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in line]
    return parts


def _power(x: float, y: float, power: int, anchor: str) -> str:
    raised = f'10<tspan dy="-5" font-size="12">{power}</tspan>'
    return f'<text class="small" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{raised}</text>'


DRAWN: dict[str, Callable[[], str]] = {"architecture.svg": architecture, "scale.svg": scale, "story.svg": story}
"""Name below docs/images to picture."""
