"""Bad input of every command: one line that names the place, exit code 2, and nothing written."""

import io
import re
from pathlib import Path

import click
import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.terminal.commands import COMMANDS, cli
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import ROOT, TESTS
from tests.toys import CLOCK

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
    ("explore kraft --min-isr 3", "kraft: min-isr = 3 is more than brokers = 2; lower --min-isr or raise --brokers"),
    ("explore kraft --scope deletion --second 0", "kraft: deletions = 1 is more than second = 0; lower --deletions"),
    ("explore replication --initial-isr 1", "initial-isr = 1 is less than min-isr = 2; raise --initial-isr"),
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
    (
        "explore tests.toys:CLOCK --brokers 2",
        "unknown option --brokers; did you mean --workers? tests.toys:CLOCK has no",
    ),
    ("explore tests/toys.py", "tests/toys.py is a file; name the system in it, tests/toys.py:CLOCK"),
    ("explore tests.toys:CLOCK --find hour=3", "column 5: invalid syntax; write == to compare"),
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
    ("list nope", "unknown system 'nope'; there are 26, such as broker-ids, directories, elections; `kraftcheck list`"),
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
        ("PYTHON_IF", "faulty.py:31: a symbolic word was used as a condition"),
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


ELR = ROOT / "tests" / "captured" / "elr"
OUTAGE = ROOT / "tests" / "snapshots" / "outage.json"
TRACE = ROOT / "tests" / "traces" / "B4.itf.json"
VECTORS = ROOT / "tests" / "vectors" / "directory_id.json"
TOY = "tests.toys:CLOCK"

BASES: dict[str, tuple[str, ...]] = {
    "list": (TOY,),
    "where": ("min", "isr"),
    "check": ("elections", "--scope", "tiny", "--rules", "fixed"),
    "bugs": ("hw-advances-under-min-isr",),
    "explore": (TOY, "--workers", "1"),
    "diff": (TOY, TOY, "--workers", "1"),
    "step": (TOY,),
    "simulate": (TOY, "--runs", "2", "--steps", "2", "--workers", "1"),
    "explain": (TOY, "--workers", "1"),
    "prove": (TOY, "--workers", "1"),
    "conform": ("--vectors", str(VECTORS)),
    "branch": ("missing",),
    "findings": ("ghost-elr-member",),
    "replay": (str(ELR),),
    "status": (str(ELR),),
    "ask": (str(ELR), "heartbeat", "0"),
    "whatif": (str(ELR), "--faults", "0"),
    "serve": ("missing",),
    "trace": (str(TRACE),),
    "export": (TOY, "--tla", "Toy.tla"),
    "query": ("missing", "SELECT 1"),
    "sweep": ("missing",),
    "unclean-recovery": ("--snapshot", str(OUTAGE), "--all-offline-partitions", "--show-replica-info"),
    "elect-leaders": ("--snapshot", str(OUTAGE), "--election-type", "UNCLEAN", "--all-topic-partitions", "--dry-run"),
}
"""Of each command words that it takes, or refuses last of all."""

OPTIONS = [
    (name, option)
    for name in COMMANDS
    for option in getattr(cli.get_command(click.Context(cli), name), "params", ())
    if isinstance(option, click.Option) and not option.is_flag
]

NO_NUMBERS = ("nan", "inf", "-inf", "1_000", "\N{ARABIC-INDIC DIGIT THREE}", "\N{SUPERSCRIPT TWO}", " 5", "0x10", "x")
LONG = "9" * 30
ENDLESS = {("simulate", "--runs"), ("prove", "--bmc"), ("prove", "--k")}
"""Options of which a huge number is taken at its word."""

ENDS = {0, 1, 10, 11, 12, 13, 14, 20, 21, 22, 23}  # exit codes of legitimate ends


def is_number(option: click.Option) -> bool:
    """Whether click reads the value as a number."""
    return isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)


def given(name: str, option: click.Option, *values: str) -> Ran:
    """A command with an option given these values, instead of what its base gives."""
    words = list(BASES[name])
    flag = option.opts[-1]
    if flag in words:
        at = words.index(flag)
        del words[at : at + 2]
    return kraftcheck(name, *words, *(f"{flag}={value}" for value in values))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that an odd name makes are made in a folder of the test; no search takes long, and nothing is typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr("kraftcheck.ci.verdicts.row.row_proofs", lambda *_: [])


@pytest.mark.usefixtures("elsewhere")
def test_every_command_has_a_base() -> None:
    """No command is left out."""
    assert set(BASES) == set(COMMANDS)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name} {option.opts[-1]}" for name, option in OPTIONS])
def test_what_nobody_means_is_refused(name: str, option: click.Option) -> None:
    """An empty value, a second one, and for numbers what is no finite number, are refused with the option's name."""
    flag = option.opts[-1]
    assert given(name, option, "").refusal() == f"{flag} is empty; give a value, or leave it out"
    if not option.multiple:
        assert given(name, option, "5", "6").refusal() == f"{flag} is given twice; give it once"
    for value in NO_NUMBERS if is_number(option) else ():
        assert given(name, option, value).refusal().startswith(f"{flag} takes a finite number in the digits 0 to 9")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name} {option.opts[-1]}" for name, option in OPTIONS])
