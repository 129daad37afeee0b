"""Export of a counterexample as a JUnit 5 test of Kafka's own managers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import PACKAGE, TOUR, sources
from kraftcheck.ci.conformance.kafka.tour.requests import ARGUMENTS, managed_part, request_of
from kraftcheck.ci.terminal.files import results, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.control import Control
from kraftcheck.model.systems.directories.state import Told
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elr_index.state import ElrIndexed
from kraftcheck.model.systems.replication.state import STOPPED_CLEAN
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace, TraceStep

DRIVERS = sources(Build("4.0.0"), TOUR)
"""What a test stands on: the managers of 4.0.0 and later, how they are made, and how events reach them."""

CONTROLLER_STAYS = "controller-stays"  # the property whose last step is an exception
DONE, REFUSED, RESIGNED = "DONE", "REFUSED", "RESIGNED"  # how an event on the managers ends, as `TourDriver` names it

OF_REPLICATION = {"register": "new_incarnation", "shut_down": "controlled_shutdown"}
"""Actions of `replication` that the managers know by another name."""

WITHOUT_ARGUMENTS = ("fence", "unfence", "controlled_shutdown", "elect_preferred", "elect_unclean", "cancel")
"""Events that take a broker at most."""

IN_NO_RELEASE = ("elect_designated", "sweep_sessions", "create_topic", "load_snapshot")
"""Actions without a form on the managers of a test: events of no release, another topic, another controller."""

REPORTS = ("heartbeat", "directories_offline")  # events by which the controller learns of directories that have failed

SETS = ("isr", "elr", "removing", "adding")

NAMES = {"removing": "removingReplicas", "adding": "addingReplicas", "last_known_elr": "lastKnownElr"}
"""Fields of `PartitionRegistration` that have another name."""


@frozen
class Act:
    """One event on the managers, with the expectation of the trace."""

    description: str  # the step in the trace
    # action, broker, first, second, target: as `TourDriver.Managers.act` takes them
    action: str
    broker: int
    first: int
    second: int
    target: tuple[int, ...]
    after: Elections | None  # the partition after it; None once it is deleted
    outcome: str  # DONE; REFUSED, with an error and no record; or RESIGNED, with an exception


def junit(trace: Trace, program: Program, title: str, build: Build | None = None) -> dict[str, str]:
    """A test that takes a trace's steps on a build's managers, files by name; None: those of 4.0.0 and later."""
    name = class_name(trace.claim)
    drivers = {driver.name: driver.read_text("utf-8") for driver in (sources(build, TOUR) if build else DRIVERS)}
    return {f"{name}.java": test_source(trace, program, title, name), **drivers}


def class_name(words: str) -> str:
    """The name of a test's class, from words with hyphens between them."""
    return f"{''.join(part.title() for part in re.split('[^a-z0-9]+', words))}Test"


def test_source(trace: Trace, program: Program, title: str, name: str) -> str:
    """A test that takes the steps of a trace on Kafka's managers.

    It asks after each step whether the partition is as the trace says; so it passes on a release that has the defect,
    and fails on one that has it no more.

    Args:
        trace: of the systems `elections` and `elr-index`; of `replication`, `directories` and `kraft`, whose brokers,
            disks and logs are left out. The test is about the second partition of `kraft` where it has one.
        program: what it was found in.
        title: what is checked, in a line.
        name: of the test's class.

    Raises:
        Refusal: for a trace that no event of the managers corresponds to.
    """
    system = program.system.name
    if system == "elections":
        start, acts = trace.initial, list(_elections(trace.steps))
    elif system == "elr-index":
        start, acts = trace.initial.controller, list(_elections(trace.steps))
    elif system == "replication":
        start, acts = trace.initial.controller, list(_replication(trace))
    elif system == "kraft" and trace.initial.others:
        start, acts = _second(trace.initial), list(_kraft(trace, program.setting.rules))
    elif system in ("directories", "kraft"):
        start, acts = managed_part(system, trace.initial), list(_managed(trace, program))
    else:
        raise Refusal(f"a trace of {system} has no form on the controller's managers; those of elections have")
    unknown = [act.description for act in acts if act.action in IN_NO_RELEASE]
    if unknown:
        raise Refusal(f"{unknown[0]} has no form on the controller's managers")
    _check_listed(start, acts, program.setting.rules)
    return _test_source(name, trace, title, start, acts)


def _elections(steps: Iterable[TraceStep]) -> Iterator[Act]:
    for step in steps:
        values: dict[str, tuple[int, ...]] = {}
        for name, value in step.arguments.items():
            values.update(dict.fromkeys(ARGUMENTS.get(name, ()), tuple(int(leaf) for _, leaf in leaves(value))))
        broker, first, second = values.get("broker", (-1,)), values.get("first", (0,)), values.get("second", (0,))
        target = tuple(member for member in values.get("target", ()) if member >= 0)
        outcome = RESIGNED if step.event.resigned else DONE
        after = step.state if isinstance(step.state, Elections) else _existing(step.state)
        yield Act(description(step), step.action, broker[0], first[0], second[0], target, after, outcome)


