"""The explorer: deterministic, bounded, interruptible, and checked by ints."""

import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from kraftcheck.solvers.exploration.explore import Exploration, SearchProgress, explore
from kraftcheck.solvers.machine_code import compile as native
from kraftcheck.solvers.machine_code import objectcode
from kraftcheck.solvers.machine_code.compile import cache_key, load_kernel
from kraftcheck.solvers.machine_code.objectcode import CompileEffort
from kraftcheck.solvers.machine_code.search_kernel import Geometry
from kraftcheck.solvers.program.verdict import Incomplete, Refuted
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search import levels as search
from kraftcheck.solvers.search import visited
from kraftcheck.solvers.search.visited import VisitedSet
from tests import toys
from tests.shared.explored import explored, traced


def facts(found: Exploration) -> dict[str, Any]:
    """Everything that must not depend on threads, rounds and buffers."""
    names = ("distinct", "generated", "levels", "fired", "never_true", "never_false", "pruned", "cut")
    result = {name: getattr(found, name) for name in names}
    assert found.store is not None
    parents = [shard.parents[: shard.count].tolist() for shard in found.store.shards]
    actions = [shard.actions[: shard.count].tolist() for shard in found.store.shards]
    return {**result, "verdicts": found.verdicts, "states": found.packed().tolist(), "from": (parents, actions)}


@pytest.mark.parametrize("scope", ["5", "7"])
def test_results_do_not_depend_on_threads(scope: str) -> None:
    """One, two and four threads find the same states in the same order with the same parents and traces."""
    program = traced(toys.HASTY, scope)
    alone = facts(explored(program, threads=1))
    assert alone == facts(explored(program, threads=2))
    assert alone == facts(explored(program, threads=4))


def test_results_do_not_depend_on_how_code_is_compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The code of each effort, and a search that goes over to better code twice, give the same order and traces."""
    program = traced(toys.HASTY, "5")
    usual = facts(explored(program, cache_dir=tmp_path))
    for effort in CompileEffort:
        assert usual == facts(explore(program, clock=time.perf_counter, effort=effort))
    monkeypatch.setattr(objectcode, "WORTH", {CompileEffort.LITTLE: 10, CompileEffort.MOST: 100})
    found = explored(program, cache_dir=tmp_path)
    assert usual == facts(found)
    assert found.generated > 100
    assert not found.cached
    assert len(list(tmp_path.iterdir())) == 3
    (tmp_path / f"{cache_key(program)}-0.o").unlink()
    assert explored(program, cache_dir=tmp_path).cached, "better code is taken where it is there"


def test_results_do_not_depend_on_rounds_and_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of one chunk and candidate buffers that are always full give the same order, parents and traces."""
    program = traced(toys.HASTY, "5")
    usual = facts(explored(program, threads=2))
    monkeypatch.setattr(search, "CHUNKS", 1)
    assert usual == facts(explored(program, threads=2))
    tight = evolve(Geometry.of(program), room=program.instances + 3)
    monkeypatch.setattr(Geometry, "of", classmethod(lambda cls, program: tight))
    assert usual == facts(explored(program, threads=2))