def test_odd_values_end_in_a_line_or_a_verdict(name: str, option: click.Option) -> None:
    """Zero, negative, fractional, tiny and huge numbers, and odd words, are refused in one line or mean something."""
    numbers = ["-1", "0", "0.5", "1e-300", *([] if (name, option.opts[-1]) in ENDLESS else [LONG, "1e300"])]
    words = ["x", "\N{SNOWMAN}\udc80=\n", "/dev/null/x"]
    for value in numbers if is_number(option) else words:
        ran = given(name, option, value)
        told = f"{name} {option.opts[-1]}={value!r}: {ran.code} {ran.err}"
        if ran.code == 2:
            assert ran.refusal(), told
        else:
            assert ran.code in ENDS, told
            assert "fault of kraftcheck" not in ran.err, told
        if value == "-1":
            assert ran.code == 2, told


WORKED = evolve(CLOCK, bounds=[kc.Bound("workers", 1, 3, "how many work")], scopes={"default": {"workers": 1}})
STANDS = evolve(CLOCK, actions=())


@pytest.mark.usefixtures("elsewhere")
def test_no_bound_of_a_shipped_system_is_an_option() -> None:
    """No option of a command that takes bounds hides a bound of a shipped system."""
    bounded = {"explore", "diff", "simulate", "explain", "step", "prove", "serve", "export"}
    taken = {flag for name, option in OPTIONS if name in bounded for flag in option.opts}
    hidden = {
        (name, bound.name)
        for name, system in {**SYSTEMS, **FAIR_SYSTEMS}.items()
        for bound in system.bounds
        if f"--{bound.name}" in taken
    }
    assert hidden == set()


PAIRS = [
    ("explore tests.ci.terminal.test_cli_input:WORKED --workers 1", "give bound 'workers' another name"),
    ("prove tests.ci.terminal.test_cli_input:WORKED --k any", "'any'; a bound 'k' of a system needs another name"),
    ("prove tests.ci.terminal.test_cli_input:WORKED", "--workers is an option of this command"),
    ("prove tests.ci.terminal.test_cli_input:STANDS --k 1", "--bmc, --k and --pdr need an action, and the system has"),
    ("prove elections --bmc 1 --k 1", "--bmc, --k and --pdr exclude each other; give one of them"),
    ("prove elections --bmc 1 --pdr", "--bmc, --k and --pdr exclude each other; give one of them"),
    ("prove elections --scope tiny --pdr --core", "--core does nothing with --bmc, --k or --pdr; leave it out"),
    ("prove elections --scope tiny --k 1 --second-solver cvc5", "--second-solver does nothing with --bmc, --k or"),
    ("prove elections --scope tiny --bmc 1 --search 5", "--search does nothing with --bmc; leave it out"),
    ("conform --vectors x --samples 5", "--samples is an option of --kafka; leave it out"),
    ("conform --vectors x --scope tiny", "--scope is an option of --kafka; leave it out"),
    ("conform --kafka 4.1.0 --allow-unsupported", "--allow-unsupported is an option of --vectors; leave it out"),
    ("conform --kafka 4.1.0 --sample 5", "--sample is an option of --tour; leave it out"),
    ("conform --kafka 4.1.0 --tour elections --samples 5", "--samples is not an option of --tour; leave it out"),
    ("conform --kafka 4.1.0 --samples -1", "Invalid value for '--samples': -1 is not in the range"),
    ("bugs --engine z3 --memory 1G", "--memory is of --engine native; leave it out"),
    ("simulate elections --scope tiny --weight fence=2 --weight fence=3", "fence has the weight 2 already; give"),
    ("simulate elections --scope tiny --json a.svg --plot a.svg", "--json and --plot cannot both write to a.svg"),
    ("explore elections --memory 99999999G", "--memory 99999999G is more than this process may take, "),
    ("explain tests.toys:CLOCK --json a --markdown ./a", "--json and --markdown cannot both write to ./a"),
    ("whatif {elr} --json - --prometheus -", "--json and --prometheus cannot both write to -"),
    ("replay {elr} --static min.insync.replicas=abc", "min.insync.replicas takes a whole number from 1"),
    ("replay {elr} --static min.insync.replicas=0", "min.insync.replicas takes a whole number from 1"),
    ("replay {elr} --static unclean.leader.election.enable=yes", "unclean.leader.election.enable takes true or false"),
    ("replay {elr} --static nope=1", "--static nope=1: no rule reads 'nope'; did you mean"),
    ("replay {elr} --static min.insync.replicas=1 --static min.insync.replicas=2", "is given twice; give it once"),
    ("replay {elr} --conf spark.a=b", "--conf is an option of --engine spark; leave it out"),
    ("replay {elr} --engine spark --out o --verbose", "--verbose shows batches without --out only"),
    ("trace {trace} --export junit --full --out o", "--full shows nothing with --export; leave it out"),
    ("query missing --plot a.svg --limit 3", "--limit is of the rows of SQL, and none is given; leave it out"),
    ("query missing --plot a.svg --witness", "--witness is of the rows of SQL, and none is given; leave it out"),
]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("words", "told"), PAIRS)
def test_contradictions_are_refused(words: str, told: str) -> None:
    """Options of which one would be ignored, or undo another, are refused with the mend."""
    assert told in kraftcheck(*words.format(elr=ELR, trace=TRACE).split()).refusal()
