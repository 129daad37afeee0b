"""A finding as a report that can be filed: what happens, in which releases, by which steps, and what is expected."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.ci.conformance.findings import search
from kraftcheck.ci.conformance.findings.causes import LINES, record
from kraftcheck.ci.conformance.findings.junit_tests import PLACE, retraced, source, with_tests
from kraftcheck.ci.conformance.findings.live import SCENARIOS, SHOWN, Observation, observations
from kraftcheck.ci.conformance.findings.scenario import in_words as cluster
from kraftcheck.ci.conformance.findings.search import (
    ABSENT,
    CLASSES,
    IN_PART,
    LIVE,
    ONE_CLASS,
    RULES,
    Evidence,
    rules_of,
)
from kraftcheck.ci.conformance.kafka.cases import CASES
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.junit import class_name
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.collections import text_of
from kraftcheck.model.partition.registration import local_name
from kraftcheck.model.register import content
from kraftcheck.model.rules.ruleset import variants, without
from kraftcheck.properties.register.citations import ALIKE, Reference, references
from kraftcheck.properties.register.findings import BY_ID, FINDINGS, LIKELIHOODS, SEVERITIES, Finding, FindingSearch

SEARCHED_IN = "pull requests and issues of public repositories, and web pages, on 29 and 30 November 2026"
"""Where reports were searched, and when; the first page of the findings says what that leaves out."""

SETTINGS = {
    "brokers": "{} brokers", "directories": "{} log directories each",
    "second": "a second partition of replication factor {}",
}  # fmt: skip
"""The bounds of a search that a cluster has too, in words; its first state says the others."""

COMMANDS = (
    "Commands lack --bootstrap-server, topic and partition; where every broker here is down or paused, one more has to "
    "answer them. A step without one is a broker's or the controller's own: no command makes it come just then. A "
    "broker that starts, or goes on, is unfenced as soon as it has caught up: a step before that has to be quicker."
)
"""What a page says of the commands of its steps."""

NO_ELR = "elr-available"  # the choice that a search is without whose trace does not need ELR
RESIGNS = "controller-stays"  # the property whose last step is the resignation
METHOD = re.compile(r"[A-Z]\w+\.[a-z]\w+")  # a method as findings name it

LEGEND: Mapping[str, str] = {
    LIVE: "shown on a cluster of the release",
    CLASSES: "the controller's classes take its steps of the trace, also the one that breaks the promise",
    IN_PART: "they take its steps, but a broker takes that one",
    ONE_CLASS: "one class of its brokers does what the page says that it was asked",
    RULES: "the rules of the release show it, and its classes were not asked",
    ABSENT: "its rules do not show it",
}
"""What the words about a release mean."""

ON_BY_DEFAULT = " ELR is on by default in every cluster that 4.1.0 or a later release has formatted."
"""What a finding about ELR needs is there, where nobody has asked for it."""

IN_FULL = {
    LIVE: "on a live cluster", CLASSES: "by the release's own classes",
    IN_PART: "by the release's own classes but for the step that breaks the promise, a broker's,",
    ONE_CLASS: "by one of the release's classes", RULES: "by its rules", ABSENT: "not in",
}  # fmt: skip
"""The words about a release as a report has them."""

ALL_TAKEN = ("elections", "elr-index")  # systems whose steps are all the controller's

ASKED = ("partition", "controller", "images")
"""The groups of choices that the classes of every release are asked for; those of others are of brokers."""

UNASKED = "by rules that were read in the source of October 2024, with no class of theirs asked:"
"""In place of `by its rules`, of a release whose brokers nobody has asked."""

_WORDS: Mapping[str, Mapping[str, str]] = content(__package__, "events.toml")
BY_HAND = _WORDS["by-hand"]  # the commands by which an operator takes a step, by the name of its event
EVENTS: Mapping[str, Mapping[str, str]] = {key: told for key, told in _WORDS.items() if told is not BY_HAND}
"""What each event is in Kafka's words, by system and name; `every` has those that are the same everywhere."""