def _check_listed(start: Elections, acts: Iterable[Act], rules: RuleSet) -> None:
    """Refuse a step that elects the last known leader: the classes list it in the ISR, and the states nobody."""
    before = start
    for act in acts if rules.partition.dead_last_known_leader_electable else ():
        after = act.after
        if after is None:
            return
        lost = before.leader >= 0 and after.leader == NO_LEADER and before.elr_enabled
        if lost and list(before.last_known_elr) == [NO_LEADER] and not list(after.isr) and not list(after.elr):
            raise Refusal(f"{act.description} elects broker -1, which the classes list in the ISR, and no state does")
        before = after


def _existing(state: ElrIndexed) -> Elections | None:
    """The partition of a topic; None where the topic is deleted."""
    return state.controller if state.exists else None


def _replication(trace: Trace) -> Iterator[Act]:
    """The controller's events; what brokers do to their logs, and to each other, is none."""
    before = trace.initial
    for step in trace.steps:
        after, action = step.state.controller, OF_REPLICATION.get(step.action, step.action)
        broker = int(step.arguments.get("broker", -1))
        first, second, target = 0, 0, tuple[int, ...]()
        if action == "new_incarnation":
            first, second = int(before.brokers[broker].status == STOPPED_CLEAN), 1
        elif action == "alter_partition":
            second = int(before.request.isr.mask)
        elif action == "reassign":
            target = tuple(int(member) for member in step.arguments["target"])
        elif action == "set_min_isr":
            first = int(step.arguments["minimum"])
        elif action not in WITHOUT_ARGUMENTS:
            if after != before.controller:
                raise Refusal(f"{step.action} of replication has no form on the controller's managers")
            before = step.state
            continue
        refused = action == "alter_partition" and after == before.controller
        yield Act(description(step), action, broker, first, second, target, after, REFUSED if refused else DONE)
        before = step.state


def _managed(trace: Trace, program: Program) -> Iterator[Act]:
    """The requests that an exploration of Kafka's classes would put; raises Refusal for a step that puts none."""
    system, rules = program.system.name, program.setting.rules
    kinds = {action.name: action for action in program.system.actions(program.setting)}
    before = trace.initial
    for step in trace.steps:
        rule, after = request_of(system, kinds[step.action], rules), managed_part(system, step.state)
        if rule is not None:
            asked = rule(before, step.state, step.arguments)
            if not asked.possible:
                raise Refusal(f"{description(step)} has no form on the controller's managers")
            told = step.event if asked.decision is None else asked.decision.event
            refused, event = (told.refused, told.event) if isinstance(told, Told) else (False, told)
            target = () if asked.target is None else tuple(int(member) for member in asked.target)
            outcome = RESIGNED if event.resigned else REFUSED if refused else DONE
            numbers = int(asked.broker), int(asked.first), int(asked.second)
            yield Act(description(step), asked.action, *numbers, target, after, outcome)
        elif after != managed_part(system, before):
            raise Refusal(f"{step.action} of {system} has no form on the controller's managers")
        before = step.state


def _second(state: Any) -> Elections:
    """The second partition of `kraft` as `elections` has one."""
    partition: Elections = state.others[0].placement(state.placement()).controller
    return partition


def _kraft(trace: Trace, rules: RuleSet) -> Iterator[Act]:
    """The controller's events; a step of a broker or its disks alone is none."""
    _check_own_min_isr(trace, rules)
    before = trace.initial
    for step in trace.steps:
        broker = int(step.arguments.get("broker", -1))
        deleted = len(tuple(step.state.others[0].replicas)) == 0
        after = None if deleted else _second(step.state)
        outcome = RESIGNED if step is trace.steps[-1] and trace.claim == CONTROLLER_STAYS else DONE
        failed = int(Control(rules).news(before.placement(), broker).mask) if broker >= 0 else 0
        plain = {"fence": (0,), "delete_second": (0,), "unfence": (failed,), "report": (failed,)}
        if step.action == "assign":
            placed = before.others[0].directories.of(broker), step.state.others[0].directories.of(broker)
            if placed[0] != placed[1]:
                yield Act(description(step), "assign", broker, int(placed[1]), 0, (), after, outcome)
        elif step.action in plain:
            action = {"delete_second": "delete_topic", "unfence": "heartbeat", "report": "directories_offline"}
            method = action.get(step.action, step.action)
            yield Act(description(step), method, broker, plain[step.action][0], 0, (), after, outcome)
        elif before.data.controller != step.state.data.controller:
            raise Refusal(f"{step.action} of kraft has no form on the controller's managers")
        before = step.state


