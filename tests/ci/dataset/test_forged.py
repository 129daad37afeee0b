"""A dataset of a stranger's: nothing in it runs, nothing outside it is read, written or removed."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve

from kraftcheck.ci.dataset import duckdb_engine as engine
from kraftcheck.ci.dataset.documents import decoding
from kraftcheck.ci.dataset.engine import DUCKDB, SPARK, quoted
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.dataset.forging import COUNTS, EXPLORE, bomb, forged, manifests, opened
from tests.ci.fuzz.bounds import bounded
from tests.ci.fuzz.mutations import Alter
from tests.ci.fuzz.mutations import places as every_place
from tests.ci.spark.levels import program_of
from tests.shared.commands import kraftcheck


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset, as it was written."""
    out = tmp_path_factory.mktemp("kept") / "out"
    assert kraftcheck(*EXPLORE, "--out", out).code == 0
    return out


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of a user's, elsewhere."""
    folder = tmp_path / "precious"
    (folder / "sub").mkdir(parents=True)
    (folder / "thesis.tex").write_text("precious data")
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """All that is in a folder."""
    found = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in found}


PLACES: dict[str, Callable[[dict[str, Any], Any], object]] = {
    "lo": lambda run, text: run["fields"][0].update(bits=0, lo=text),
    "word": lambda run, text: run["fields"][0].update(word=text),
    "shift": lambda run, text: run["fields"][0].update(shift=text),
    "bits": lambda run, text: run["fields"][0].update(bits=text),
    "name": lambda run, text: run["fields"][0].update(name=text),
    "value": lambda run, text: run["fields"][0].update(names=[text]),
    "claim": lambda run, text: run["claims"].append({"id": text, "kind": "always", "sentence": ""}),
    "action": lambda run, text: run["actions"][0].update(name=text),
    "argument": lambda run, text: run["actions"][0].update(arguments={text: 0}),
    "argument's value": lambda run, text: run["actions"][0].update(arguments={"machine": text}),
    "words": lambda run, text: run.update(words=text),
}
"""Where text of run.json could become SQL."""


@pytest.mark.parametrize("place", PLACES)
def test_no_text_of_a_dataset_is_sql(place: str, kept: Path, precious: Path, tmp_path: Path) -> None:
    """Statements behind any value of run.json are refused in one line: none runs, whatever is asked by any engine."""
    write = f"COPY (SELECT 'touch OWNED') TO '{precious / 'profile'}' (HEADER false)"
    before = contents(precious)
    for number, head in enumerate(("0 AS a", '0"', "0']", "0`")):
        text = f"{head} FROM packed; {write}; CREATE VIEW b AS SELECT 0"
        out = forged(kept, tmp_path / str(number), lambda run, text=text: PLACES[place](run, text))  # type: ignore[misc]
        for words in ((), ("--engine", "spark")):
            told = kraftcheck("query", out, "SELECT count(*) FROM levels", *words).refusal()
            assert told.startswith(f"{out}/run.json: ")
    assert contents(precious) == before