Link = Callable[[Reference], str]  # writes what a citation leads to as Markdown


def in_words(system: str, event: str, to: str = "", did: str = "") -> str:
    """An event of a trace in Kafka's words, by the way a switch goes and what came of it; raises KeyError."""
    name, arguments = _read(event)
    told = {key: {"True": "yes", "False": "no"}.get(value, value) for key, value in arguments.items()}
    if "directory" in told:
        told["directory"] = local_name(int(told["directory"]))
    return EVENTS[told_in(system, name)][name].format(**told, to=f" {to}" if to else "", did=did)


def by_hand(events: Sequence[str], to: str, moving: bool = False) -> str:
    """The command by which an operator does the last of some steps, as a sentence; empty for what is not an operator's.

    A process that stands still since its broker was fenced goes on with the first step that the broker takes. One that
    was told to stop ends by itself.

    Args:
        to: in which way a switch is switched.
        moving: whether a reassignment is under way before the step.
    """
    name, arguments = _read(events[-1])
    if name == "stop" and events[-1].replace(name, "shut_down") in events:
        return ""
    still = "resume" if _brokers(events[-1]) & _standing_still(events[:-1]) else ""
    ended = BY_HAND["stop" if arguments.get("clean") == "True" else "crash"].format(**arguments)
    words = {"to": {"on": "true", "off": "false"}[to], "additional": " --additional" * moving, "ended": ended}
    command = BY_HAND.get(name, BY_HAND.get(still, "")).format(**arguments, **words)
    return f" By hand: {command}." if command else ""


def _standing_still(events: Sequence[str]) -> set[str]:
    """The brokers whose processes were stopped by a fence after which they have taken no step."""
    still = set[str]()
    for event in events:
        still -= _brokers(event)
        still |= _brokers(event) if event.startswith("fence(") else set()
    return still


def _brokers(event: str) -> set[str]:
    """The brokers that take a step; nobody does where the controller handles what a broker has sent before."""
    name, arguments = _read(event)
    is_handled = name in ("assign", "assign_late") and "directory" not in arguments
    return {value for key, value in arguments.items() if key in ("broker", "follower", "leader") and not is_handled}


def _read(event: str) -> tuple[str, dict[str, str]]:
    name, _, given = event.partition("(")
    return name, dict(re.findall(r"(\w+)=(\{.*?\}|\[.*?\]|[^,)]+)", given))


def told_in(system: str, name: str) -> str:
    """The table that has an event of a system: its own, that of the system it adds fairness to, or `every`."""
    own = (system, system.rpartition("-")[2])
    return next((table for table in own if name in EVENTS.get(table, {})), "every")


def word(finding: Finding, evidence: Evidence | None, live: Observation | None) -> str:
    """The strongest that shows a finding, all of it, in a release."""
    if live is not None and live.outcome == SHOWN and not finding.not_live:
        return LIVE
    if evidence is None:
        return RULES
    if evidence.steps is None:
        return ABSENT
    if evidence.managers != SHOWN:
        return RULES
    if finding.broker_cases:
        return ONE_CLASS
    return CLASSES if _takes_the_last(finding.id) else IN_PART


@functools.cache
def _takes_the_last(name: str) -> bool:
    """Whether the classes take the step by which a finding breaks its promise, where brokers take some."""
    finding = BY_ID[name]
    if search.wanted(finding).system in ALL_TAKEN or finding not in with_tests():
        return True
    events = _recorded()[0][finding.id, known_versions()[-1]].events
    return f". {events[-1]}\n" in source(finding)


