"""`kraftcheck where WORDS`: which rule says so, where it is written, where it comes from, and what checks it."""

from __future__ import annotations

import difflib
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import attrs
import click
from attrs import frozen

from kraftcheck.ci.systems import lookup
from kraftcheck.ci.systems.changed import change_text, parts_of
from kraftcheck.ci.systems.overrides import Override, SystemChange
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Property
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from kraftcheck.properties.catalogue import find as find_system_of
from kraftcheck.properties.register.coverage import CHECKED, DOCUMENTS, LEFT_OUT, MODELLED, Statement
from kraftcheck.properties.register.defects import SEEN, Bug
from kraftcheck.properties.register.findings import BY_ID, FINDINGS, Finding


@frozen
class RefutedProperty:
    """A property that a variant refutes, because of rules that the property checks and the variant switches."""

    claim: str  # the property with its system, as in `directories fenced-until-settled`
    rules: tuple[str, ...]  # ids of these rules
    seen: Bug  # the variant, where it is seen, and what it refutes there

    @property
    def length(self) -> int:
        """Steps of the shortest trace."""
        return self.seen.refutes[self.claim.partition(" ")[2]]

    def place(self) -> str:
        """The scope and its bounds, and the rules that keep the property there, where these are not `fixed`."""
        bounds = "".join(f" --{name} {value}" for name, value in sorted(self.seen.bounds.items()))
        base = "" if self.seen.base == "fixed" else f" --rules {self.seen.base}"
        return f"{self.seen.system} {self.seen.scope}{bounds}{base}"


def shown(one: Statement) -> tuple[RefutedProperty, ...]:
    """What shows a row: pairs that share a rule (one of the row, if it names any), in the scope that the row names."""
    return tuple(_shown(one))


def _shown(one: Statement) -> Iterator[RefutedProperty]:
    for claim in one.properties:
        system, _, name = claim.partition(" ")
        for variant in one.variants:
            rules = rules_between(claim, variant)
            if one.rules:
                rules = tuple(rule for rule in rules if rule in one.rules)
            for seen in SEEN.get((system, name, variant), ()):
                if rules and one.within in ("", seen.scope):
                    yield RefutedProperty(claim, rules, seen)


def as_rows(one: Statement) -> list[dict[str, object]]:
    """The evidence of a row, for programs."""
    return [
        {"property": pair.claim, "variant": pair.seen.variant, "scope": pair.seen.scope,
         "bounds": dict(pair.seen.bounds), "base": pair.seen.base, "length": pair.length, "rules": list(pair.rules)}
        for pair in shown(one)
    ]  # fmt: skip


def rules_between(claim: str, variant: str) -> tuple[str, ...]:
    """The rules that a property checks and a variant switches."""
    switched = {rule for name in lookup.names_in(variant) for rule in _switched().get(name, ())}
    named = claims()[claim].rules if claim in claims() else ()
    return tuple(rule for rule in named if rule in switched)


@functools.cache
def _switched() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in lookup.entries():
        for name in entry.rule.switches:
            found[name] = (*found.get(name, ()), entry.rule.id)
    return found


@functools.cache
def claims() -> Mapping[str, Property]:
    """The properties of all systems, those of the bounds of a sighting among them, as `system property`."""
    found: dict[str, Property] = {}
    for name in (*SYSTEMS, *FAIR_SYSTEMS):
        found |= {f"{name} {one.id}": one for one in lookup.every_property(name, find_system_of(name)).values()}
    for seen in (row for rows in SEEN.values() for row in rows):
        system = find_system_of(seen.system)
        setting = system.setting(seen.scope, seen.bounds, parse(seen.rules))
        found = {f"{seen.system} {one.id}": one for one in system.properties(setting)} | found
    return found


KINDS = {MODELLED: "modelled", CHECKED: "modelled and checked", LEFT_OUT: "left out"}