def test_views_are_defined_where_nothing_else_can_be_read(
    kept: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A view that would read a file elsewhere is refused as it is defined, and a second statement is none."""
    data, secret = Dataset.open(kept), precious / "thesis.tex"
    monkeypatch.setattr(engine, "states_sql", lambda *_: f"SELECT content FROM read_text('{secret}')")
    with pytest.raises(Refusal, match="disabled by configuration"), engine.duckdb_engine(data, 1, "used"):
        pass
    monkeypatch.setattr(engine, "states_sql", lambda *_: f"SELECT 1; COPY (SELECT 1) TO '{precious / 'made'}'")
    with pytest.raises(ValueError, match="too many values"), engine.duckdb_engine(data, 1, "used"):
        pass
    assert not (precious / "made").exists()


def test_marks_are_doubled() -> None:
    """Names and texts end where they end, by one function for both engines."""
    assert quoted("a'b", "'") == "'a''b'"
    assert (DUCKDB.name('a"b'), SPARK.name("a`b")) == ('"a""b"', "`a``b`")
    assert duckdb.sql(f"SELECT {quoted(chr(39) + ');--', chr(39))}").fetchall() == [("');--",)]


@pytest.mark.parametrize("name", ["it's", 'a "b"', "a`b", "a\\b", "${env:HOME}"])
def test_a_name_that_sql_would_read_more_into_is_refused_when_it_is_written(name: str) -> None:
    """A system whose property has such a name leaves no dataset that would be refused later."""
    claims = toys.TWO_PHASE.properties
    named = evolve(toys.TWO_PHASE, properties=lambda setting: [
        evolve(one, id=name) if one.kind == "always" else one for one in claims(setting)
    ])  # fmt: skip
    with pytest.raises(Refusal, match="a dataset does not take it: id: takes a name of the pattern"):
        decoding(program_of(named, "3"))


@pytest.mark.parametrize("place", ["run", "level0", "level1"])
def test_a_key_that_nobody_writes_is_refused(place: str, kept: Path, tmp_path: Path) -> None:
    """In any object of a document, by a line that names the document: who wrote it meant more than is read."""
    document = json.loads((kept / "run.json" if place == "run" else manifests(kept)[int(place[-1])]).read_bytes())
    paths = [(), *(path for path in every_place(document) if isinstance(at(document, path), dict))]
    assert len(paths) > 1
    for number, path in enumerate(paths):
        out = forged(kept, tmp_path / str(number), **{place: lambda content, path=path: at(content, path).update(x="")})
        told = kraftcheck("query", out, COUNTS).refusal()
        assert told.startswith(f"{out}/{'run' if place == 'run' else f'levels/_0000{place[-1]}'}.json: "), path


def at(document: Any, path: tuple[Any, ...]) -> Any:
    """The value at a path of a document."""
    for key in path:
        document = document[key]
    return document


def test_a_table_of_other_fields_is_noticed_once_the_rules_are_read(kept: Path, tmp_path: Path) -> None:
    """Columns whose names are exchanged: transitions, a witness and a run that goes on are refused."""

    def exchange(run: dict[str, Any]) -> None:
        one, other = run["fields"][:2]
        one["name"], other["name"] = other["name"], one["name"]

    out = forged(kept, tmp_path / "out", exchange)
    told = dict(opened(out))
    assert told.pop("count").code == 0
    assert len(told) == 5
    for ran in told.values():
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "run.json: it decodes other states than the system's; explore into another --out" in ran.err


NAMES = ["{precious}/thesis.tex", "../../../precious/thesis.tex", "../depth=2/part-0.parquet", "..", "", "a\x00b"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_files_stay_in_their_folder(name: str, kept: Path, precious: Path, tmp_path: Path) -> None:
    """A file elsewhere that a manifest names is neither read nor written, and a repair explores the level again."""
    before = contents(precious)
    out = forged(kept, tmp_path / "out", level1=lambda level: level["files"][0].update(
        name=name.format(precious=precious)))  # fmt: skip
    told = dict(opened(out))
    for command in ("count", "witness", "resume"):
        assert "_00001.json: files: 0: name: takes a name of the pattern" in told[command].refusal()
    assert told["repair"].code == 0
    assert kraftcheck("query", out, COUNTS).code == 0
    assert contents(precious) == before


LINKED = [
    "run.json", "levels", "levels/_00001.json", "levels/depth=1", "levels/depth=1/part", "levels/depth=99999",
    ".driver.lease", "backward", "liveness/rounds.json", "spark.log", "levels/.swept-0", ".unfinished",
]  # fmt: skip
"""Places in a dataset where a link could lead elsewhere."""


def planted(kept: Path, out: Path, place: str) -> Path:
    """A place in a copy of a dataset where nothing is any more."""
    shutil.copytree(kept, out)
    path = out / place
    if path.name == "part":
        (path,) = path.parent.iterdir()
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return path


@pytest.mark.parametrize("place", LINKED)
@pytest.mark.parametrize("kind", ["folder", "file", "nothing", "pipe"])
def test_nothing_below_a_dataset_leads_elsewhere(
    kind: str, place: str, kept: Path, precious: Path, tmp_path: Path
) -> None:
    """A link to a folder, to a file or to nothing, and a pipe: refused with its place; its target stays as it is."""
    before, path = contents(precious), planted(kept, tmp_path / "out", place)
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"folder": precious, "file": precious / "thesis.tex", "nothing": precious / "new"}[kind])
    with bounded():
        for _, ran in opened(tmp_path / "out"):
            assert f"{path} is {'a pipe or a device' if kind == 'pipe' else 'a link'}, which no run " in ran.refusal()
    assert contents(precious) == before


def test_what_is_written_in_place_is_no_other_file(kept: Path, precious: Path, tmp_path: Path) -> None:
    """A hard link is no way to a file elsewhere."""
    path = planted(kept, tmp_path / "out", ".driver.lease")
    os.link(precious / "thesis.tex", path)
    ran = kraftcheck(*EXPLORE, "--out", tmp_path / "out", "--resume")
    assert (precious / "thesis.tex").read_text() == "precious data"
    assert f"cannot write {path}: it is another file too, by a hard link" in ran.refusal()


@pytest.mark.parametrize("notes", [
    "my notes", "[" * 4000, '{"my": "notes"}',
   '{"pid": "x"}', '{"pid": -1}', '{"pid": 1' + "0" * 40 + "}", '{"host": 1}',
], ids=["text", "deep", "other key", "text as number", "below zero", "beyond all", "number as text"])  # fmt: skip
def test_a_file_that_is_no_lease_is_not_written_over(notes: str, kept: Path, tmp_path: Path) -> None:
    """Notes of a user's under the name of the lease stay, also where they are JSON."""
    path = planted(kept, tmp_path / "out", ".driver.lease")
    path.write_text(notes)
    told = kraftcheck(*EXPLORE, "--out", tmp_path / "out", "--resume").refusal()
    assert told == f"{path} is no lease of a driver; remove it, or choose another --out"
    assert path.read_text() == notes


@pytest.mark.parametrize("command", [("query", COUNTS), ("sweep",)])
def test_what_is_no_folder_holds_no_exploration(command: tuple[str, ...], tmp_path: Path) -> None:
    """A pipe and a file in the place of a dataset are said to be no folder, and no exploration is recommended."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    for place in (tmp_path / "pipe", tmp_path / "file"):
        told = kraftcheck(command[0], place, *command[1:]).refusal()
        assert told == f"{place} is no folder; name the folder of an exploration"


@pytest.mark.parametrize("size", [1 << 20, 1 << 30])
def test_a_table_is_not_unpacked_beyond_what_it_may_have(size: int, kept: Path, tmp_path: Path) -> None:
    """A manifest of a megabyte that would be a gigabyte is refused at once, by its number of buckets."""
    packed = bomb(size)
    out = forged(kept, tmp_path / "out", level1=lambda level: level.update(groups=packed))
    with bounded():
        told = kraftcheck("query", out, COUNTS).refusal()
    assert "_00001.json: its table has more than 64 rows, or is cut" in told


def _other_columns(path: Path) -> None:
    pq.write_table(pa.table({"depth; DROP VIEW states": [1], "w0": [1]}), path)


def _texts(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.schema.get_field_index("w0"), "w0", pa.array(["x"] * len(table))), path)


def _nulls(path: Path) -> None:
    table = pq.read_table(path)
    columns = [pa.array([None] * len(table), kind) for kind in table.schema.types]
    pq.write_table(pa.table(columns, schema=table.schema), path)


def _no_parquet(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(200) + b"PAR1")


def _parents(path: Path) -> None:
    table = pq.read_table(path)
    place = table.schema.get_field_index("parent")
    pq.write_table(table.set_column(place, "parent", pa.array([(1 << 62) - 1] * len(table), pa.int64())), path)


FILES = [_other_columns, _texts, _nulls, _no_parquet, _parents]


@pytest.mark.parametrize("alter", FILES)
def test_a_level_file_of_something_else_is_refused(alter: Callable[[Path], None], kept: Path, tmp_path: Path) -> None:
    """Other columns, texts, nulls, other parents, no Parquet at all, under right digests: a line, never a fault."""
    (path,) = (kept / "levels" / "depth=2").iterdir()
    made = Path(shutil.copy(path, tmp_path / path.name))
    alter(made)
    data = made.read_bytes()
    rows = pq.read_metadata(path).num_rows if alter is not _other_columns else 1

    def named(level: dict[str, Any]) -> None:
        level["files"][0].update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), rows=rows)

    keep: Alter = lambda level: None  # noqa: E731
    out = forged(kept, tmp_path / "out", level2=named if alter is not _other_columns else keep)
    (out / "levels" / "depth=2" / path.name).write_bytes(data)
    with bounded():
        told = dict(opened(out))
    assert {name: ran.err for name, ran in told.items() if ran.code not in (0, 2, 20, 24)} == {}
    assert told["witness"].code == 2, "no trace leads through it"


def test_a_repair_gives_up_a_level_of_another_run(kept: Path, tmp_path: Path) -> None:
    """A sealed manifest with counters of another program: the repair that its refusal names explores it again."""
    out = forged(kept, tmp_path / "out", level3=lambda level: level["counters"].pop())
    words = (*EXPLORE, "--out", out, "--resume")
    assert "derive it again: explore --resume --repair" in kraftcheck(*words).refusal()
    ran = kraftcheck(*words, "--repair")
    assert ran.code == 0
    assert (
        ran.err
        == "repaired: level 3 and later ones are explored again: its counters, claims or buckets are another run's\n"
    )
    assert kraftcheck(*words).code == 0