def _check_own_min_isr(trace: Trace, rules: RuleSet) -> None:
    """Refuse a trace in which partition 0 decides another's min ISR: the test has one partition."""
    if not rules.controller.min_isr_from_first_partition:
        return
    for number, state in enumerate((trace.initial, *(step.state for step in trace.steps))):
        wanted = int(_second(state).min_insync_replicas)
        sizes = [len(tuple(part.replicas)) for part in (state.data.controller, state.others[0])]
        if sizes[1] and len({min(wanted, size) for size in sizes}) > 1:
            raise Refusal(
                f"step {number}: the first partition's {sizes[0]} replicas cap the min ISR of the second, with "
                f"{sizes[1]}; a test on the managers has one partition"
            )


def description(step: TraceStep) -> str:
    """A step in a line, as `reassign(target=[1])`."""
    return f"{step.action}({', '.join(f'{name}={value}' for name, value in step.arguments.items())})"


def _test_source(name: str, trace: Trace, title: str, start: Elections, acts: list[Act]) -> str:
    method = name[0].lower() + name[1:].removesuffix("Test")
    row = ", ".join(str(int(value)) for _, value in leaves(start))
    listed = [dirs for one in (start, *(act.after for act in acts)) if one is not None for dirs in one.online_dirs]
    brokers, directories = len(start.online_dirs), max(int(dirs.mask).bit_length() for dirs in listed)
    lines = [
        f"package {PACKAGE};", "", "import static org.junit.jupiter.api.Assertions.assertEquals;", "",
        "import java.util.List;", "import java.util.stream.IntStream;", "import java.util.stream.Stream;",
        "import org.apache.kafka.common.Uuid;",
        "import org.apache.kafka.metadata.LeaderRecoveryState;",
        "import org.apache.kafka.metadata.PartitionRegistration;", "import org.junit.jupiter.api.Test;", "",
        f"/** Shows a defect: {trace.claim}. Found by kraftcheck in {title}. */", f"class {name} {{", "    @Test",
        f"    void {method}() throws Exception {{",
        f"        TourDriver.Managers managers = TourDriver.Managers.in({brokers}, {directories}, {row});",
    ]  # fmt: skip
    for number, act in enumerate(acts, 1):
        lines += ["", f"        // {number}. {act.description}", *_assertions(act, number)]
    return "\n".join([*lines, "    }", *HELPERS, "}", ""])


HELPERS = (
    "", "    private static List<Integer> ordered(int[] members) {",
    "        return IntStream.of(members).boxed().toList();", "    }", "",
    "    private static List<Integer> sorted(int[] members) {",
    "        return IntStream.of(members).sorted().boxed().toList();", "    }", "",
    "    private static List<Integer> numbers(Uuid[] directories) {",
    "        return Stream.of(directories).map(TourDriver.Managers::number).toList();", "    }",
)  # fmt: skip


def _assertions(act: Act, number: int) -> Iterator[str]:
    arguments = ", ".join(str(value) for value in (act.broker, act.first, act.second, *act.target))
    yield f'        assertEquals(TourDriver.{act.outcome}, managers.act("{act.action}", {arguments}));'
    if act.after is None:
        return
    yield from _fields(act.after, f"after{number}")
    if act.action in REPORTS and act.first:
        left = f"managers.dirsOf({act.broker}, {int(act.after.online_dirs[act.broker].mask)})"
        yield f'        assertEquals({left}, managers.online({act.broker}), "online directories");'


def _fields(after: Elections, p: str) -> Iterator[str]:
    yield f"        PartitionRegistration {p} = managers.partition();"
    yield f'        assertEquals({int(after.leader)}, {p}.leader, "leader");'
    members_by_name = {
        "replicas": ("ordered", list(after.replicas)),
        "last_known_elr": ("ordered", list(after.last_known_elr)),
    }
    for name in SETS:
        members_by_name[name] = ("sorted", sorted(getattr(after, name)))
    for name, (ordering, members) in members_by_name.items():
        values = ", ".join(str(int(member)) for member in members)
        yield f'        assertEquals(List.of({values}), {ordering}({p}.{NAMES.get(name, name)}), "{name}");'
    state = "RECOVERING" if after.recovering else "RECOVERED"
    yield f"        assertEquals(LeaderRecoveryState.{state}, {p}.leaderRecoveryState);"
    numbers = ", ".join(str(int(after.directories.of(member))) for member in after.replicas)
    yield f'        assertEquals(List.of({numbers}), numbers({p}.directories), "directories");'


def write_junit(folder: Path, files: dict[str, str]) -> list[Path]:
    """Write the files of a test to a folder; the paths written; raises Refusal when the folder cannot be used."""
    with results("--out", folder) as place:
        for name, text in files.items():
            write(place / name, text)
    return [folder / name for name in files]
