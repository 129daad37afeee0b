"""The command line as a whole: help, list, faults of its own, the cache, broken files."""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.explore import command as explore
from kraftcheck.ci.run import questions
from kraftcheck.ci.systems import subject as settings
from kraftcheck.ci.systems.lookup import every_property
from kraftcheck.ci.terminal.commands import COMMANDS
from kraftcheck.model.rules.ruleset import PRESETS, RELEASES, variants
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.shared.samples import one_in

ELECTIONS = SYSTEMS["elections"]


def test_no_command_shows_the_help() -> None:
    """Without a command the help is shown, and the exit code is that of bad usage."""
    ran = kraftcheck()
    assert ran.code == 2
    assert ran.err.startswith("Usage: ")
    assert all(f"  {name} " in ran.err for name in COMMANDS)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_has_an_example(flag: str) -> None:
    """The help of every command holds an example of that command."""
    for command in COMMANDS:
        ran = kraftcheck(command, flag)
        assert (ran.code, ran.err) == (0, ""), command
        assert f"  kraftcheck {command}" in ran.out.partition("Examples:")[2]


def test_version_is_told() -> None:
    """--version names the program and a version."""
    ran = kraftcheck("--version")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("kraftcheck, version ")
    assert kraftcheck("explore", "--help").out.startswith("Usage: kraftcheck explore [OPTIONS] SYSTEM")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list"], ["list", "elections"]])