def for_ever(row: Evidence) -> str:
    """What is for ever at the end of a lasso, in words.

    >>> for_ever(Evidence("f", "4.4.0", 1, True, None, ("a()",), 0))
    'for ever: nothing happens any more'
    >>> for_ever(Evidence("f", "4.4.0", 3, True, None, ("a()", "b()", "c()"), 2))
    'for ever: steps 2 to 3 again'
    """
    if not row.for_ever:
        return "for ever: nothing happens any more"
    last = len(row.events)
    return f"for ever: steps {last - row.for_ever + 1} to {last} again"


def recorded_of(finding: Finding) -> tuple[dict[str, Evidence | None], dict[str, Observation]]:
    """What is recorded of a finding, by release: the evidence, None if no system shows it; and of live clusters."""
    found, seen = _recorded()
    rows = {release: found.get((finding.id, release)) for release in known_versions()}
    return rows, {release: seen[finding.scenario, release] for release in rows if (finding.scenario, release) in seen}


@functools.cache
def _recorded() -> tuple[Mapping[tuple[str, str], Evidence], Mapping[tuple[str, str], Observation]]:
    return search.recorded(), {(one.finding, one.release): one for one in observations()}


def words(finding: Finding) -> dict[str, str]:
    """The strongest that shows a finding, by release."""
    rows, live = recorded_of(finding)
    return {release: word(finding, row, live.get(release)) for release, row in rows.items()}


def releases(finding: Finding) -> str:
    """What was asked of each release about a finding, in words."""
    shown, groups = words(finding), {variants()[name].metadata["group"] for name in finding.switches}
    full = {**IN_FULL, **({} if groups <= {*ASKED} else {RULES: UNASKED})}
    if finding.search is not None:
        full[ABSENT] = (
            f"no trace in the only scope that was searched, {finding.search.system} {finding.search.scope}, of"
        )
    parts = [f"{text} {', '.join(those)}" for one, text in full.items()
             if (those := [release for release, found in shown.items() if found == one])]  # fmt: skip
    told, newest = "; ".join(parts), known_versions()[-1]
    methods = (one.text.partition(",")[0] for one in references(finding.source)) if RULES in shown.values() else ()
    alike = (f" {name} is compiled as in {newest} from {ALIKE[name]} on." for name in methods if name in ALIKE)
    return f"{told[0].upper()}{told[1:]}.{''.join(alike)}"


def report(finding: Finding, says: Mapping[str, str], link: Link) -> str:
    """A finding as Markdown, with what each rule says by id; `link` writes citations."""
    return "\n".join(_lines(finding, says, link)) + "\n"


def _lines(finding: Finding, says: Mapping[str, str], link: Link) -> Iterator[str]:
    rows, live = recorded_of(finding)
    yield f"# {finding.id}\n\n{finding.title}\n"
    yield f"**Severity.** {SEVERITIES[finding.severity].capitalize()}.\n"
    asked = "".join(f" Asked of {CASES[case].asked}: {CASES[case].says}." for case in finding.broker_cases)
    yield f"**Releases.** {releases(finding)}{asked}\n"
    by_default = ON_BY_DEFAULT * finding.title.startswith("ELR")
    yield f"**Needs.** {finding.needs}{by_default} {LIKELIHOODS[finding.likely].capitalize()}.\n"
    shown = [row for row in rows.values() if row is not None and row.steps is not None]
    if finding.search is not None and shown:
        yield from _steps(finding, shown[-1])
    yield from _live(finding, live)
    yield "## Expected\n"
    if finding.promised:
        cited, _, promise = finding.promised.partition(": ")
        yield f"- {', '.join(map(link, references(cited)))}: {promise}"
    yield from (f"- {says[rule]} (`{rule}`)" for rule in finding.rules)
    if finding.search is not None:
        chosen, broken = search.subject_of(finding, rules_of(finding, shown[-1].release)), finding.search.property
        sentence = next(claim.sentence for claim in chosen.system.properties(chosen.setting) if claim.id == broken)
        yield f"- Broken {'by the last step' if shown[-1].for_ever is None else 'for ever'}: {sentence} (`{broken}`)."
    yield f"\n## Actual\n\n{finding.effect}\n"
    yield f"**Workaround.** {finding.workaround}\n"
    yield f"**Fix.** {finding.mend}\n"
    yield from _mend(finding, says)
    sources = references(finding.source, shown[-1].release if shown else known_versions()[-1])
    yield f"**Where.** {', '.join(link(one) for one in sources if one.target.startswith('https:'))}\n"
    yield f"**Reported.** {_reported(finding, link)}\n"
    if finding.search is not None:
        yield from _again(finding, finding.search, shown[-1])
    yield from _broken(finding)
    yield _test(finding)
    if own := [link(one) for one in sources if not one.target.startswith("https:")]:
        yield f"\nMore of it here: {', '.join(own)}; `kraftcheck where {finding.id}` shows its rules."


