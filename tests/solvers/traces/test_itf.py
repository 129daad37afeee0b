"""Trace documents: what is in them, that others can read them, and what is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from itf_py import trace_from_json

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.solvers.traces.itf import ACTION, PICKS, TraceError, encode, recipe
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS


@pytest.fixture
def document(tmp_path: Path) -> Any:
    """The document of the digraph's counterexample 0 6 7 4 5."""
    kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--property", "never-5", "--out", tmp_path / "out")
    return json.loads((tmp_path / "out" / "never-5.itf.json").read_text())


def refusal(document: Any, folder: Path) -> str:
    """What `kraftcheck trace` says of a document, after the file's name."""
    path = folder / "edited.itf.json"
    path.write_text(json.dumps(document))
    named = re.findall(r'"system": "([\w.]+:\w+)"', path.read_text())
    told = kraftcheck("trace", path, *(f"--system={name}" for name in named)).refusal()
    assert told.startswith(f"{path}: ")
    return told.removeprefix(f"{path}: ")


def test_document_holds_what_it_takes_to_run_it_again(document: Any) -> None:
    """The document names system, setting and property, and each step's action with its arguments."""
    about = document["#meta"]["kraftcheck"]
    assert about == {
        "version": 1, "system": "tests.toys:DIGRAPH", "scope": "default", "bounds": {}, "rules": None,
        "property": "never-5", "kind": "always", "failing": ["never-5"], "shortest": True,
    }  # fmt: skip
    assert document["vars"] == ["node", ACTION, PICKS]
    assert [state["node"] for state in document["states"]] == [{"#bigint": str(node)} for node in (0, 6, 7, 4, 5)]
    assert [state["#meta"]["index"] for state in document["states"]] == [0, 1, 2, 3, 4]
    assert [state[ACTION] for state in document["states"]] == ["", *["follow"] * 4]
    assert document["states"][1][PICKS] == {"edge": {"source": {"#bigint": "0"}, "target": {"#bigint": "6"}}}


def test_another_library_reads_it(document: Any) -> None:
    """The ITF library of the Apalache project reads the document, with ints as ints."""
    read = trace_from_json(document)
    assert [state.values["node"] for state in read.states] == [0, 6, 7, 4, 5]
    assert read.vars == ["node", ACTION, PICKS]


def test_recipe_reads_it_back(document: Any) -> None:
    """A recipe holds the setting, the states and the steps of its document."""
    told = recipe(document)
    assert (told.system, told.scope, told.bounds, told.rules) == ("tests.toys:DIGRAPH", "default", {}, None)
    assert (told.property, told.shortest, len(told.states)) == ("never-5", True, 5)
    assert [action for action, _ in told.steps] == ["follow"] * 4


def test_equal_values_have_one_text() -> None:
    """Sets are in ascending order, truths stay truths, ints are big ints."""
    assert encode(BrokerSet(0b101)) == {"#set": [{"#bigint": "0"}, {"#bigint": "2"}]}
    assert encode(True) is True
    assert encode((1, False)) == [{"#bigint": "1"}, False]


def test_order_of_sets_and_form_of_ints_do_not_matter(tmp_path: Path) -> None:
    """A document written by another tool, with sets in another order and plain ints, replays as well."""
    kraftcheck("explore", "tests.toys:HASTY", "--scope", "3", "--quiet", "--out", tmp_path)
    path = tmp_path / "consistent.itf.json"

    def other(value: Any) -> Any:
        if isinstance(value, dict) and "#bigint" in value:
            return int(value["#bigint"])
        if isinstance(value, dict):
            return {key: other(list(reversed(item)) if key == "#set" else item) for key, item in value.items()}
        return [other(item) for item in value] if isinstance(value, list) else value

    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "states": other(told["states"])}))
    ran = kraftcheck("trace", path, "--system", "tests.toys:HASTY")
    assert (ran.code, ran.err, ran.last) == (0, "", "7 steps, shortest as the file says")