def test_what_computes_nothing_imports_no_engine(words: list[str]) -> None:
    """Help and lists come without compilers, solvers, arrays and Spark, so that they come at once."""
    heavy = "{'llvmlite', 'z3', 'numpy', 'pyarrow', 'pandas', 'pyspark', 'hypothesis', 'matplotlib'}"
    code = (
        "import atexit, sys\nfrom kraftcheck.ci.main import main\n"
        f"atexit.register(lambda: print('LOADED', sorted({heavy} & sys.modules.keys())))\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[-1] == "LOADED []"


def test_list_names_everything_on_one_screen() -> None:
    """`list` names every system and rule set in 40 lines, and says how many variants there are."""
    ran = kraftcheck("list")
    assert (ran.code, ran.err) == (0, "")
    assert len(ran.out.splitlines()) <= 40
    assert all(f"\n  {name}: " in ran.out for name in (*SYSTEMS, *FAIR_SYSTEMS, *(PRESETS.keys() - RELEASES.keys())))
    assert all(f" {name.removeprefix('kafka-')}" in ran.out.replace("kafka-", "") for name in RELEASES)
    assert f"off): {len(variants())}; --variants shows them" in ran.out


def test_variants_are_shown_when_they_are_asked_for() -> None:
    """`list --variants` has every choice of the rules, and of a system those of the groups that it reads alone."""
    every, own = (kraftcheck("list", *words, "--variants").out for words in ([], ["elections"]))
    names = [*variants()]
    assert all(f"\n  {name}\n" in f"\n{every}" for name in names)
    read = [name for name in names if f"\n  {name}\n" in f"\n{own}"]
    assert 20 < len(read) < len(names)
    assert "removed-replicas-stay-in-elr" in read
    assert "fresh-ids-drawn" not in read


def test_list_system_names_its_parts() -> None:
    """`list SYSTEM` names its scopes, bounds with ranges, and properties."""
    out = kraftcheck("list", "elections").out
    assert "--brokers 2..5" in out
    assert all(f"  {scope}: " in out for scope in ELECTIONS.scopes)
    assert "leader-active" in out
    assert "shows-elr-election" in out
    assert f"({len(names := every_property('elections', ELECTIONS))}; --properties shows" in out
    assert all(name in out for name in names)
    assert out.count("\n") < 40, "it fits a screen"


def test_list_shows_properties_when_they_are_asked_for() -> None:
    """`list SYSTEM --properties` has the sentence, the source and the refuting variants of each; it takes a system."""
    out = kraftcheck("list", "elections", "--properties").out
    assert "refuted by  reassignment-repeats-replicas\n" in out
    assert kraftcheck("list", "--properties").err.startswith("kraftcheck: --properties is of one system; name it")


def test_list_shows_a_users_system() -> None:
    """`list` takes module:attribute too, and names are shown as they are, markup and all."""
    out = kraftcheck("list", "tests.shared.faulty:STRANGE_WORDS").out
    assert "[bold]/odd id" in out
    assert "A sentence [/] with :smile: [red]marks[/red]." in out


def test_list_document_is_pure_json() -> None:
    """`list --json -` prints one document of systems, rule sets and variants, of one system where asked."""
    told = kraftcheck("list", "--json", "-").document()
    assert (told["version"], told["command"]) == (1, "list")
    assert [system["name"] for system in told["systems"]] == [*SYSTEMS, *FAIR_SYSTEMS]
    assert set(told["rules"]) == set(PRESETS)
    assert {variant["name"] for variant in told["variants"]} == set(variants())
    one = kraftcheck("list", "tests.toys:CLOCK", "--json", "-").document()
    assert [system["name"] for system in one["systems"]] == ["clock"]


def test_every_listed_property_can_be_given() -> None:
    """Each property that `list` names is accepted by --property under some rule set at scope tiny or another."""
    listed = kraftcheck("list", "elections", "--json", "-").document()["systems"][0]["properties"]
    assert len(listed) > 40
    chosen = explore.subject
    for claim in listed:
        found = False
        for rules in PRESETS:
            settings = [ELECTIONS.setting(scope, rules=PRESETS[rules]) for scope in ELECTIONS.scopes]
            for setting in settings:
                if claim["id"] in {known.id for known in ELECTIONS.properties(setting)}:
                    subject = chosen("elections", setting.scope, {}, rules, [claim["id"]])
                    found = [known.id for known in subject.system.properties(setting)] == [claim["id"]]
                    break
            if found:
                break
        assert found, claim["id"]


@pytest.mark.parametrize("sign", ["+", "-"])
def test_every_listed_variant_can_be_given(sign: str) -> None:
    """Each variant that `list` names can be switched on and off by --rules."""
    for name, choice in variants().items():
        subject = explore.subject("elections", "tiny", {}, f"fixed{sign}{name}")
        assert subject.setting.rules.value(choice.name) is (sign == "+")


def test_a_fault_of_kraftcheck_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """An internal error is one line that says so, exit code 255, and no line that reads like a verdict."""

    def fail(*_: object, **__: object) -> None:
        raise KeyError("not\nthere")

    monkeypatch.setattr(questions, "explore", fail)
    ran = kraftcheck("explore", "tests.toys:CLOCK")
    assert (ran.code, ran.out) == (255, "")
    assert ran.err.startswith("kraftcheck: fault of kraftcheck, no verdict: KeyError: ")
    assert ran.err.count("\n") == 1


@pytest.fixture
def unsampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compared before a run, as if the sample met none of the states that differ."""
    monkeypatch.setattr(settings, "check_sample", lambda *_: None)


@pytest.mark.usefixtures("unsampled")
@pytest.mark.parametrize("words", [(), ("--audit", "all"), ("--stop-at-first",)])
def test_a_system_that_is_two_things_gets_no_verdict(words: tuple[str, ...]) -> None:
    """A rule that differs between ints and terms ends the run in one line and exit code 24, whatever the verdict."""
    ran = kraftcheck("explore", "tests.shared.faulty:TWO_FACED", "--quiet", *words)
    assert (ran.code, ran.out) == (24, "")
    assert ran.err.startswith("kraftcheck: the engine disagrees with the rules, no verdict: two-faced is true on ints")
    assert "in the state hand = " in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.usefixtures("unsampled")
def test_a_fault_can_be_shown_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """With KRAFTCHECK_TRACEBACK set, the place of an internal error or of a disagreement is shown."""
    monkeypatch.setenv("KRAFTCHECK_TRACEBACK", "1")
    ran = kraftcheck("explore", "tests.shared.faulty:TWO_FACED", "--quiet")
    assert ran.code == 24
    assert "Traceback (most recent call last)" in ran.err
    assert ran.err.splitlines()[-1].startswith("kraftcheck: the engine disagrees with the rules")
    monkeypatch.setattr(questions, "explore", lambda *_, **__: 1 // 0)
    ran = kraftcheck("explore", "tests.toys:CLOCK", "--quiet")
    assert ran.code == 255
    assert "Traceback (most recent call last)" in ran.err


def test_no_cache_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--no-cache leaves the cache folder unmade; without it the second run takes the code from there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert kraftcheck("explore", "tests.toys:CLOCK", "--no-cache").code == 0
    assert list(tmp_path.iterdir()) == []
    assert "(from cache)" not in kraftcheck("explore", "tests.toys:CLOCK").out
    assert "(from cache)" in kraftcheck("explore", "tests.toys:CLOCK").out


def test_an_unwritable_cache_only_warns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that cannot be written costs a warning line and a compilation, nothing else."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    ran = kraftcheck("explore", "tests.toys:CLOCK")
    assert (ran.code, ran.err) == (0, "compiling ...\n")
    warnings = [line for line in ran.out.splitlines() if line.startswith("warning: ")]
    assert warnings
    assert any(str(tmp_path / "file") in warning for warning in warnings)
    assert ran.last == "4 holds (exit 0)"


TRACE = ROOT / "tests" / "traces" / "B4.itf.json"
VECTORS = ROOT / "tests" / "vectors" / "reassignment_revert.json"
OUTAGE = ROOT / "tests" / "snapshots" / "outage.json"
SEGMENT = next((ROOT / "tests" / "captured" / "elr").glob("*.log"))

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 10**40, 1.5, 1e308, "", "x", "9" * 5000, "\ud800", "\0", [], {}, [[]], {"": None},
    ["x", 1, None], {"#bigint": "x"}, {"#bigint": "1" * 40}, {"#set": [1, "x"]}, {"#map": [[1]]}, {"#tup": 3},
)  # fmt: skip
"""Values of wrong types, shapes and sizes."""

RAW = ("NaN", "-Infinity", "1e999", "[" * 2000 + "]" * 2000, '{"a":1,"a":2}', "")
"""What Python reads as JSON, or nearly, and nobody should."""


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything within a document."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [path for key in keys for path in [(*at, key), *places(value[key], (*at, key))]]


def within(document: Any, path: Sequence[Any]) -> Any:
    """What a path leads to."""
    for key in path:
        document = document[key]
    return document


def broken_text(data: bytes, draw: random.Random) -> bytes:
    """Bytes cut off, flipped, left out, repeated or put in."""
    at, size = draw.randrange(len(data)), draw.randrange(1, 40)
    return draw.choice([
        data[:at], data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :],
        data[:at] + data[at + size :], data[:at] + data[at : at + size] + data[at:],
        data[:at] + draw.randbytes(size) + data[at:], data[:at] + b"\xff\xfe" + data[at:],
    ])  # fmt: skip


def broken_document(data: bytes, draw: random.Random) -> bytes:
    """A JSON document with something in it left out, doubled, swapped, or of another type or shape."""
    document = json.loads(data)
    path = draw.choice(places(document))
    holder, key = within(document, path[:-1]), path[-1]
    how = draw.choice(["odd", "odd", "odd", "raw", "drop", "other"])
    if how == "drop":
        del holder[key]
    elif how == "other":
        holder[key] = within(document, draw.choice(places(document)))
    else:
        holder[key] = draw.choice(ODD) if how == "odd" else "@raw@"
    try:
        text = json.dumps(document)
    except (ValueError, RecursionError):  # a part of itself
        return b"[]"
    return text.replace('"@raw@"', draw.choice(RAW)).encode("utf-8", "surrogatepass")


def broken_lines(data: bytes, draw: random.Random) -> bytes:
    """Lines of JSON with one of them broken, left out, or doubled."""
    lines = data.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    made = draw.choice([
        b"", lines[at] * 2, broken_document(lines[at], draw) + b"\n", broken_document(lines[at], draw) + b"\n",
        broken_text(lines[at], draw),
    ])  # fmt: skip
    return b"".join([*lines[:at], made, *lines[at + 1 :]])


def segment_lines() -> bytes:
    """A short log as lines of JSON: a topic of two partitions on two brokers, a fencing, and a new leader."""
    from kraftcheck.ci.logs.format.read import SkipCount, find, read

    (log,) = find((SEGMENT.parent,))
    rows = [
        {"offset": entry.offset, "batch": batch.base_offset, "epoch": batch.epoch, "type": entry.type,
         "version": entry.version, "data": entry.data, **({"control": True} if batch.control else {})}
        for batch in read(log, SkipCount(0)) for entry in batch.entries
    ]  # fmt: skip
    return "".join(json.dumps(row, default=str) + "\n" for row in rows[:60]).encode()


def mixed(*ways: Callable[[bytes, random.Random], bytes]) -> Callable[[bytes, random.Random], bytes]:
    """One of several ways to break a file."""
    return lambda data, draw: draw.choice(ways)(data, draw)


KINDS: dict[str, tuple[tuple[str, ...], str, Callable[[], bytes], Callable[[bytes, random.Random], bytes]]] = {
    "trace": (("trace",), "a.itf.json", TRACE.read_bytes, mixed(broken_document, broken_document, broken_text)),
    "start": (("simulate", "elections", "--scope", "tiny", "--rules", "kafka-4.1.2", "--runs", "1", "--steps", "2",
               "--workers", "1", "--from"), "a.itf.json", TRACE.read_bytes, mixed(broken_document, broken_text)),
    "vectors": (("conform", "--vectors"), "a.json", VECTORS.read_bytes, mixed(broken_document, broken_text)),
    "segment": (("replay",), f"{0:020}.log", SEGMENT.read_bytes, broken_text),
    "lines": (("replay",), "a.jsonl", segment_lines, broken_lines),
    "condition": (("status",), "a.jsonl", segment_lines, broken_lines),
    "image": (("whatif", "--faults", "0"), "a.jsonl", segment_lines, broken_lines),
    "snapshot": (("unclean-recovery", "--all-offline-partitions", "--show-replica-info", "--snapshot"), "a.json",
                 OUTAGE.read_bytes, mixed(broken_document, broken_document, broken_text)),
}  # fmt: skip
"""By name: a command, the name of its file, how the file is made, and how it is broken."""

ENDS = {0, 1, 10, 11, 12, 14, 20, 21, 22, 23}  # exit codes of legitimate ends


def check_broken(kind: str, seeds: range, folder: Path) -> None:
    """Run a command on broken files."""
    words, name, made, broken = KINDS[kind]
    sound = made()
    place = folder / name
    place.write_bytes(sound)
    assert kraftcheck(*words, place).code in ENDS
    refused = 0
    for seed in seeds:
        place.write_bytes(broken(sound, random.Random(f"{kind} {seed}")))
        ran = kraftcheck(*words, place)
        told = f"{kind}, seed {seed}: {ran.code} {ran.err[:500]}"
        assert ran.code in ENDS or (ran.code == 2 and ran.err.count("\n") == 1), told
        assert "fault of kraftcheck" not in ran.err, told
        refused += ran.code == 2
    assert refused >= len(seeds) // 4


@pytest.mark.parametrize("kind", one_in(3, KINDS))
def test_broken_files_are_refused_or_judged(kind: str, tmp_path: Path) -> None:
    """Thirty files broken at random end in one line or a verdict; many of them in a line."""
    check_broken(kind, range(30), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_broken_files_are_refused_or_judged(kind: str, tmp_path: Path) -> None:
    """So do a thousand."""
    check_broken(kind, range(30, 1030), tmp_path)