def _named(asked: str) -> Iterator[Statement]:
    for document in DOCUMENTS:
        name, _, rest = asked.rpartition(" ")
        for one in document.statements:
            at_line = name == document.name.lower() and rest.isdigit() and one.stands_at(int(rest))
            if at_line or asked in (one.id.lower(), one.id.lower().removeprefix(f"{document.name} ")):
                yield one


def print_statement(screen: Screen, one: Statement) -> None:
    """A row as lines."""
    screen.plain(f"{one.id}: {KINDS[one.kind]}\n  {one.says}")
    seen = tuple(f"{pair.seen.variant}: {pair.claim} in {pair.length} steps, {pair.place()}" for pair in shown(one))
    listed = (("rule", one.rules), ("property", one.properties), ("variant", seen), ("place", one.places))
    for word, names in listed:
        for name in names:
            screen.plain(f"  {word:<9} {name}")
    if one.reason:
        screen.plain(f"  {'reason':<9} {one.reason}")
    screen.plain("")


IN_FULL = 8  # rules that are shown in full; the ids of the others follow

EXACT, PART, NEAR = 3, 2, 1
_LIKE = 0.8  # how alike two words are that differ by a slip of the keyboard
FEW_HAVE, FEW_IN_ROW = (
    4,
    2,
)  # a word is rare that so many findings have at most; so many words may be in a row by chance
_TOLD = ("id", "title", "effect", "needs", "workaround", "source", "promised", "reported", "searched")  # of a finding
_IN_ID = 4  # how much more a word weighs in the id of a rule, or in what it cites


def find(words: str) -> list[lookup.RuleEntry]:
    """The rules that all words are about, the best match first; raises Refusal with the nearest for none."""
    asked = _words(words)
    scored = [(score, entry) for entry in lookup.entries() if (score := _score(asked, entry)) is not None]
    if not asked or not scored:
        ids = [entry.rule.id for entry in lookup.entries()]
        raise Refusal(f"no rule is about {words!r}; {nearest(words.replace(' ', '-'), ids)}")
    return [entry for _, entry in sorted(scored, key=lambda pair: (-pair[0], pair[1].rule.id))]


