"""What a result shows in a notebook, and its states as a data frame."""

from __future__ import annotations

import base64
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.layout import Layout
from kraftcheck.solvers.drawings.drawing import drawing
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.program.columns import LOOKUP, set_slots, set_texts
from kraftcheck.solvers.traces.render import fields
from tests.ci.interface.test_interface import tank

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


def test_a_frame_has_plain_columns() -> None:
    """Each row of the frame is a state: numbers and truths are themselves, sets are what traces print."""
    result = kc.explore("elections", scope="tiny", rules="fixed", properties=["leader-active"])
    frame = result.to_pandas()
    assert len(frame) == len(result.states())
    assert {type(value) for column in frame for value in frame[column][:50].tolist()} == {int, bool, str}
    for number, state in enumerate(result.states()):
        if number % 997 == 0:
            told = frame.iloc[number]
            parts = fields(state)
            for name in ("isr", "elr", "fenced", "registered", "adding"):
                assert told[name] == str(parts[name])
            assert [told["online_dirs[0]"], told["online_dirs[1]"]] == list(map(str, parts["online_dirs"]))
            assert (told["leader"], told["recovering"]) == (parts["leader"], parts["recovering"])


@frozen
class Nest:
    """Sets in a tuple, in a record of one field, and by themselves."""

    rooms: tuple[kc.IntSet, ...]
    owner: Owner
    size: kc.Word


@frozen
class Owner:
    """A record of one field adds no name."""

    keys: kc.IntSet


def test_sets_are_told_from_numbers() -> None:
    """The slots of sets are named as the layout names them, wherever a set is; a number of as many bits is none."""
    layout = Layout(Nest((kc.IntSet(kc.subset_of(2)),) * 2, Owner(kc.IntSet(kc.subset_of(3))), kc.ints(0, 3)))
    assert set_slots(layout) == {"rooms[0]", "rooms[1]", "owner"}
    assert set_slots(layout) < {slot.path for slot in layout.slots}


def test_wide_sets_are_spelled_as_narrow_ones() -> None:
    """Masks beyond the lookup are the same strings as below it; no state is no string."""
    masks = np.array([0, 5, LOOKUP << 3, 5, (1 << 61) + 1], dtype=np.int64)
    assert set_texts(masks).tolist() == ["{}", "{0,2}", "{19}", "{0,2}", "{0,61}"]
    assert set_texts(masks[:2]).tolist() == ["{}", "{0,2}"]
    assert set_texts(masks[:0]).tolist() == []
