"""`kraftcheck status`: the condition of a cluster, for somebody who was woken by it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from kraftcheck.ci.logs import known
from kraftcheck.ci.logs.condition import EXITS, ONE_FROM_SHORT, condition_of
from kraftcheck.ci.logs.follow import follow
from kraftcheck.ci.logs.format.read import STDIN
from kraftcheck.ci.logs.metrics import of_status
from kraftcheck.ci.logs.report import ReplayOptions
from kraftcheck.ci.terminal import options as shared
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write_json, write_text
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.words import NO_LEADER

Row: TypeAlias = Mapping[str, Any]

SHOWN, NAMED = 10, 3  # rows of a table, and partitions named in a line, that are shown without `--all`
PROSE = {"because", "leads again", "with loss", "until"}  # titles of columns of sentences


@click.command("status")
@click.argument("log", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--describe", is_flag=True, help="Show every partition as it is, as kafka-topics --describe does.")
@click.option("--all", "every", is_flag=True, help="Show every row, and name every partition.")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--follow", "follows", is_flag=True, help="Go on: a line for each change of a controller's folder.")
@shared.lost
@shared.anonymise
@click.option("--json", "target", metavar="FILE|-", help="Write everything as a JSON document.")
@click.option("--prometheus", "metrics", metavar="FILE|-", help="Write the numbers in Prometheus' text format.")
def status_command(
    log: Path, describe: bool, every: bool, follows: bool, target: str | None, metrics: str | None, **given: Any
) -> None:
    """What is broken at the end of a metadata log or snapshot, since when and why, and what to start first.

    What follows a start, a stop or an election is what the controller's rules decide. A
    broker that is started is taken to come back with all that it had, and to catch up.

    Exit code 0: every partition survives any one fault; 10: one refuses acks=all, or is one
    fault from that or from offline, or not all is shown; 14: one has no leader; 2: bad input.

    \b
    Examples:
      kraftcheck status /var/lib/kafka/__cluster_metadata-0
      kraftcheck status decoded.txt --describe
      kraftcheck status /var/lib/kafka/__cluster_metadata-0 --follow
    """
    check_apart(json=target, prometheus=metrics)
    for place in (target, metrics):
        check_writable(place)

    def write(found: Row) -> None:
        if target is not None:
            write_json(target, found)
        if metrics is not None:
            write_text(metrics, of_status(found))

    def tell(before: Row | None, found: Row) -> None:
        write(found)
        for line in changes(before, found, every):
            screen.one_line(line)

    options, screen = ReplayOptions(**given, grows=follows), console(to_stderr="-" in (target, metrics))
    if follows:
        check_idle("shows one moment, and --follow goes on", "describe")
        if log == STDIN:
            raise Refusal("--follow takes a folder or a file that grows, and standard input does not")
        if log.is_file() and log.suffix != ".log":
            raise Refusal(f"--follow takes a controller's folder or a .log that grows; {log} tells of one moment")
        sys.exit(follow(log, options, tell))
    found = condition_of(log, options)
    write(found)
    show(found, screen, every, describe)
    sys.exit(found["exit"])


def show(found: Row, screen: Screen, every: bool = False, describe: bool = False) -> None:
    """Print the condition of a cluster; `every`: all rows and names; `describe`: each partition too."""
    for line in head(found):
        screen.one_line(line)
    for part in parts(found, every, describe):
        screen.plain("")
        for one in part:
            if isinstance(one, Table):
                screen.table(one)
            else:
                screen.one_line(one)
    screen.plain(f"(exit {found['exit']})")


def head(found: Row) -> Iterator[str]:
    """What is broken in a line, where that is so, and what a reader must know before it is believed."""
    yield _headline(found)
    at = ", a snapshot: it tells no history" if found["offset"] is None else f" at offset {found['offset']}"
    written = "without times" if found["time"] is None else _clock(found["time"])
    yield f"{found['log']}{at}, {written}, rules {found['rules']}"
    yield from found["doubts"]
    if found["unexplained"]:
        yield "so what is said here of causes, and of what helps, may be wrong"
    if found["violations"]:
        yield f"{_count(found['violations'], 'violation')} in the log; run kraftcheck replay {found['log']}"


def parts(found: Row, every: bool = False, describe: bool = False) -> Iterator[list[Table | str]]:
    """The parts of what is told: of each its lines and tables, the first of which has its title."""
    told = (_advice(found, every), _offline(found, every), _short(found, every), _brokers(found, every),
            _one_fault(found, every), _losses(found, every), _defects(found),
            _described(found) if describe else [])  # fmt: skip
    yield from (lines for part in told if (lines := [*part]))


def changes(before: Row | None, found: Row, every: bool) -> Iterator[str]:
    """The lines of a condition: what it is, and which partitions are otherwise than before; none where nothing is."""
    was = {} if before is None else _states(before)
    now = _states(found)
    told = [
        f"  {state} now: {_names(names, every)}"
        for state in EXITS
        if (names := [name for name, one in now.items() if one == state and was.get(name, "well") != state])
    ]
    gone = [name for name in was if name not in now]
    word = "not shown now" if found["in_part"] else "deleted"
    told += [f"  {word}: {_names(gone, every)}"] if gone else []
    if before is None or told or any(kept(before) != kept(found) for kept in _KEPT):
        at = "a snapshot" if found["offset"] is None else f"offset {found['offset']}"
        yield f"{'' if found['time'] is None else _clock(found['time']) + ' '}{at}: {_headline(found)}"
        yield from told
        yield from (f"  {doubt}" for doubt in found["doubts"] if before is None or doubt not in before["doubts"])


def _states(found: Row) -> dict[str, str]:
    return {f"{row['topic']}-{row['partition']}": row["state"] for row in found["partitions"]}


def _broker_states(found: Row) -> list[tuple[int, str, int]]:
    return [(row["broker"], row["state"], len(row["offline_directories"])) for row in found["brokers"]]


_KEPT: Sequence[Callable[[Row], Any]] = (_broker_states, lambda row: row["doubts"], lambda row: row["in_part_because"])
"""What a line is told of where it is otherwise than before, besides partitions."""


def _headline(found: Row) -> str:
    rows, brokers = found["partitions"], found["brokers"]
    words = {
        "offline": ("is offline", "are offline"), "below min ISR": ("refuses acks=all", "refuse acks=all"),
        "one fault from offline": ("is one fault from offline", "are one fault from offline"),
        ONE_FROM_SHORT: ("is one fault from refusing acks=all", "are one fault from refusing acks=all"),
    }  # fmt: skip
    counts = ((len(_of_state(found, state)), *forms) for state, forms in words.items())
    told = [(count, one if count == 1 else more) for count, one, more in counts if count]
    behind = sum(bool({*row["replicas"]} - {*row["isr"]}) for row in rows)
    text = f"each of {_count(len(rows), 'partition')} survives any one fault"
    if not rows:
        text = "the cluster has no partition"
    elif told:
        (count, first), *others = told
        text = f"{count} of {_count(len(rows), 'partition')} {first}" + "".join(f", {n} {word}" for n, word in others)
    elif behind:
        text += f", {behind} {'is' if behind == 1 else 'are'} under-replicated"
    elif not found["in_part"] and not found["unexplained"]:
        live = all(row["state"] == "live" and not row["offline_directories"] for row in brokers)
        text = f"all is well: {text}" if live else text
    text = f"of those shown, {text}" if found["in_part"] else text
    why = [*found["in_part_because"]]
    if count := found["unexplained"]:
        why.append(f"{count} {'batch is' if count == 1 else 'batches are'} not explained")
    down = [f"broker {row['broker']} is {row['state']}" for row in brokers if row["state"] != "live"]
    down += [f"broker {row['broker']} has lost a directory" for row in brokers if row["offline_directories"]]
    more = [f"{len(down) - NAMED} more brokers are not well"] if len(down) > NAMED else []
    return "; ".join([*why[:NAMED], text, *down[:NAMED], *more])


def _mendable(row: Row, *kinds: str) -> list[int]:
    """The replicas of a partition, among those that only a hand brings back, that may lead then: they were in sync."""
    return [broker for kind in kinds for broker in row[kind] if broker in (*row["isr"], *row["elr"])]


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _clock(time: str) -> str:
    return time.replace("T", " ")[:19] + " UTC"


def _names(names: Sequence[str], every: bool) -> str:
    shown = names if every else names[:NAMED]
    return ", ".join(shown) + (f" and {len(names) - len(shown)} more" if len(names) > len(shown) else "")


def _name(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}"


def _when(moment: Row | None) -> str:
    if moment is None:
        return "before the snapshot"
    return f"offset {moment['offset']}" + ("" if moment["time"] is None else f", {_clock(moment['time'])[:19]}")


def _why(moment: Row | None) -> str:
    return "not known" if moment is None else moment["event"] or "not explained"


def _of_state(found: Row, *states: str) -> list[Row]:
    return [row for row in found["partitions"] if row["state"] in states]


def _section(
    titles: Sequence[str], rows: Sequence[Row], cells: Callable[[Row], Sequence[object]], every: bool = True
) -> Iterator[Table | str]:
    """A table of rows, or of the first; nothing where there are none."""
    shown = rows if every else rows[:SHOWN]
    if rows:
        table = Table(tuple(Column(title, is_prose=title in PROSE) for title in titles))
        for row in shown:
            table.add(*map(str, cells(row)))
        yield table
    if len(rows) > len(shown):
        yield f"and {len(rows) - len(shown)} more: --all"


def _advice(found: Row, every: bool) -> Iterator[str]:
    """What to do now, and what not."""
    if found["brokers"]:
        yield "WHAT NOW" + ("" if found["shortest"] else " (another order may be shorter, or lose less)")
    starting, steps = _starting(found), found["way_back"]
    for number, step in enumerate(steps, 1):
        writable = [name for name in step["writable"] if name not in {*step["leads"]}]
        told = {"gives {} a leader": step["leads"], "lets {} take acks=all again": writable,
                "MAY LOSE RECORDS of {}": step["may_lose"]}  # fmt: skip
        texts = [words.format(_names(names, every)) for words, names in told.items() if names]
        what = "wait for broker" if step["start"] in starting else "start broker"
        goal = "they lead" if step["leads"] else "they do" if writable else "they are"
        waits = number < len(steps) and (texts or step["syncs"])
        other = "more replicas in sync" if step["syncs"] else "what it has replicas of has no leader even then"
        follows = f"; go on once {goal}" if waits else ""
        yield f"  {number}. {what} {step['start']}: {'; '.join(texts) or other}{follows}"
    yield from _with_loss(found, every)
    gone = [*_gone(found, every)]
    yield from gone
    live = {row["broker"] for row in found["brokers"] if row["state"] == "live"}
    if not live and not steps:
        yield from (f"  start broker {row['broker']}: no broker is live" for row in found["brokers"])
    if late := [*dict.fromkeys(name for row in found["brokers"] for name in (row["stop"] or {}).get("awaited", ()))]:
        yield f"  wait until replicas on live brokers are in sync: {_names(late, every)}"
    yield from _who_may_go(found, bool(live), bool(gone), every)


def _with_loss(found: Row, every: bool) -> Iterator[str]:
    """Who is elected with loss if it is back before the one that is to lead, and what no start brings back."""
    planned = {name: step["start"] for step in found["way_back"] for name in step["leads"]}
    early, hopeless, asked = dict[int, list[str]](), list[str](), list[str]()
    for row in _of_state(found, "offline"):
        name, ways = _name(row), row["leads_again"]
        for one in ways:
            by_return = one["start"] is not None and not one["unclean_election"]
            if one["may_lose"] and by_return and one["start"] != planned.get(name):
                early.setdefault(one["start"], []).append(name)
        whole = any(not one["may_lose"] for one in ways) or _mendable(row, "on_failed_directory", "unregistered")
        hopeless += [] if whole else [name]
        asked += [name] if ways and not whole and all(one["unclean_election"] for one in ways) else []
    for broker, names in early.items():
        yield f"  if broker {broker} is back first, it is elected with loss: {_names(names, every)}"
    if hopeless:
        yield f"  nothing that is known brings these back without loss: {_names(hopeless, every)}"
    if asked:
        yield f"  only an unclean election gives these a leader, at the cost below: {_names(asked, every)}"
    lost = {row["broker"] for row in found["brokers"] if row["state"] == "lost"}
    for broker, names in sorted(_by_broker(found, "replicas").items()):
        if broker in lost:
            yield f"  broker {broker} is lost, and is a replica of {_names(names, every)}: reassign them to others"


def _who_may_go(found: Row, any_live: bool, any_gone: bool, every: bool) -> Iterator[str]:
    """Who may be stopped now, and what may be restarted later."""
    yield from _of_brokers(found, every)
    if found["in_part"]:
        yield "  who else may be stopped is not known: not all is shown"
        return
    if any_live and not found["voters"]:
        yield "  which brokers vote in the quorum too is not told: ask kafka-metadata-quorum before you stop one"
    now = {row["broker"]: row["stop"] for row in found["brokers"]}
    if any_gone:
        yield "  rolling restart: what it does cannot be told before these are back"
    if found["rolling_restart"]:
        restarts = [str(row["restart"]) for row in found["rolling_restart"]]
        order = ", ".join(restarts) if len(restarts) <= SHOWN else _names(restarts, every)
        all_back = " once all are back" if any(now[row["restart"]] is None for row in found["rolling_restart"]) else ""
        yield f"  rolling restart{all_back}: {order}; before each, wait until every replica is in sync"
    even = [(row["restart"], _taken(row, every)) for row in found["rolling_restart"]]
    yield from _first([f"    even then, stopping {broker} {taken}" for broker, taken in even
                       if taken and taken != _taken(now[broker] or {}, every)], every)  # fmt: skip


def _gone(found: Row, every: bool) -> Iterator[str]:
    """A line for each broker or directory without which replicas never are in sync, and no start brings it back."""
    broken = _by_broker(found, "on_failed_directory")
    lost = {row["broker"]: ", ".join(row["offline_directories"]) for row in found["brokers"]}
    for broker, names in sorted(broken.items()):
        mend = "mend it and restart the broker, or reassign them"
        yield f"  broker {broker} has lost {lost[broker] or 'the directory'} of {_names(names, every)}: {mend}"
    unregistered = _by_broker(found, "unregistered")
    for broker, names in sorted(unregistered.items()):
        missing = f"broker {broker} is not registered, and is a replica of {_names(names, every)}"
        yield f"  {missing}: start a broker with this id, or reassign them to others"


def _by_broker(found: Row, what: str) -> dict[int, list[str]]:
    """The brokers that something of partitions names, with these partitions."""
    named: dict[int, list[str]] = {}
    for row in found["partitions"]:
        for broker in row[what]:
            named.setdefault(broker, []).append(_name(row))
    return named


def _of_brokers(found: Row, every: bool) -> Iterator[str]:
    """What comes of it when a broker returns, or is stopped; of many brokers those that may be stopped are counted."""
    told, free = list[str](), list[str]()
    for row in found["brokers"]:
        if row["resigns"]:
            concerned = _names(row["resigns"], every)
            told.append(f"  broker {row['broker']} makes the controller RESIGN as it comes back: {concerned}")
        if row["stop"] is not None and (not found["in_part"] or _taken(row["stop"], every)):
            text = f"  broker {row['broker']} {_stoppable(row['stop'], every)}"
            (told if len(found["brokers"]) <= SHOWN or every or _taken(row["stop"], every) else free).append(text)
    yield from _first(told, every)
    if free:
        yield f"  {_count(len(free), 'broker')} may be stopped now: --all names them"


def _first(lines: Sequence[str], every: bool) -> Iterator[str]:
    """Some lines, and how many there are besides."""
    yield from lines if every else lines[:SHOWN]
    if len(lines) > SHOWN and not every:
        yield f"  and {len(lines) - SHOWN} more: --all"


def _starting(found: Row) -> set[int]:
    return {row["broker"] for row in found["brokers"] if row["state"] == "starting"}


def _stoppable(stop: Row, every: bool) -> str:
    taken = _taken(stop, every)
    word = "must NOT" if stop["offline"] or stop["quorum"] else "should not" if taken else "may"
    return f"{word} be stopped now" + (f": it {taken}" if taken else "")


def _taken(stop: Row, every: bool) -> str:
    words = {"offline": "takes {} offline", "unwritable": "makes {} refuse acks=all",
             "short": "leaves {} with fewer in sync, which refuses acks=all already",
             "awaited": "is not in sync yet in {}",
             "quorum": "leaves the quorum of {} without a majority, so that nobody is elected"}  # fmt: skip
    return ", and ".join(text.format(_names(stop[name], every)) for name, text in words.items() if stop.get(name))


def _offline(found: Row, every: bool) -> Iterator[Table | str]:
    starting, states = _starting(found), {row["broker"]: row["state"] for row in found["brokers"]}

    def cells(row: Row) -> Sequence[object]:
        clean = " or ".join(_start(one, starting) for one in row["leads_again"] if not one["may_lose"])
        lossy = "\n".join(_lossy(row, starting)) or ("" if clean else "nobody can be elected")
        why, known = _why(row["since"]), states.get(row["leader"], "not registered")
        fault = "has lost its directory" if row["leader"] in row["on_failed_directory"] else f"is {known}"
        why += "" if row["leader"] == NO_LEADER else f"; its leader {row['leader']} {fault}: nobody can reach it"
        return _name(row), _when(row["since"]), why, row["isr"], row["elr"], clean or _unknown(row), lossy

    titles = ("OFFLINE", "since", "because", "ISR", "ELR", "leads again", "with loss")
    yield from _section(titles, _of_state(found, "offline"), cells, every)


def _unknown(row: Row) -> str:
    if able := _mendable(row, "on_failed_directory"):
        return f"{' or '.join(map(str, able))}, once its directory is mended"
    gone = ", ".join(map(str, row["unregistered"]))
    return f"unknown: {gone} not registered" if gone else "not without loss"


def _start(one: Row, starting: set[int]) -> str:
    """What has to be done, or to happen, for a leader."""
    start = f"once {one['start']} is back" if one["start"] in starting else f"start {one['start']}"
    if one["start"] is None:
        return "unclean election" if one["unclean_election"] else "by itself, by the controller's timer"
    return f"{start}, unclean election" if one["unclean_election"] else start


def _lossy(row: Row, starting: set[int]) -> Iterator[str]:
    """What may be lost, and by what."""
    for one in row["leads_again"]:
        if one["may_lose"]:
            yield f"{_start(one, starting)}: {one['leader']} is elected, without {lost_text(one)}"
        elif "leader" in one["if_killed"]:
            leader = one["if_killed"]["leader"]
            end = "it is not elected" if leader is None else f"{leader} is elected, without what was not flushed"
            yield f"if {one['start']} was killed: {end}"


def lost_text(one: Row) -> str:
    """The records that a leader lacks, of a way to one that may lose some."""
    if one["without"] == "acknowledged since":
        left = "it left the ISR, before the snapshot" if one["since"] is None else _when(one["since"])
        return f"what was acknowledged since {left}"
    return "anything: it was never in sync" if one["without"] == "everything" else "what it had not flushed"


def _short(found: Row, every: bool) -> Iterator[Table | str]:
    def cells(row: Row) -> Sequence[object]:
        after = row["writable_after"]
        until = "" if after is None else ", then ".join(f"start {b}" for b in after) or "replicas catch up"
        told = {"{} is registered, or no replica": "unregistered", "{} has its directory again": "on_failed_directory"}
        lacking = " and ".join(text.format(broker) for text, what in told.items() for broker in row[what])
        return _name(row), _when(row["since"]), _why(row["since"]), row["leader"], row["isr"], row["min_isr"], (
            until or lacking or "not known")  # fmt: skip

    titles = ("REFUSES acks=all", "since", "because", "leader", "ISR", "min ISR", "until")
    yield from _section(titles, _of_state(found, "below min ISR"), cells, every)


def _grouped(title: str, entries: Iterable[tuple[int, str, str]], every: bool) -> Iterator[str]:
    """A line for each text, the highest number first, with the partitions that stand for {}."""
    groups: dict[tuple[int, str], list[str]] = {}
    for number, text, name in entries:
        groups.setdefault((number, text), []).append(name)
    events = sorted(groups.items(), key=lambda group: (-group[0][0], group[0][1]))
    if events:
        yield title
    yield from _first([f"  {text.format(_names(names, every))}" for (_, text), names in events], every)


def _one_fault(found: Row, every: bool) -> Iterator[str]:
    for title, short in (("ONE FAULT FROM OFFLINE", False), ("ONE FAULT FROM REFUSING acks=all", True)):
        rows = [row for row in found["partitions"]
                if row["one_fault"] is not None and (row["state"] == ONE_FROM_SHORT) == short]  # fmt: skip
        entries = ((0, f"if {row['one_fault']}: {{}}", _name(row)) for row in rows)
        yield from _grouped(title, entries, every)


def _losses(found: Row, every: bool) -> Iterator[str]:
    """What may have been lost before, the latest first."""
    rows = [(row["lost"], row) for row in found["partitions"] if row["lost"] is not None or row["recovering"]]
    entries = (
        (-1, "{} recovering from an unclean election", _name(row)) if lost is None
        else (lost["offset"], f"{{}} at {_when(lost)}: {_why(lost)}", _name(row))
        for lost, row in rows
    )  # fmt: skip
    yield from _grouped("MAY HAVE LOST RECORDS: led by a replica that need not have had them all", entries, every)


def _defects(found: Row) -> Iterator[str]:
    """The defects that the log has met, in a line each."""
    told = [f"  {line}" for line in known.brief(found["defects"])]
    if told:
        what = "KNOWN DEFECTS met" if all(row["causes"] for row in found["defects"]) else "PROMISES BROKEN"
        yield f"{what} in this log; kraftcheck replay tells all of them"
    yield from told


def _brokers(found: Row, every: bool) -> Iterator[Table | str]:
    """The brokers; of many those that are not well come first."""

    def cells(row: Row) -> Sequence[object]:
        lost = row["offline_directories"]
        directories = "not shown" if row["directories"] is None else f"{len(row['directories'])} online"
        directories += f", {', '.join(lost)} offline" if lost else ""
        down = row["state"] not in ("live", "shutting down")
        since = (_when(row["since"]), _why(row["since"])) if down else ("", "")
        return row["broker"], row["state"], *since, "not shown" if row["epoch"] is None else row["epoch"], directories

    rows = found["brokers"]
    if len(rows) > SHOWN and not every:
        rows = sorted(rows, key=lambda row: row["state"] == "live" and not row["offline_directories"])
    yield from _section(("BROKER", "state", "since", "because", "epoch", "directories"), rows, cells, every)


def _described(found: Row) -> Iterator[Table | str]:
    def cells(row: Row) -> Sequence[object]:
        leader = "none" if row["leader"] == NO_LEADER else row["leader"]
        state = row["state"] + (", recovering" if row["recovering"] else "")
        lists = (row[name] for name in ("replicas", "isr", "elr", "last_known_leader"))
        return row["topic"], row["partition"], leader, *lists, row["min_isr"], state

    titles = ("topic", "partition", "leader", "replicas", "ISR", "ELR", "last known", "min ISR", "state")
    yield from _section(titles, sorted(found["partitions"], key=lambda row: (row["topic"], row["partition"])), cells)