def findings_about(text: str) -> list[Finding]:
    """The findings that a number, words of a symptom or a line of a broker's log are about, the best match first.

    A finding is, whose text has all of the words, or several in a row of which some are in few texts; where there is
    none, one of a rule that is about all of them.

    Raises:
        Refusal: where there is none, with those that have most of the words.
    """
    asked = _words(text)
    texts = {one.id: _words(" ".join(getattr(one, name) for name in _TOLD)) for one in FINDINGS}
    common = Counter(word for words in texts.values() for word in {*words})
    found, near = list[tuple[int, int, str]](), list[tuple[int, str]]()
    for name, words in texts.items():
        start, _, size = difflib.SequenceMatcher(None, asked, words, autojunk=False).find_longest_match()
        rare = sum(common[word] <= FEW_HAVE for word in {*asked[start : start + size]})
        whole = asked and all(_likeness(word, {*words}) > NEAR for word in asked)
        if whole or rare > 1 or (rare and size > FEW_IN_ROW):
            found.append((-size, -sum(map(words.count, asked)), name))
        near.append((-sum(len(texts) // common[word] for word in {*asked}.intersection(words)), name))
    if found:
        phrase = min(found)[0] if min(found)[0] == -len(asked) else 0  # all words in a row are more than all words
        return [BY_ID[name] for size, _, name in sorted(found) if size == phrase or not phrase]
    with suppress(Refusal):
        rules = find(text)
        if of_rules := [one for one in FINDINGS if any(is_of(one, entry) for entry in rules)]:
            return of_rules
    close = [name for score, name in sorted(near)[:3] if score]
    if len(text.split()) < 2 or not close:
        raise Refusal(f"no finding {text[:80]!r}; {nearest(text, BY_ID, 'kraftcheck findings')}")
    near_by = f"nearest by its words: {', '.join(close)}; `kraftcheck findings` shows all"
    raise Refusal(f"no finding tells of {text[:80]!r}; {near_by}")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def _score(asked: Sequence[str], entry: lookup.RuleEntry) -> int | None:
    """How well a rule matches; None where it is not about some word."""
    near = set(_words(f"{entry.rule.id} {entry.rule.source}"))
    near |= {word for reference in entry.references for word in _words(reference.target.rpartition("#")[2])}
    far = set(_words(" ".join(_texts(entry))))
    total = 0
    for word in asked:
        score = max(_likeness(word, near) * _IN_ID, _likeness(word, far))
        if not score:
            return None
        total += score
    return total


def _texts(entry: lookup.RuleEntry) -> list[str]:
    """What a rule is found by besides its id and source."""
    said = [entry.rule.says, entry.function, *entry.rule.switches, *map(lookup.choice_text, entry.rule.switches)]
    said += [f"{check.claim.id} {check.claim.sentence} {check.claim.source}" for check in entry.checks]
    return [*said, *(bug.entry for bug in entry.defects)]


def _likeness(word: str, known: set[str]) -> int:
    """Whether a word is among others: as it is, as a part, or with a slip; a code with digits only as it is."""
    if word in known:
        return EXACT
    if len(word) < 4 or any(letter.isdigit() for letter in word):
        return 0
    if any(word in one for one in known):
        return PART
    return NEAR if difflib.get_close_matches(word, known, n=1, cutoff=_LIKE) else 0


def document(
    words: str, found: Sequence[lookup.RuleEntry], stated: Sequence[Statement], changes: Sequence[str] = ()
) -> dict[str, object]:
    """The answer for programs; of a changed system with its changes."""
    rows = [{**attrs.asdict(one), "class": one.kind, "shown": as_rows(one)} for one in stated]
    return {
        "version": 1, "command": "where", "words": words, "rules": [_row(entry) for entry in found],
        "statements": rows, **({"changes": [*changes]} if changes else {}),
    }  # fmt: skip


def _answer(words: str) -> tuple[list[lookup.RuleEntry], tuple[Statement, ...]]:
    """The statements that words name, and the rules: of a finding, by subject, as stated; raises Refusal."""
    if (finding := BY_ID.get(words)) is not None:
        return [entry for entry in lookup.entries() if is_of(finding, entry)], ()
    stated = tuple(_named(" ".join(words.lower().split())))
    named = {rule for one in stated for rule in one.rules}
    try:
        return find(words), stated
    except Refusal:
        if not stated:
            raise
        return [entry for entry in lookup.entries() if entry.rule.id in named], stated


def is_of(finding: Finding, entry: lookup.RuleEntry) -> bool:
    """Whether a finding is about a rule: the rule has it right, or is switched."""
    return entry.rule.id in finding.rules or not {*finding.switches}.isdisjoint(entry.rule.switches)


def _row(entry: lookup.RuleEntry) -> dict[str, object]:
    return {
        "id": entry.rule.id, "says": entry.rule.says, "file": str(entry.file), "line": entry.line,
        "function": entry.function,
        "sources": [{"citation": one.text, "target": one.target} for one in entry.references],
        "switches": [{"choice": name, "text": lookup.choice_text(name)} for name in entry.rule.switches],
        "properties": [
            {"system": check.system, "id": check.claim.id, "sentence": check.claim.sentence,
             "refuted_by": list(check.refuted_by)}
            for check in entry.checks
        ],
        "uncovered": entry.uncovered or None,
        "defects": [
            {"variant": bug.variant, "entry": bug.entry, "system": bug.system, "scope": bug.scope,
             "bounds": dict(bug.bounds), "refutes": dict(bug.refutes)}
            for bug in entry.defects
        ],
    }  # fmt: skip


@click.command("where")
@click.argument("words", nargs=-1, required=True)
@click.option("--json", "target", metavar="FILE|-", help="Write the rules as a JSON document.")
def where_command(words: tuple[str, ...], target: str | None) -> None:
    """Find the rules that all WORDS are about: of an id or a sentence, a citation, a variant, a property, a finding.

    A document with a line, or a number of the reference pages, finds its statements, what
    became of each, and the rules that they name. FILE.py:SYSTEM shows what is changed in a
    system of your own, and the rules that it replaces; with WORDS the rules that these are
    about, and what the system has in their place.

    Each is shown with the file and line where it is written, where its sources
    are, the variants that change it, the properties that check it with the
    variants that refute them, and the rows of `kraftcheck bugs`.

    \b
    Examples:
      kraftcheck where min isr
      kraftcheck where last known leader
      kraftcheck where B4
      kraftcheck where KIP-858 253
      kraftcheck where fenced-may-join-isr --json -
      kraftcheck where mykip.py:KIP
      kraftcheck where mykip.py:KIP min isr

    Exit code 2 where no rule is found.
    """
    changes, asked = (changes_of(words[0]), words[1:]) if ":" in words[0] else ((), words)
    found, stated = _answer(" ".join(asked)) if asked else (_replaced(changes), ())
    if target is not None:
        write_json(target, document(" ".join(words), found, stated, [change_text(part) for part in changes]))
        return
    screen = console()
    for part in () if asked else changes:
        screen.plain(f"{part.name}\n  {part.says}".rstrip() + f"\n  at        {part.place}\n")
    for one in stated:
        print_statement(screen, one)
    for entry in found[:IN_FULL]:
        _print(screen, entry, changes)
    rest = [entry.rule.id for entry in found[IN_FULL:]]
    screen.plain(f"{len(found)} rule{'' if len(found) == 1 else 's'}" + (f"; also {', '.join(rest)}" if rest else ""))


def changes_of(name: str) -> tuple[SystemChange, ...]:
    """What is changed in a system of one's own; raises Refusal where there is none, or nothing is changed in it."""
    changes = parts_of(lookup.find_system(name))
    if not changes:
        raise Refusal(f"nothing is changed in {name}; kraftcheck.kafka(...) gives a system that can be")
    return changes


def _replaced(changes: Sequence[SystemChange]) -> list[lookup.RuleEntry]:
    ids = {part.name for part in changes if isinstance(part, Override)}
    return [entry for entry in lookup.entries() if entry.rule.id in ids]


def _print(screen: Screen, entry: lookup.RuleEntry, changes: Sequence[SystemChange] = ()) -> None:
    screen.plain(f"{entry.rule.id}\n  {entry.rule.says}")
    for part in changes:
        if part.name == entry.rule.id:
            screen.plain(f"  instead   {part.place}" + (f" if {part.when}" if part.when else ""))
    screen.plain(f"  at        {entry.shown_file(Path.cwd())}:{entry.line} {entry.function}")
    for one in entry.references:
        screen.plain(f"  source    {one.text}: {one.target}")
    for name in entry.rule.switches:
        screen.plain(f"  variant   {name}: {lookup.choice_text(name)}")
    for check in entry.checks:
        screen.plain(f"  property  {_checked(check)}")
    if entry.uncovered:
        screen.plain(f"  property  none: {entry.uncovered}")
    for bug in entry.defects:
        screen.plain(f"  defect    {_defect(bug)}")
    for finding in FINDINGS:
        if is_of(finding, entry):
            screen.plain(f"  finding   {finding.id}: {finding.title} (kraftcheck findings {finding.id})")
    screen.plain("")


def _checked(check: lookup.RuleCheck) -> str:
    refuted = f" (refuted by {', '.join(check.refuted_by)})" if check.refuted_by else ""
    return f"{check.system} {check.claim.id}: {check.claim.sentence}{refuted}"


def _defect(bug: Bug) -> str:
    claim, length = min(bug.refutes.items(), key=lambda pair: pair[1])
    return f"{bug.variant} ({bug.entry}): breaks {claim} of {bug.system} {bug.scope} in {length} steps"