def _live(finding: Finding, live: Mapping[str, Observation]) -> Iterator[str]:
    """What live clusters showed, or why none shows it."""
    if live:
        outcomes = ", ".join(f"{release} {one.outcome}" for release, one in live.items())
        command = f"python -m kraftcheck.ci.conformance.findings.live {finding.scenario} --kafka {[*live][-1]}"
        yield f"**Live.** {outcomes}: `{command}`. {finding.not_live}".rstrip()
        yield f"Cluster there: {cluster(SCENARIOS[finding.scenario].layout)}."
        yield f"Steps there: {SCENARIOS[finding.scenario].steps}\n"
    else:
        yield f"**Live.** Not tried. {finding.not_live}".rstrip() + "\n"


def _mend(finding: Finding, says: Mapping[str, str]) -> Iterator[str]:
    """What the release and what the fix decides, by the rules of kraftcheck, beside the methods that do."""
    methods = [one.text.partition(",")[0] for one in references(finding.source)]
    found = [f"`{name}`: {variants()[name].metadata['text']}" for name in finding.switches]
    right = [f"`{rule}`: {says[rule]}" for rule in finding.rules]
    yield f"| {', '.join(name for name in methods if METHOD.fullmatch(name))} decides | fixed |\n|---|---|"
    yield from (f"| {one} | {other} |" for one, other in itertools.zip_longest(found, right, fillvalue=""))
    yield ""


def _reported(finding: Finding, link: Link) -> str:
    found, near = ("; ".join(map(link, references(text))) if text else "" for text in (finding.reported, finding.near))
    found = found or f"None found in {SEARCHED_IN}, by: {finding.searched}"
    return f"{found}.{f' Near it: {near}.' if near else ''}"


def _steps(finding: Finding, shown: Evidence) -> Iterator[str]:
    values = search.subject_of(finding, rules_of(finding, shown.release)).setting.values().items()
    shown_of = {name: number for name, number in values if number and (name, number) != ("directories", 1)}
    numbers = ", ".join(text.format(shown_of[name]) for name, text in SETTINGS.items() if name in shown_of)
    numbers = numbers.replace("1 brokers", "1 broker")
    if "second" in shown_of:
        numbers += ", of another topic" if "deletions" in shown_of else ", which is partition 1 of the topic"
    place, disks = search.wanted(finding), "directories" in shown_of
    yield "## Steps\n"
    yield (
        f"The shortest in the scope `{place.system} {_scope(place)}`,{f' with {numbers},' * bool(numbers)} "
        f"{_searched(finding, shown)}. "
        f"{taken_by_release(finding, shown)}".rstrip()
        + "\n"
    )
    yield from _numbered(finding, shown, disks)
    for row, those in elsewhere(finding, shown):
        yield f"\n{', '.join(those)} do not take these steps. The shortest there:\n"
        yield from _numbered(finding, row, disks)
    yield f"\n{COMMANDS}\n"


