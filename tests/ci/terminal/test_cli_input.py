"""Bad input: one line on standard error that names the place, exit code 2, and nothing written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS

WIDE = "--brokers 5 --replication 5 --epochs 14 --records 4 --loss 4 --reassignments 4 --config-changes 2"
"""Bounds of `replication` beyond the layout."""

NO_LINE = {"EMPTY_INITIAL", "NOT_AN_ACTION", "NOT_A_PROPERTY", "WIDE", "NO_SCOPES"}
"""Faulty systems no line of which is at fault."""

UNUSABLE = [
    ("nope", "unknown command 'nope'; did you mean"),
    ("explor", "unknown command 'explor'; did you mean explore"),
    ("--nope", "No such option"),
    ("explore", "missing argument SYSTEM"),
    ("explore electons", "unknown system 'electons'; did you mean elections, fair-elections, healing-elections?"),
    ("explore elections tests.toys:CLOCK", "one SYSTEM at a time; 'tests.toys:CLOCK' is too much"),
    ("explore elections --scope tny", "elections has no scope 'tny'; did you mean tiny?"),
    ("explore elections --rules kafka-4", "unknown rule set 'kafka-4'; did you mean kafka-4."),
    ("explore elections --rules=", "--rules is empty; give a value, or leave it out"),
    ("explore elections --rules kip+unregister-keep-elr", "did you mean unregister-keeps-elr"),
    ("explore elections --property leader-activ", "elections has no property 'leader-activ' at this setting"),
    ("explore elections --property leader-activ", "did you mean leader-active"),
    ("explore elections --scop tiny", "unknown option --scop; did you mean --scope"),
    ("explore --scop tiny elections", "unknown option --scop; did you mean --scope"),
    ("explore --quite elections", "unknown option --quite; did you mean --quiet"),
    ("explore elections -x", "; `kraftcheck explore --help` shows all"),
    ("explore elections --broker 2", "unknown option --broker; did you mean --brokers"),
    ("explore elections --brokers 9", "elections: brokers = 9 is out of range 2..5"),
    ("explore elections --brokers -1", "elections: brokers = -1 is out of range 2..5"),
    ("explore elections --brokers=-1", "elections: brokers = -1 is out of range 2..5"),
    (f"explore replication --rules fixed {WIDE}", "needs 561 bits and the limit is 512; brokers costs most with"),
    (f"explore replication --rules fixed {WIDE}", "lower a bound it depends on; --records 3 saves 31"),
    ("explore elections --brokers two", "--brokers takes an int, not 'two'"),
    ("explore elections --brokers 2.5", "--brokers takes an int, not '2.5'"),
    ("explore elections --brokers ²", "--brokers takes an int, not '²'"),
    ("explore elections --brokers --5", "--brokers takes an int, not ''"),
    ("explore elections --brokers", "--brokers takes an int, not ''"),
    ("explore elections --brokers=", "--brokers takes an int, not ''"),
    ("explore elections --brokers 99999999999999999999999", "--brokers takes an int"),
    ("explore elections --brokers 2 --brokers 3", "--brokers is given twice"),
    ("explore elections --memory lots", "--memory takes a size such as 512M or 4G, not 'lots'"),
    ("explore elections --memory 0", "--memory takes a size"),
    ("explore elections --memory -4G", "--memory takes a size"),
    ("explore elections --memory ²M", "--memory takes a size"),
    ("explore elections --memory 4T", "--memory takes a size"),
    ("explore elections --workers 0", "Invalid value for '--workers'"),
    ("explore elections --workers many", "--workers takes a finite number in the digits 0 to 9, not 'many'"),
    ("explore elections --max-states 0", "Invalid value for '--max-states'"),
    ("explore elections --max-depth -1", "Invalid value for '--max-depth'"),
    ("explore elections --engine warp", "Invalid value for '--engine': 'warp' is not one of "),
    ("explore tests.toys:CLOCK --scope noon", "clock has no scope 'noon'; did you mean default?"),
    ("explore tests.toys:CLOCK --rules kip", "tests.toys:CLOCK takes no rule set; leave out --rules"),
    ("explore tests.toys:CLOCK --brokers 2", "unknown option --brokers"),
    ("explore tests.toys:TWO_PHASE --managers 11", "managers = 11 is out of range 1..10"),
    ("explore tests.toys:CLOK", "module tests.toys has no 'CLOK'; did you mean CLOCK"),
    ("explore tests.toys:", "module tests.toys has no ''"),
    ("explore tests.toys:EDGES", "tests.toys:EDGES is a tuple, not a kraftcheck.System"),
    ("explore tests.ci.systems.waiting:waiting", "give a name to one that it gives, SYSTEM = waiting(...)"),
    ("explore no_such_module:X", "cannot import no_such_module: No module named 'no_such_module'; run from the folder"),
    ("explore :X", "'' is no module name"),
    ("explore ..:X", "'..' is no module name"),
    ("explain electons", "unknown system 'electons'"),
    ("explain elections --action fens", "elections has no action 'fens' at this setting; did you mean"),
    ("explain elections --scope tny", "elections has no scope 'tny'"),
    ("explain elections --brokers 9", "elections: brokers = 9 is out of range 2..5"),
    ("explain elections --limit 0", "Invalid value for '--limit'"),
    ("explain --scope tiny", "--scope needs a SYSTEM; without one the whole page is made"),
    ("explain tests.toys:TWO_PHASE --rules kip", "tests.toys:TWO_PHASE takes no rule set"),
    ("explain tests.toys:TWO_PHASE --limit 100 --quiet", "the rules as they are have more than"),
    ("explain tests.toys:CLOCK --markdown /no/such/folder/page.md", "there is no folder /no/such/folder"),
    ("list nope", "unknown system 'nope'; there are 22, such as broker-ids, directories, elections; `kraftcheck list`"),
    ("list nope --json -", "unknown system 'nope'"),
    ("list elections more", "unexpected extra argument"),
    ("list --json /no/such/folder/x", "cannot write /no/such/folder/x: "),
    ("check nope", "unknown system 'nope'"),
    ("check tests.toys:CLOCK", "no expected verdicts for system 'tests.toys:CLOCK'"),
    ("check elections --scope tny", "no expected verdicts for scope 'tny'; did you mean tiny, torn?"),
    ("check elections --rules fixd", "no expected verdicts for rule set 'fixd'; did you mean fixed?"),
    ("check elections --memory q", "--memory takes a size"),
    ("check --scop tiny", "No such option"),
    ("check elections --scope tiny --json /no/such/folder/x", "cannot write /no/such/folder/x: "),
    ("check elections --scope tiny --out /dev/null", "cannot make the folder /dev/null: "),
    ("conform", "name files or folders of vectors: --vectors PATH..."),
    ("conform --vectors /no/such/file", "/no/such/file: no such file or folder"),
    ("conform --vectors tests/vectors/directory_id.json --rules kp", "unknown rule set 'kp'"),
    ("conform --vectors tests/vectors/directory_id.json --json /no/such/folder/x", "cannot write /no/such/folder/x: "),
    ("trace", "Missing argument 'FILE'"),
    ("trace /no/such/file", "cannot read /no/such/file: No such file or directory"),
    ("trace tests", "cannot read tests: Is a directory"),
]


@pytest.mark.parametrize(("words", "told"), UNUSABLE)
def test_unusable_words_are_refused(words: str, told: str) -> None:
    """What cannot be used is named in one line, with the nearest names where there are some."""
    assert told in kraftcheck(*words.split()).refusal()


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("RAISING_EFFECT", "action boom, effect raised RuntimeError: the toy panics"),
        ("LEAVING_EFFECT", "action leave, effect raised SystemExit: 0"),
        ("LEAVING_PROPERTY", "property leave raised SystemExit: 0"),
        ("LEAVING_LAYOUT", "raised SystemExit: 0"),
        ("LEAVING_PROPERTIES", "properties raised SystemExit: 0"),
        ("RAISING_GUARD", "action boom, guard raised RuntimeError: the toy panics"),
        ("WRONG_GUARD", "action odd, guard gave 3, not a truth"),
        ("WRONG_EFFECT", "action odd set the state to 'noon', not a word"),
        ("NO_EFFECT", "action odd set the state to None, not a word"),
        ("OTHER_SHAPE", "action odd gave a state of another shape: [0], [1]"),
        ("WRONG_ARITY", "action odd, effect raised TypeError: "),
        ("PYTHON_IF", "faulty.py:33: a symbolic word was used as a condition"),
        ("NOT_AN_ACTION", "actions gave 'tick', not a kraftcheck.Action"),
        ("RAISING_ACTIONS", "actions raised RuntimeError: the toy panics"),
        ("EMPTY_INITIAL", "initial gave no state"),
        ("RAISING_INITIAL", "initial raised RuntimeError"),
        ("WRONG_INITIAL", "initial gave a state that does not fit the layout"),
        ("OUTSIDE_INITIAL", "the layout: hand = 3 is outside its domain 0..2"),
        ("RAISING_LAYOUT", "layout raised RuntimeError"),
        ("WIDE", "the limit is 512"),
        ("FLAG_LAYOUT", "got a truth"),
        ("RAISING_PROPERTIES", "properties raised RuntimeError"),
        ("RAISING_PROPERTY", "property boom raised RuntimeError"),
        ("WRONG_PROPERTY", "not a truth"),
        ("ODD_KIND", "property odd has kind 'allways'; did you mean always, "),
        ("NAMELESS_ACTION", "' ' is no name of an action"),
        ("NAMELESS_PROPERTY", "is no id of a property; give one of characters that show"),
        ("NOT_A_PROPERTY", "properties gave 'noon', not a kraftcheck.Property"),
        ("TWICE", "two properties have the id 'same'"),
        ("NO_SCOPES", "scopes is empty"),
        ("RAISING_QUIESCENT", "quiescent raised RuntimeError"),
    ],
)
def test_faulty_system_is_refused(name: str, told: str, tmp_path: Path) -> None:
    """A user's system that raises or answers with the wrong type is named with its line and its part; no folder is
    made."""
    out = tmp_path / "out"
    refusal = kraftcheck(
        "explore", f"tests.shared.faulty:{name}", "--out", out, "--json", tmp_path / "told.json"
    ).refusal()
    begins = r"(faulty|toys)\.py:\d+" if name not in NO_LINE else f"tests.shared.faulty:{name}"
    assert re.match(rf"{begins}: ", refusal), refusal
    assert told in refusal
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("raise ValueError('a\\nb')", "{}.py:1: importing {} raised ValueError: a b"),
        ("import kraftcheck as kc\nkc.kafka('elections').field('t')", "{}.py:2: importing {} raised TypeError:"),
        ("import kraftcheck as kc\nkc.Action('', None)", "{}.py:2: '' is no name of an action; give one of"),
        ("import no_such_thing", "cannot import {}: No module named 'no_such_thing'"),
        ("raise SystemExit(0)", "importing {} raised SystemExit: 0"),
        ("def", "importing {} raised SyntaxError: invalid syntax"),
    ],
)
def test_module_that_cannot_be_imported_is_refused(
    content: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module of the working folder that raises on import, or ends the program, is a refusal and no success."""
    name = f"user_module_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert told.format(name, name) in kraftcheck("explore", f"{name}:X").refusal()


