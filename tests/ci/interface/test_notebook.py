"""The example notebooks run, and results are shown in them, states as a data frame too."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import duckdb
import nbformat
import numpy as np
import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.ci.dataset.documents import DecodingTable, fields_of
from kraftcheck.ci.dataset.engine import DUCKDB, fields_sql
from kraftcheck.ci.dataset.tables import states_table
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Layout
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.traces.render import fields, show
from tests.ci.interface.notebook import NOTEBOOKS, outputs
from tests.ci.interface.test_interface import tank
from tests.shared.places import DOCS, ROOT

SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


@pytest.mark.parametrize(
    ("name", "cells", "last"),
    [("counterexample", 6, "(680, 0)"), pytest.param("spark", 6, "depth\n1     2", marks=SPARK)],
)
def test_a_notebook_shows_what_is_kept_in_it(name: str, cells: int, last: str, tmp_path: Path) -> None:
    """Each cell runs and shows the outputs that the file has, times aside: verdicts, a drawing, frames, numbers."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"), "JUPYTER_PLATFORM_DIRS": "1",
    }  # fmt: skip
    target = tmp_path / "run.ipynb"
    words = [sys.executable, "-m", "tests.ci.interface.notebook", name, str(target)]
    ran = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=400)
    assert ran.returncode == 0, ran.stderr[-2000:]
    shown, kept = outputs(target), outputs(NOTEBOOKS[name])
    assert shown == kept, "run `python -m tests.ci.interface.notebook`"
    assert len(shown) == cells
    assert shown[-1][0]["text/plain"][0].startswith(last.split("\n")[0])
    assert name == "spark" or "data:image/svg+xml" in str(shown[0])


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_whole(name: str) -> None:
    """It is valid, every code cell has run in order, and docs/how-to/python.md leads to it."""
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    nbformat.validate(notebook)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert f"(../examples/{name}.ipynb)" in (DOCS / "how-to" / "python.md").read_text(encoding="utf-8")


BROKEN = "fixed+dead-last-known-leader-electable"


def pictures(page: str) -> list[str]:
    """The images in a page, decoded."""
    return [base64.b64decode(found).decode() for found in re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)]


def test_a_counterexample_is_drawn_in_the_page() -> None:
    """A refuted property comes first in the table, and its shortest trace is a drawing with its text below it."""
    result = kc.explore("elections", scope="tiny", rules=BROKEN, properties=["elr-within-replicas", "leader-active"])
    page = result._repr_html_()
    rows = re.findall(r"<tr><td>([^<]+)</td><td>([^<]+)</td>", page)
    assert rows[0] == ("leader-active", "refuted")
    assert {word for _, word in rows[1:]} == {"holds"}
    [picture] = pictures(page)
    chosen = subject("elections", "tiny", {}, BROKEN, ("leader-active", "elr-within-replicas"))
    assert picture == svg(drawing(result.trace("leader-active"), program(chosen), chosen.title()))
    assert ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"
    assert "  3  reassign(target=[1])" in page
    assert "<style" not in page  # the styles of a drawing stay in its image


@pytest.mark.parametrize("engine", ["walks", "proof"])
def test_every_engine_draws_its_counterexample(engine: str) -> None:
    """Walks and proofs, which keep no space, draw their counterexamples too."""
    result = kc.simulate(tank(), runs=50, seed=3) if engine == "walks" else kc.prove(tank())
    assert result.refuted == ("not-full",)
    [picture] = pictures(result._repr_html_())
    assert "not-full" in picture


def test_at_most_three_are_drawn_the_shortest_first() -> None:
    """Of many counterexamples the three shortest are drawn; where nothing is refuted, nothing is."""
    result = kc.explore("elections", scope="tiny", rules="kafka-4.0")
    names = re.findall(r"<figcaption><b>([^<]+)</b> is refuted in (\d+) step", result._repr_html_())
    lengths = sorted(len(result.trace(claim).steps) for claim in result.refuted)
    assert [int(steps) for _, steps in names] == lengths[:3]
    assert len(result.refuted) > 3
    assert pictures(kc.explore(tank(4))._repr_html_()) == []


def test_a_frame_tells_what_traces_print() -> None:
    """Each row of the frame is a state: sets and lists of brokers are lists, directories have names, no leader null."""
    result = kc.explore("elections", scope="tiny", rules="fixed", properties=["leader-active"])
    rows = result.states().arrow().to_pylist()
    assert result.to_pandas().leader.isna().sum() == sum(row["leader"] is None for row in rows) > 0
    assert len(rows) == len(result.states())
    for number, state in enumerate(result.states()):
        if number % 97 == 0:
            told, parts = rows[number], fields(state)
            assert told.keys() == parts.keys()
            for name in ("replicas", "isr", "elr", "last_known_elr", "fenced", "registered", "adding"):
                assert told[name] == [*parts[name]], name
            assert told["online_dirs"] == [[*one] for one in parts["online_dirs"]]
            assert told["directories"] == [text.split(":")[1] for text in str(parts["directories"]).split()]
            assert show(parts["leader"]) == str(told["leader"]).lower()
            assert (told["recovering"], told["min_insync_replicas"]) == (state.recovering, state.min_insync_replicas)


@frozen
class Nest:
    """Sets in a tuple, in a record of one field, and by themselves; lists of ids; names that are taken."""

    rooms: tuple[kc.IntSet, ...]
    owner: Owner
    last: tuple[AtMostOne, ...]
    Depth: kc.Word
    after_owner: kc.Word


@frozen
class Owner:
    """A record of one field adds no name."""

    keys: kc.IntSet


def test_lists_are_told_from_numbers() -> None:
    """Sets and lists are lists wherever they are, of any width; a number of as many bits is a number, and a name that
    is taken ends in an underscore."""
    sets, lists = (kc.IntSet(kc.subset_of(2)),) * 2, (AtMostOne(kc.ints(-2, 1)),) * 2
    layout = Layout(Nest(sets, Owner(kc.IntSet(kc.subset_of(62))), lists, kc.ints(0, 3), kc.ints(0, 3)))
    state = Nest((kc.IntSet(0), kc.IntSet(2)), Owner(kc.IntSet((1 << 61) + 1)), (AtMostOne(), AtMostOne(-1)), 3, 0)
    packed = np.array([layout.pack(state)], dtype=np.uint64)
    told = {"rooms": [[], [1]], "owner": [0, 61], "last": [[], [-1]], "Depth_": 3, "after_owner_": 0}
    assert states_table(layout, packed).to_pylist() == [told]
    assert states_table(layout, packed[:0]).num_rows == 0
    asked = DecodingTable(layout.words, fields_of(layout), (), ())
    words = ", ".join(f"({word})::BIGINT AS w{at}" for at, word in enumerate(packed[0].view(np.int64)))
    relation = duckdb.sql(f"SELECT {', '.join(fields_sql(asked, DUCKDB))} FROM (SELECT {words})")
    assert dict(zip(relation.columns, relation.fetchall()[0], strict=True)) == told