def _numbered(finding: Finding, shown: Evidence, disks: bool) -> Iterator[str]:
    """The steps of a trace, numbered, between the states at its start and at its end."""
    chosen = search.subject_of(finding, rules_of(finding, shown.release))
    states = retraced(finding, shown, chosen).states
    yield f"{_told('At the start', states[0], disks).strip()}\n".lstrip()
    for number, (event, before, after) in enumerate(zip(shown.events, states, states[1:], strict=False), 1):
        to = "on" if getattr(_partition(after), "unclean_election", False) else "off"
        resigns = number == shown.steps and search.wanted(finding).property == RESIGNS
        told = in_words(chosen.system.name, event, to, did(event, before, after)) + _committed(before, after)
        command = by_hand(shown.events[:number], to, _is_moving(_partition(before)))
        yield f"{number}. {told}{' The controller resigns.' * resigns}{command}"
    if shown.for_ever is not None:
        yield f"\n{for_ever(shown).capitalize()}."
    if at_end := _told("At the end", states[-1], disks):
        yield f"\n{at_end.strip()}"


def _is_moving(one: Any) -> bool:
    """Whether a reassignment of a partition is under way."""
    return any(len(tuple(getattr(one, name, ()))) for name in ("removing", "adding"))


def elsewhere(finding: Finding, shown: Evidence) -> Iterator[tuple[Evidence, list[str]]]:
    """The traces of releases that do not take the one that is shown, each with these releases."""
    rows = [row for row in recorded_of(finding)[0].values() if row is not None and row.steps is not None]
    others = [row for row in rows if row.events != shown.events]
    others = [row for row in others if not _takes(finding, shown, rules_of(finding, row.release))]
    for events in dict.fromkeys(row.events for row in others):
        those = [row for row in others if row.events == events]
        yield those[-1], [row.release for row in those]


def _takes(finding: Finding, shown: Evidence, rules: str) -> bool:
    """Whether a rule set takes the steps of a trace, to the same end."""
    try:
        retraced(finding, shown, search.subject_of(finding, rules))
    except LookupError:
        return False
    return True


def _searched(finding: Finding, shown: Evidence) -> str:
    """By which rules a trace was searched, and which other defects were fixed for that."""
    release, narrow = f"kafka-{shown.release}", sorted(FINDINGS, key=lambda one: len(one.switches))[::-1]
    owners = {name: one.id for one in narrow for name in one.switches}
    fixed = [name for name in search.wanted(finding).without if without(release, (name,)) != release]
    named = [*dict.fromkeys(f"`{owners.get(name, name)}`" for name in fixed)]
    named = [one for one in named if one != f"`{NO_ELR}`"]
    breaks = "which breaks" if len(named) == 1 else "which break"
    hiding = " in a cluster without ELR, which it does not need" if NO_ELR in fixed else ""
    hiding += f" with {', '.join(named)} fixed, {breaks} the same promise in another way" if named else ""
    return f"by the rules of {shown.release}{hiding}"


def taken_by_release(finding: Finding, shown: Evidence) -> str:
    """Whether the rules of a release as they are take the steps that were searched by others, to the same end."""
    release = f"kafka-{shown.release}"
    if rules_of(finding, shown.release) == release:
        return ""
    if not _takes(finding, shown, release):
        return f"{shown.release} as it is does not take these steps: {finding.hidden}"
    return f"The rules of {shown.release} as they are take the same steps to the same end."