def without(*keys: Any) -> Callable[[Any], None]:
    """An edit that drops what is at a path of keys."""

    def edit(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        del document[keys[-1]]

    return edit


def with_value(value: Any, *keys: Any) -> Callable[[Any], None]:
    """An edit that sets what is at a path of keys."""

    def edit(document: Any) -> None:
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return edit


ABOUT = ("#meta", "kraftcheck")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (without("#meta"), "key #meta: missing"),
        (without(*ABOUT), "key #meta.kraftcheck: missing"),
        (with_value(2, *ABOUT, "version"), "key #meta.kraftcheck.version: 2 is not 1"),
        (with_value("1", *ABOUT, "version"), "key #meta.kraftcheck.version: not an int"),
        (without(*ABOUT, "system"), "key #meta.kraftcheck.system: missing"),
        (with_value(7, *ABOUT, "system"), "key #meta.kraftcheck.system: not a str"),
        (
            with_value("electons", *ABOUT, "system"),
            "unknown system 'electons'; did you mean elections, fair-elections, healing-elections?",
        ),
        (with_value("tests.toys:NONE", *ABOUT, "system"), "module tests.toys has no 'NONE'"),
        (with_value("noon", *ABOUT, "scope"), "digraph has no scope 'noon'"),
        (with_value({"size": 3}, *ABOUT, "bounds"), "digraph has no bound 'size'"),
        (with_value({"size": True}, *ABOUT, "bounds"), "key #meta.kraftcheck.bounds.size: not an int"),
        (with_value([], *ABOUT, "bounds"), "key #meta.kraftcheck.bounds: not a dict"),
        (with_value(3, *ABOUT, "rules"), "key #meta.kraftcheck.rules: not a string"),
        (with_value("kip", *ABOUT, "rules"), "takes no rule set"),
        (with_value("nevr", *ABOUT, "property"), "key #meta.kraftcheck.property: the system has no property 'nevr'"),
        (with_value(3, *ABOUT, "kind"), "key #meta.kraftcheck.kind: not a str"),
        (with_value("never-5", *ABOUT, "failing"), "key #meta.kraftcheck.failing: not a list"),
        (with_value(True, *ABOUT, "shortes"), "key #meta.kraftcheck.shortes: no such key; did you mean shortest"),
        (with_value([], *ABOUT, "options"), "key #meta.kraftcheck.options: not a dict"),
        (with_value({"find": 3}, *ABOUT, "options"), "key #meta.kraftcheck.options.find: not a str"),
        (
            with_value({"invarint": "node == 5"}, *ABOUT, "options"),
            "key #meta.kraftcheck.options.invarint: no such key; did you mean invariant?",
        ),
        (with_value(0, "lop"), "key lop: no such key; did you mean loop?"),
        (with_value("yes", *ABOUT, "shortest"), "key #meta.kraftcheck.shortest: not a bool"),
        (without("states"), "key states: missing"),
        (with_value({}, "states"), "key states: not a list"),
        (with_value([], "states"), "key states: there is no state"),
        (with_value([3], "states"), "key states[0].mbt::actionTaken: missing"),
        (without("states", 2, ACTION), "key states[2].mbt::actionTaken: missing"),
        (with_value(5, "states", 2, PICKS), "key states[2].mbt::nondetPicks: not a dict"),
        (with_value({"#bigint": "many"}, "states", 1, "node"), "key states[1]: not ITF: "),
        (with_value({"#set": 5}, "states", 1, "node"), "key states[1]: not ITF: "),
        (with_value({"#map": [[1]]}, "states", 1, "node"), "key states[1]: not ITF: "),
        (with_value({"#bigint": "3"}, "states", 0, "node"), "key states[0]: not an initial state of the system"),
        (
            with_value("folow", "states", 2, ACTION),
            "key states[2]: the system has no action 'folow'; did you mean follow?",
        ),
        (with_value({}, "states", 2, PICKS), "key states[2]: action follow does not take the arguments {}"),
        (with_value({"#bigint": "3"}, "states", 2, "node"), 'key states[2].node: the file says {"#bigint": "3"}'),
        (without("states", 2, "node"), "key states[2].node: missing"),
        (with_value(True, "states", 2, "lamp"), "key states[2].lamp: no such field"),
        (
            without("states", 2),
            "step 2, follow(edge=(source=7, target=4)), is not enabled: false: at the edge's source",
        ),
        (without("states", 4), "every step can be taken, but the last one does not lead to it: never-5 holds"),
        (with_value("deadlock", *ABOUT, "property"), "the state is quiescent, or an action is enabled"),
        (with_value("reach-8", *ABOUT, "property"), "reach-8 is not shown"),
    ],
)
def test_an_edited_document_is_refused(edit: Callable[[Any], None], told: str, document: Any, tmp_path: Path) -> None:
    """What is missing, malformed, unknown, or does not replay is named: file, key, step and guard."""
    edit(document)
    assert told in refusal(document, tmp_path)


