"""Start states from trace files: `--from FILE`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import EngineDisagreement, run
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.path import PackedRun


def start_runs(paths: Sequence[Path], chosen: Subject, traced: Program) -> tuple[PackedRun, ...]:
    """The runs to the last states of trace files, replayed by the chosen rules.

    A state that these rules do not reach would break properties that hold, so
    the whole run is replayed, not the state alone.

    Args:
        paths: ITF files, as `explore --out` and `simulate --out` write.
        chosen, traced: the system at its setting.

    Raises:
        Refusal: naming file and key of what is malformed, of another system, or not what the rules lead to.
    """
    return tuple(_start_run(path, chosen, traced) for path in paths)


def _start_run(path: Path, chosen: Subject, traced: Program) -> PackedRun:
    document = read_json(path)
    try:
        recipe = itf.recipe(document)
        if recipe.system != chosen.name:
            raise Refusal(f"{path}: a trace of {recipe.system}, not of {chosen.name}")
        initial, instances = itf.instances(recipe, traced)
        first, steps = run(traced, initial, instances)
    except (itf.TraceError, EngineDisagreement) as error:
        raise Refusal(f"{path}: {error}; its bounds and rules are the ones to give") from error
    end = steps[-1].state if steps else first
    return PackedRun(initial, instances, traced.layout.pack(end))