def test_a_module_that_prints_does_not_spoil_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a user's module prints on import goes to standard error, so that --json - stays pure."""
    (tmp_path / "user_module_that_prints.py").write_text("print('hello')\nfrom tests.toys import CLOCK\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    ran = kraftcheck("explore", "user_module_that_prints:CLOCK", "--json", "-", "--quiet")
    assert ran.document()["exit_code"] == 0
    assert ran.err.startswith("hello\n")


@pytest.mark.parametrize("command", ["explore tests.toys:CLOCK", "check elections --scope tiny"])
def test_unwritable_places_are_refused_before_any_work(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A document or folder that cannot be written is refused before anything is explored."""
    monkeypatch.setattr("kraftcheck.ci.run.questions.explore", None)
    (tmp_path / "file").write_text("in the way")
    words = command.split()
    assert "it is a folder" in kraftcheck(*words, "--json", tmp_path).refusal()
    assert "there is no folder" in kraftcheck(*words, "--json", tmp_path / "file" / "x").refusal()
    assert "cannot make the folder" in kraftcheck(*words, "--out", tmp_path / "file").refusal()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "not JSON"),
        ("{}", "the file"),
        ("[]", "no vectors in "),
        ('[{"id": "a"}]', "a: function"),
        ('[{"id": "a", "function": 5, "given": {}, "when": {}, "then": {}}]', "a: function"),
        ('[{"function": "f"}]', "vector 0: id"),
        ('[{"id": "a", "id": "a"}]', "key 'id' is repeated"),
    ],
)
def test_malformed_vectors_are_refused(content: str, told: str, tmp_path: Path) -> None:
    """Malformed vectors are refused with file, vector id and key."""
    path = tmp_path / "vectors.json"
    path.write_text(content)
    refusal = kraftcheck("conform", "--vectors", path).refusal()
    assert str(path) in refusal
    assert told in refusal or (told == "not JSON" and "line 1" in refusal)


def test_empty_folder_of_vectors_is_refused(tmp_path: Path) -> None:
    """A folder without vectors is no success, alone or beside one with vectors."""
    (tmp_path / "empty").mkdir()
    assert "no vectors in" in kraftcheck("conform", "--vectors", tmp_path / "empty").refusal()
    good = TESTS / "vectors" / "directory_id.json"
    assert (
        f"no vectors in {tmp_path / 'empty'}" == kraftcheck("conform", "--vectors", good, tmp_path / "empty").refusal()
    )