EVIL = """
from pathlib import Path
from tests.toys import DIGRAPH
Path("was-run").touch()
"""


def test_a_file_does_not_choose_what_is_run(document: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that only the file names is not imported; where the command line names it too, it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    Path("evil_module.py").write_text(EVIL)
    document["#meta"]["kraftcheck"]["system"] = "evil_module:DIGRAPH"
    Path("evil.itf.json").write_text(json.dumps(document))
    told = kraftcheck("trace", "evil.itf.json").refusal()
    assert told.endswith("whose module would be run; if you trust it, --system evil_module:DIGRAPH")
    told = kraftcheck("trace", "evil.itf.json", "--system", "tests.toys:DIGRAPH").refusal()
    assert told == "evil.itf.json: of the system evil_module:DIGRAPH, not of tests.toys:DIGRAPH"
    assert not Path("was-run").exists()
    assert kraftcheck("trace", "evil.itf.json", "--system", "evil_module:DIGRAPH").code == 0
    assert Path("was-run").exists()


@pytest.mark.parametrize("edit", [without(*ABOUT, "rules"), with_value(None, *ABOUT, "rules")])
def test_a_trace_without_rules_is_refused(edit: Callable[[Any], None], tmp_path: Path) -> None:
    """Of a system with rule sets the file has to say which one; none is taken for granted."""
    document = json.loads((TESTS / "traces" / "B4.itf.json").read_text())
    edit(document)
    told = "key #meta.kraftcheck.rules: missing; elections has rule sets, say which it is of"
    assert refusal(document, tmp_path) == told


@pytest.mark.parametrize("value", [None, 5, [], "text", [[]]])
def test_a_document_of_another_shape_is_refused(value: Any, tmp_path: Path) -> None:
    """JSON that is no trace at all names the first key that it lacks."""
    assert refusal(value, tmp_path) == "key #meta: missing"


def test_a_step_out_of_its_domain_is_refused(tmp_path: Path) -> None:
    """A step whose result leaves a field's domain is named with its number and the field."""
    kraftcheck("explore", "tests.toys:COUNTER", "--quiet", "--out", tmp_path)
    step = {"count": {"#bigint": "2"}, "armed": False, ACTION: "add", PICKS: {"n": {"#bigint": "2"}}}
    about = {"version": 1, "system": "tests.toys:COUNTER", "scope": "default", "bounds": {}, "rules": None,
             "property": "armed-at-five", "shortest": False}  # fmt: skip
    first = {"count": {"#bigint": "0"}, "armed": False, ACTION: "", PICKS: {}}
    told = refusal({"#meta": {"kraftcheck": about}, "vars": [], "states": [first, step, step, step]}, tmp_path)
    assert told == "step 3, add(n=2): count = 6 is outside its domain 0..5"


def test_deep_nesting_is_refused(document: Any) -> None:
    """A value nested beyond reason is an error of the document, not of the reader."""
    nest: Any = 1
    for _ in range(5_000):
        nest = [nest]
    document["states"][1]["node"] = nest
    with pytest.raises(TraceError, match=r"key states\[1\]: not ITF"):
        recipe(document)