def did(event: str, before: Any, after: Any) -> str:
    """What a fetch, or applying metadata, did to the logs of its broker, as the states before and after say."""
    name, arguments = _read(event)
    if name == "fetch":
        logs = (getattr(state, "data", state).brokers for state in (before, after))
        old, new = (brokers[int(arguments["follower"])].log for brokers in logs)
        both = zip(old.entries[: old.end()], new.entries[: new.end()], strict=False)
        kept = len([*itertools.takewhile(lambda pair: pair[0] == pair[1], both)])
        told = [f"truncates its log to {kept}"] * (kept < old.end())
        told += [f"appends {new.end() - kept}"] * (kept < new.end())
        return f", and {' and '.join(told) or 'appends nothing'}"
    if not name.startswith("apply_") or not hasattr(before, "hosts"):
        return ""
    old, new = (state.hosts[int(arguments["broker"])] for state in (before, after))
    made, gone = new.logs.minus(old.logs), old.logs.minus(new.logs)
    if made.mask and gone.mask:
        lost = "shorter " * bool(old.whole.keep(gone).mask and made.minus(new.whole).mask)
        return f", and replaces the log in {_dirs(gone)} by the {lost}future log in {_dirs(made)}"
    told = [f"makes an empty log in {_dirs(made)}"] * (made.mask > 0)
    told += [f"deletes the log in {_dirs(gone)}"] * (gone.mask > 0)
    told += ["deletes the future log"] * (new.future < 0 <= old.future)
    return f", and {' and '.join(told) or 'changes nothing on disk'}"


def _committed(before: Any, after: Any) -> str:
    """What a step commits, and whether acks=all is answered then, as a sentence; empty for nothing."""
    if not hasattr(after, "committed"):
        return ""
    told = ["is committed"] * (after.committed.end() > before.committed.end())
    told += ["is acknowledged"] * (after.acknowledged > before.acknowledged)
    return f" The record {' and '.join(told)}." if told else ""


SWITCHES = {"unclean_election": "unclean elections are", "elr_enabled": "ELR is"}
"""What is on or off in a state of the controller, in words."""


def _partition(state: Any) -> Any:
    """The controller's record of the partition in a state of any system; None where there is none."""
    while not hasattr(state, "isr"):
        within = [getattr(state, name) for name in ("controller", "data") if hasattr(state, name)]
        if not within:
            return None
        state = within[0]
    return state


def _told(when: str, state: Any, disks: bool) -> str:
    """A state in sentences after `when`; empty where it has no partition; of several disks it is said what is where."""
    one = _partition(state)
    if one is None:
        return ""
    if not getattr(state, "exists", True):
        return f" {when} there is no such topic."
    on = [f"{text} {'on' if getattr(one, name) else 'off'}" for name, text in SWITCHES.items()]
    others = getattr(state, "others", ())
    minimum = "min ISR" if others else "min.insync.replicas"  # of two partitions each has what its replicas allow
    told = f" {when} {_lists(one, disks, minimum)}; {' and '.join(on)}."
    told += "".join(f" Of the second partition {_lists(other, disks, minimum)}." for other in others)
    if disks:
        online = "; ".join(f"of broker {broker} {_dirs(dirs)}" for broker, dirs in enumerate(one.online_dirs))
        told += f" Online, as the controller knows: {online}."
    if hasattr(state, "committed"):
        for number, broker in enumerate(state.brokers):
            told += f" Broker {number} has log end {broker.log.end()}, high watermark {broker.high_watermark}."
        told += f" Records committed: {state.committed.end()}, acknowledged with acks=all: {state.acknowledged}."
    return told + "".join(f" {_disks(*numbered)}" for numbered in enumerate(getattr(state, "hosts", ())))


def _lists(one: Any, disks: bool, minimum: str) -> str:
    """Who leads a partition, and what the controller knows of it; without a replica it is deleted."""
    if not len(tuple(one.replicas)):
        return "nothing is left, with its topic"
    lists = {"replicas": one.replicas, "ISR": one.isr, "ELR": one.elr, "last known": one.last_known_elr}
    told = [f"{name} {text_of(value)}" for name, value in lists.items()]
    moving = {name: getattr(one, name, ()) for name in ("removing", "adding")}
    told += [f"{name} {text_of(value)}" for name, value in moving.items() if len(tuple(value))]
    if disks:
        named = ", ".join(local_name(one.directories.slots[broker]) for broker in one.replicas)
        told += [f"directories {named or 'none'}"]
    told += [f"{minimum} {one.min_insync_replicas}", *["RECOVERING"] * one.recovering]
    return f"{'nobody leads' if one.leader < 0 else f'broker {one.leader} leads'}; {', '.join(told)}"


