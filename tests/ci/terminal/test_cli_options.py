"""Every option of every command, given what nobody means: one line and exit code 2, or a legitimate end."""

from __future__ import annotations

import io
from pathlib import Path

import click
import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.terminal.commands import COMMANDS, cli
from kraftcheck.properties.catalogue import FAIR_SYSTEMS, SYSTEMS
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import ROOT
from tests.toys import CLOCK

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

ENDS = {0, 1, 10, 11, 12, 13, 14, 20, 21, 22, 23}
"""Exit codes of legitimate ends."""


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


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that an odd name makes are made in a folder of the test; no search takes long, and nothing is typed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    monkeypatch.setattr("kraftcheck.ci.verdicts.row.row_proofs", lambda *_: [])


def test_every_command_has_a_base() -> None:
    """No command is left out."""
    assert set(BASES) == set(COMMANDS)


@pytest.mark.parametrize(("name", "option"), OPTIONS, ids=[f"{name} {option.opts[-1]}" for name, option in OPTIONS])
def test_what_nobody_means_is_refused(name: str, option: click.Option) -> None:
    """An empty value, a second one, and for numbers what is no finite number, are refused with the option's name."""
    flag = option.opts[-1]
    assert given(name, option, "").refusal() == f"{flag} is empty; give a value, or leave it out"
    if not option.multiple:
        assert given(name, option, "5", "6").refusal() == f"{flag} is given twice; give it once"
    for value in NO_NUMBERS if is_number(option) else ():
        assert given(name, option, value).refusal().startswith(f"{flag} takes a finite number in the digits 0 to 9")


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
    ("explore tests.ci.terminal.test_cli_options:WORKED --workers 1", "give bound 'workers' another name"),
    ("prove tests.ci.terminal.test_cli_options:WORKED --k any", "'any'; a bound 'k' of a system needs another name"),
    ("prove tests.ci.terminal.test_cli_options:WORKED", "--workers is an option of this command"),
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
    ("replay {elr} --engine spark --out o --verbose", "--verbose shows batches with --engine python only"),
    ("trace {trace} --export junit --full --out o", "--full shows nothing with --export; leave it out"),
    ("query missing --plot a.svg --limit 3", "--limit is of the rows of SQL, and none is given; leave it out"),
    ("query missing --plot a.svg --witness", "--witness is of the rows of SQL, and none is given; leave it out"),
]


@pytest.mark.parametrize(("words", "told"), PAIRS)
def test_contradictions_are_refused(words: str, told: str) -> None:
    """Options of which one would be ignored, or undo another, are refused with the mend."""
    assert told in kraftcheck(*words.format(elr=ELR, trace=TRACE).split()).refusal()
