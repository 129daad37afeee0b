"""Systems whose processes mostly work for themselves: `kraftcheck explore tests.solvers.search.orders.ports:LOCK`."""

from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.system import Bound, Setting, System

PROCESSES = (Bound("processes", 1, 12, "Processes."),)
PREPARED = 3  # steps that a process does for itself before it asks for what is shared


@frozen
class Walks:
    """Where each of several walkers is, and who has arrived."""

    at: tuple[kc.Word, ...]
    arrived: kc.IntSet


def _step(s: Any, who: kc.Word) -> Any:
    return evolve(s, at=kc.put(s.at, who, kc.pick(s.at, who, 0) + 1))


def _prepares(s: Any, who: kc.Word) -> kc.Truth:
    return kc.pick(s.at, who, 0) < PREPARED


def _arrive(s: Walks, who: kc.Word) -> Walks:
    return evolve(s, arrived=s.arrived.plus(s.arrived.just(who)))


def _may_arrive(s: Walks, who: kc.Word) -> dict[str, kc.Truth]:
    there = kc.all_of(kc.pick(s.at, who, 0) == PREPARED, kc.negate(s.arrived.has(who)))
    return {"they are there": there, "nobody stops them": s.arrived.size() < 20}


def _who(setting: Setting) -> dict[str, range]:
    return {"who": range(setting["processes"])}


WALKING = System(
    name="walking",
    summary="Walkers that do not see each other.",
    initial=lambda setting: [Walks((0,) * setting["processes"], kc.IntSet())],
    layout=lambda setting: Walks(
        (kc.ints(0, PREPARED),) * setting["processes"], kc.IntSet(kc.subset_of(setting["processes"]))
    ),
    actions=lambda setting: [
        kc.Action("on", _step, _prepares, _who(setting)),
        kc.Action("arrive", _arrive, _may_arrive, _who(setting)),
    ],
    properties=[kc.sometimes("first-arrives", "The first walker arrives.", lambda s: s.arrived.has(0))],
    scopes={"4": {"processes": 4}},
    bounds=PROCESSES,
)


@frozen
class Lock:
    """Where each process is (behind the last preparation: waiting, inside, done), and who is inside."""

    at: tuple[kc.Word, ...]
    inside: kc.IntSet


def _enter(s: Lock, who: kc.Word) -> Lock:
    return evolve(_step(s, who), inside=s.inside.plus(s.inside.just(who)))


def _leave(s: Lock, who: kc.Word) -> Lock:
    return evolve(_step(s, who), inside=s.inside.minus(s.inside.just(who)))


def lock(careful: bool) -> System:
    """Processes that prepare, and then are inside one at a time; a careless one does not look whether somebody is."""

    def may_enter(s: Lock, who: kc.Word) -> dict[str, kc.Truth]:
        free = {"nobody is inside": s.inside.is_empty()} if careful else {}
        return {"prepared": kc.pick(s.at, who, 0) == PREPARED, **free}

    return System(
        name="lock" if careful else "no-lock",
        summary="Mutual exclusion of processes that work for themselves first.",
        initial=lambda setting: [Lock((0,) * setting["processes"], kc.IntSet())],
        layout=lambda setting: Lock(
            (kc.ints(0, PREPARED + 2),) * setting["processes"], kc.IntSet(kc.subset_of(setting["processes"]))
        ),
        actions=lambda setting: [
            kc.Action("prepare", _step, _prepares, _who(setting)),
            kc.Action("enter", _enter, may_enter, _who(setting)),
            kc.Action("leave", _leave, lambda s, who: kc.pick(s.at, who, 0) == PREPARED + 1, _who(setting)),
        ],
        properties=[
            kc.always("exclusive", "At most one process is inside.", lambda s: s.inside.size() <= 1),
            kc.sometimes("last-enters", "Process 0 is inside.", lambda s: s.inside.has(0)),
        ],
        quiescent=lambda s: kc.all_of(*(place == PREPARED + 2 for place in s.at)),
        scopes={"4": {"processes": 4}},
        bounds=PROCESSES,
    )


LOCK, NO_LOCK = lock(careful=True), lock(careful=False)


@frozen
class Library:
    """Where each process is (behind the last preparation: at work, done), who reads, and who writes."""

    at: tuple[kc.Word, ...]
    reading: kc.IntSet
    writing: kc.IntSet


def _read(s: Library, who: kc.Word) -> Library:
    return evolve(_step(s, who), reading=s.reading.plus(s.reading.just(who)))


def _write(s: Library, who: kc.Word) -> Library:
    return evolve(_step(s, who), writing=s.writing.plus(s.writing.just(who)))


def _stop(s: Library, who: kc.Word) -> Library:
    one = s.reading.just(who)
    return evolve(_step(s, who), reading=s.reading.minus(one), writing=s.writing.minus(one))


READERS_WRITERS = System(
    name="readers-writers",
    summary="Readers and a writer that work for themselves first.",
    initial=lambda setting: [Library((0,) * setting["processes"], kc.IntSet(), kc.IntSet())],
    layout=lambda setting: Library(
        (kc.ints(0, PREPARED + 2),) * setting["processes"],
        kc.IntSet(kc.subset_of(setting["processes"])), kc.IntSet(kc.subset_of(setting["processes"])),
    ),
    actions=lambda setting: [
        kc.Action("prepare", _step, _prepares, _who(setting)),
        kc.Action("read", _read, lambda s, who: kc.all_of(
            who > 0, kc.pick(s.at, who, 0) == PREPARED, s.writing.is_empty()), _who(setting)),
        kc.Action("write", _write, lambda s, who: kc.all_of(
            who == 0, kc.pick(s.at, who, 0) == PREPARED, s.writing.is_empty(), s.reading.is_empty()), _who(setting)),
        kc.Action("stop", _stop, lambda s, who: kc.pick(s.at, who, 0) == PREPARED + 1, _who(setting)),
    ],
    properties=[
        kc.always("apart", "Nobody reads while somebody writes.",
                  lambda s: kc.any_of(s.writing.is_empty(), s.reading.is_empty())),
        kc.sometimes("written", "The writer writes.", lambda s: s.writing.has(0)),
    ],
    quiescent=lambda s: kc.all_of(*(place == PREPARED + 2 for place in s.at)),
    scopes={"4": {"processes": 4}},
    bounds=PROCESSES,
)  # fmt: skip