def _disks(broker: int, host: Any) -> str:
    """What the disks of a broker hold of the partition, as a sentence."""
    told = [f"has a log in {_dirs(host.logs)}" if host.logs.mask else "has no log"]
    told += [f"lacks records in {_dirs(lacking)}" for lacking in [host.logs.minus(host.whole)] if lacking.mask]
    told += [f"has a future log in dir{host.future}"] * (host.future >= 0)
    told += [f"has seen {_dirs(host.failed)} fail"] * (host.failed.mask > 0)
    return f"Broker {broker}{'' if host.up else ', which is down,'} {', '.join(told)}."


def _dirs(slots: BrokerSet) -> str:
    return ", ".join(f"dir{slot}" for slot in slots) or "none"


def _broken(finding: Finding) -> Iterator[str]:
    """What the newest recorded release with the finding loses to it alone, by scope, and what one does to several."""
    alone = (list(record().by(finding.id, release)) for release in reversed(LINES))
    if listed := next(filter(None, alone), None):
        yield "**Breaks.** Alone in right rules, in the explored scopes (steps of the shortest trace):\n"
        for cell, steps in listed:
            yield f"- `{' '.join(cell)}`: " + ", ".join(f"`{claim}` {length}" for claim, length in steps.items())
        yield ""
    beside = ((release, list(record().with_others(finding.id, release))) for release in reversed(LINES))
    if found := next((one for one in beside if one[1]), None):
        yield f"**Breaks with others.** In {found[0]}, where none of them does so alone:\n"
        for cell, claim, others in found[1]:
            yield f"- `{' '.join(cell)}`: `{claim}`, with {', '.join(f'`{name}`' for name in others)}"
        yield ""


def _scope(place: FindingSearch) -> str:
    """The scope and the bounds of a search, as on the command line."""
    return place.scope + "".join(f" --{name} {value}" for name, value in place.bounds.items())


def _again(finding: Finding, place: FindingSearch, shown: Evidence) -> Iterator[str]:
    yield "## Again\n\n```text"
    yield (
        f"kraftcheck explore {place.system} --scope {_scope(place)} "
        f"--rules {rules_of(finding, shown.release)} --property {place.property}"
    )
    yield f"kraftcheck findings {finding.id} --run --kafka {shown.release} --out traces"
    yield "```\n"
    if rules_of(finding, shown.release) != f"kafka-{shown.release}":
        yield f"`kafka-{shown.release}-NAME` is the release without NAME, that is with this defect fixed.\n"
    if finding.broker_cases:
        yield "The second command asks the classes of a broker, and writes the trace as ITF JSON.\n"
    elif shown.managers == SHOWN:
        yield "The second command takes the steps on the release's own classes, and writes a JUnit test of them.\n"
    else:
        yield "The second command writes the trace as ITF JSON.\n"


def _test(finding: Finding) -> str:
    """The JUnit test in the repository, or why there is none."""
    if finding in with_tests():
        told = f"**Test.** `{PLACE}/{class_name(finding.id)}.java` passes where the defect is, and fails without it; "
        told += f"`{PLACE}/README.md` says what it needs."
        return told if finding.broker_cases else f"{told} {_taken(finding)}"
    return f"**Test.** None. {finding.untested or 'The newest release does not have it.'}"


def _taken(finding: Finding) -> str:
    """How many of its steps a test takes on the controller's classes."""
    taken, steps = source(finding).count("managers.act("), len(_recorded()[0][finding.id, known_versions()[-1]].events)
    return (
        f"It takes {taken} of the {steps} steps; brokers take the others." if taken < steps else "It takes each step."
    )
