"""States to start in, from trace files: `--from FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import EngineDisagreement, run
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.path import Way


def ways(paths: Sequence[Path], chosen: Subject, traced: Program) -> tuple[Way, ...]:
    """The ways to the last states of trace files, replayed by the rules at hand.

    A state that these rules do not reach would break properties that hold, so
    the whole way is asked for, not the state alone.

    Args:
        paths: ITF files, as `explore --out` and `simulate --out` write.
        chosen, traced: the system at its setting.

    Raises:
        Refusal: naming file and key of what is malformed, of another system, or not what the rules lead to.
    """
    return tuple(_way(path, chosen, traced) for path in paths)


def _way(path: Path, chosen: Subject, traced: Program) -> Way:
    document = read_json(path)
    try:
        told = itf.recipe(document)
        if told.system != chosen.name:
            raise Refusal(f"{path}: a trace of {told.system}, not of {chosen.name}")
        initial, instances = itf.instances(told, traced)
        first, steps = run(traced, initial, instances)
    except (itf.TraceError, EngineDisagreement) as error:
        raise Refusal(f"{path}: {error}; its bounds and rules are the ones to give") from error
    end = steps[-1].state if steps else first
    return Way(initial, instances, traced.layout.pack(end))
