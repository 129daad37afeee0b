"""The folder of a run: its counterexamples and its report, or the dataset of an engine that commits its levels."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.ci.dataset.dataset_place import check_readable
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.run.result import REPORT, TRACE, Result, write_traces
from kraftcheck.ci.terminal.files import check_folder, check_results, folder, results, write_json
from kraftcheck.ci.terminal.refusal import Refusal


def check_out(out: AnyPath | None, engine: str, *others: str | Path | None) -> None:
    """Refuse a folder for results that cannot be used, before anything is explored.

    Raises:
        Refusal: see `check_results`; of Spark's datasets, which go on, for a folder of something else.
    """
    if engine == "native" or out is None:
        if isinstance(out, ObjectPath):
            raise Refusal(f"--out {out} is a URL, which --engine disk and spark write to; name a folder")
        check_results("--out", out, *others)
        return
    check_readable(out)
    foreign = sorted(path.name for path in out.iterdir() if path.name[0] != ".") if out.is_dir() else []
    if foreign and not (out / "run.json").exists() and "levels" not in foreign:
        raise Refusal(f"{out} holds {foreign[0]} and no exploration; choose another --out")
    if isinstance(out, Path):
        check_folder(out)


def keep_traces(out: AnyPath, result: Result, engine: str, goals: bool) -> list[AnyPath]:
    """Write the traces of this run, and none of an earlier one, into its folder; returns the files.

    Beside those of the native engine stands the report.
    """
    traces = result.traces(goals)
    if engine == "native" and isinstance(out, Path):
        with results("--out", out) as place:
            names = write_traces(place, result.subject, result.program, traces, result.shortest)
            write_json(str(folder(place) / REPORT), result.document)
    else:
        names = write_traces(out, result.subject, result.program, traces, result.shortest)
        for old in out.glob(f"*{TRACE}"):
            if old.name not in names:
                old.unlink()
    return [out / name for name in names]