@pytest.mark.parametrize("limit", [{"stop_at_first": True}, {"max_states": 5_000}, {"memory": 2 << 20}], ids=str)
def test_a_cut_does_not_depend_on_threads(limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """In levels of many rounds each limit cuts at the same place, however far the next round is by then."""
    program = traced(toys.HASTY, "7")
    monkeypatch.setattr(search, "SLICE", 2)
    monkeypatch.setattr(search, "CHUNKS", 3)
    alone = explored(program, **limit)
    assert alone.cut is not None
    for threads in (2, 3):
        assert facts(alone) == facts(explored(program, threads=threads, **limit))


def test_a_memory_limit_gives_incomplete_with_what_was_done() -> None:
    """A search past its budget stops, keeps its counts, and is the same for any number of threads."""
    program = traced(toys.TWO_PHASE, "7")
    found = explored(program, memory=4 << 20)
    verdict = found.verdict("consistent").verdict
    assert isinstance(verdict, Incomplete)
    assert "memory limit 4,194,304 bytes" in verdict.cut
    assert 1_000 < found.distinct < 296_448
    assert sum(found.levels) == found.distinct == len(set(found.states()))
    assert facts(found) == facts(explored(program, memory=4 << 20, threads=2))


def test_a_full_shard_holds_what_it_has_room_for() -> None:
    """Where memory cuts the search, some shard holds exactly as many states as it may, each of them findable."""
    store = explored(traced(toys.TWO_PHASE, "7"), memory=2 << 20).store
    assert store is not None
    full = [number for number, shard in enumerate(store.shards) if shard.count == shard.room]
    assert full
    assert all(shard.count <= shard.room for shard in store.shards)
    for index in (0, store.shards[full[0]].room - 1):
        identity = index * len(store.shards) + full[0]
        assert store.identify(store.state(identity)) == identity


def test_little_address_space_gives_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where less can be reserved than memory has room for, the search ends there, says so, and is not complete."""

    def reserve(shape: tuple[int, ...], dtype: Any) -> Any:
        if shape[1] > 4096:
            raise OSError
        return np.zeros(shape, dtype=dtype)

    monkeypatch.setattr(visited, "reserve", reserve)
    found = explored(traced(toys.TWO_PHASE, "7"))
    assert found.cut is not None
    assert re.search(r"^memory limit: address space for [\d,]+ states", found.cut)
    assert 32 * 2048 <= found.distinct <= 32 * 4096
    assert isinstance(found.verdict("consistent").verdict, Incomplete)
    assert explored(traced(toys.TWO_PHASE, "5")).cut is None


def test_a_larger_budget_reaches_further() -> None:
    """Twice the memory gives more states, and neither search takes more than its budget."""
    program = traced(toys.TWO_PHASE, "7")
    small, large = (explored(program, memory=size) for size in (3 << 20, 6 << 20))
    assert small.distinct < large.distinct
    assert small.distinct * small.bytes_per_state < 3 << 20
    assert large.distinct * large.bytes_per_state < 6 << 20


def test_a_stop_flag_gives_incomplete() -> None:
    """A flag set while the search runs ends it with its counts so far; a refutation found before stays."""
    stop = threading.Event()
    seen: list[SearchProgress] = []

    def progress(now: SearchProgress) -> None:
        seen.append(now)
        if now.depth == 9:
            stop.set()

    found = explore(traced(toys.HASTY, "3"), clock=time.perf_counter, progress=progress, stop=stop)
    assert found.cut == "stopped on request"
    cut = f"stopped on request, after {found.distinct} states to depth 10"
    assert found.verdict("deadlock").verdict == Incomplete(cut)
    assert isinstance(found.verdict("consistent").verdict, Refuted)
    assert [now.depth for now in seen] == list(range(10))
    assert seen[-1].distinct == found.distinct


def test_a_flag_set_before_the_start_leaves_the_initial_states() -> None:
    """Nothing is expanded once the flag is set."""
    stop = threading.Event()
    stop.set()
    found = explore(traced(toys.TWO_PHASE, "3"), clock=time.perf_counter, stop=stop)
    assert (found.distinct, found.generated, found.levels) == (1, 1, (1,))
    assert isinstance(found.verdict("committed").verdict, Incomplete)


def test_a_depth_limit_judges_the_last_level_without_expanding_it() -> None:
    """With limit 4 the digraph's node 5 is seen in the states of depth 4; at limit 3 it is not."""
    program = traced(toys.DIGRAPH)
    near, far = explored(program, max_depth=3), explored(program, max_depth=4)
    assert isinstance(near.verdict("never-5").verdict, Incomplete)
    assert isinstance(far.verdict("never-5").verdict, Refuted)
    assert (near.depth, far.depth, far.cut) == (3, 4, "depth limit 4")
    assert far.verdict("deadlock").verdict == Incomplete("depth limit 4, after 8 states to depth 4")


def test_a_state_limit_gives_incomplete_unless_all_were_found() -> None:
    """A limit below the number of states cuts the search; the number itself does not."""
    program = traced(toys.TWO_PHASE, "3")
    assert explored(program, max_states=100).cut == "state limit 100"
    assert explored(program, max_states=288).cut in (None, "state limit 288")
    assert explored(program, max_states=289).cut is None


def test_stop_at_first_ends_after_the_refuting_round() -> None:
    """The refutation is the same, and states beyond its level are not expanded."""
    program = traced(toys.HASTY, "3")
    short, whole = explored(program, stop_at_first=True), explored(program)
    assert short.verdict("consistent") == whole.verdict("consistent")
    assert short.distinct < whole.distinct
    assert short.cut == "stopped at the first violation"


def test_compiled_code_is_kept_and_found_again(tmp_path: Path) -> None:
    """The second run takes its code from the cache and finds the same."""
    program = traced(toys.TWO_PHASE, "3")
    first, second = (explored(program, cache_dir=tmp_path / "cache") for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert first.warnings == second.warnings == ()
    assert facts(first) == facts(second)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".o"]


@pytest.mark.parametrize("damage", [lambda code: code[:100], lambda code: code[:-1] + b"\0\1", lambda code: b""])
def test_damaged_code_is_compiled_again_with_a_warning(tmp_path: Path, damage: Any) -> None:
    """Truncated, altered or empty object code is noticed, replaced, and does no harm."""
    program = traced(toys.TWO_PHASE, "3")
    explored(program, cache_dir=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    found = explored(program, cache_dir=tmp_path)
    assert found.distinct == 288
    assert not found.cached
    assert [("is damaged" in warning, str(path) in warning) for warning in found.warnings] == [(True, True)]
    assert explored(program, cache_dir=tmp_path).cached


def test_an_unwritable_cache_is_a_warning(tmp_path: Path) -> None:
    """A cache folder that cannot be made leaves the result alone and says so."""
    (tmp_path / "file").write_text("not a folder")
    found = explored(traced(toys.CLOCK), cache_dir=tmp_path / "file")
    assert found.distinct == 2
    assert any("cannot keep compiled code" in warning for warning in found.warnings)


def test_programs_that_differ_have_different_keys() -> None:
    """Scope, guard and role of a property all change the name of the compiled code."""
    goal = toys.CLOCK.properties(toys.CLOCK.setting())[2]
    as_claim = evolve(toys.CLOCK, properties=lambda setting: [evolve(goal, kind="always")])
    as_goal = evolve(toys.CLOCK, properties=lambda setting: [goal])
    programs = [traced(as_claim), traced(as_goal)]
    programs += [traced(s, n) for s in (toys.TWO_PHASE, toys.HASTY) for n in ("3", "5")]
    assert len({cache_key(program) for program in programs}) == len(programs)


def test_a_wrong_native_result_is_a_disagreement_not_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of another system than the one asked about is caught when its witness is replayed on ints."""
    program = traced(toys.TWO_PHASE, "3")
    tampered = evolve(load_kernel(traced(toys.HASTY, "3")), program=program)
    monkeypatch.setattr(native, "load_kernel", lambda program, cache_dir, effort, on_compile: tampered)
    with pytest.raises(EngineDisagreement, match=r"TMCommit.* is not enabled .* on ints"):
        explored(program)


def test_altered_parents_are_a_disagreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that leads elsewhere than to the state that broke the property is not reported."""
    program = traced(toys.DIGRAPH)
    monkeypatch.setattr(VisitedSet, "path", lambda store, identity: (root(store), [0, 1]))
    with pytest.raises(EngineDisagreement, match="the engine reached"):
        explored(program)


def root(store: VisitedSet) -> int:
    """The id of the digraph's initial state."""
    return next(i for i in range(10_000) if i // 32 < store.shards[i % 32].count and store.state(i) == (0,))


def test_replay_refuses_what_is_not_a_witness() -> None:
    """A false start, another end, a property that holds, and an enabled action are each refused."""
    program = traced(toys.DIGRAPH)
    claim, goal = program.always[0], program.sometimes[0]
    assert confirm(program, claim, (0,), [5, 6, 7, 4], (5,)).failing == ("never-5",)
    assert confirm(program, goal, (0,), [5, 6, 7, 4], (5,)).failing == ()
    wrong: list[tuple[Any, tuple[int, ...], list[int], tuple[int, ...] | None, str]] = [
        (claim, (1,), [], (1,), "not an initial state"),
        (claim, (0,), [5, 6, 7, 4], (4,), "engine reached"),
        (claim, (0,), [5], (6,), "the engine and ints differ"),
        (goal, (0,), [], (0,), "the engine and ints differ"),
        (None, (0,), [], (0,), "is enabled on ints"),
        (claim, (0,), [1], None, "is not enabled"),
        (program.steps[0], (0,), [], None, "without a step"),
    ]
    for about, first, instances, end, message in wrong:
        with pytest.raises(EngineDisagreement, match=message):
            confirm(program, about, first, instances, end)
