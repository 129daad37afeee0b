"""Certificates: definitions of systems that another solver checks by itself, and what happens where one is forged."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.check_certificate import DefinedSystem
from kraftcheck.ci.prove.command import script
from kraftcheck.solvers.smt.printer import symbol
from tests.shared.commands import checked, kraftcheck

pytest.importorskip("cvc5")

Forgery = Callable[[Path], None]  # changes a certificate


@frozen
class Lock:
    """Two clients and a lock: who holds it, who wants it, and how often it was taken."""

    holder: int
    wanted: tuple[bool, bool]
    taken: int


def _set(wanted: Any, client: Any, value: bool) -> tuple[Any, ...]:
    return tuple(kc.choose(client == k, value, old) for k, old in enumerate(wanted))


def _wants(state: Lock, client: Any) -> Any:
    return kc.any_of(*(kc.all_of(client == k, wanted) for k, wanted in enumerate(state.wanted)))


LOCK = kc.System(
    name="lock",
    summary="Two clients take a lock in turn.",
    initial=[Lock(-1, (False, False), 0), Lock(-1, (True, False), 0)],
    layout=Lock(kc.ints(-1, 1), (kc.truth(), kc.truth()), kc.ints(0, 3, cap="three times are enough")),
    actions=[
        kc.Action("ask", lambda state, client: evolve(state, wanted=_set(state.wanted, client, True)),
                  guard=lambda state, client: {"it does not yet": kc.negate(_wants(state, client))},
                  parameters={"client": range(2)}),
        kc.Action("take", lambda state, client: evolve(state, holder=client, taken=state.taken + 1),
                  guard=lambda state, client: {"nobody has it": state.holder == -1, "it wants": _wants(state, client)},
                  parameters={"client": range(2)}),
        kc.Action("release",
                  lambda state: evolve(state, holder=-1, wanted=_set(state.wanted, state.holder, False)),
                  guard=lambda state: {"somebody holds it": state.holder >= 0}),
    ],
    properties=[
        kc.always("who-holds-wants", "who holds the lock wants it",
                  lambda state: kc.any_of(state.holder == -1, _wants(state, state.holder))),
        evolve(kc.step("wanted-before", "who gives the lock back has wanted it",
                       lambda step: kc.any_of(step.before.holder == -1, step.after.holder >= 0,
                                              _wants(step.before, step.before.holder))),
               initially=lambda state: state.holder == -1),
    ],
)  # fmt: skip


@frozen
class Names:
    """Fields that have names of SMT-LIB and of definitions."""

    next: bool
    initially: int
    t1: int
    ite: bool


NAMES = kc.System(
    name="names",
    summary="Fields with names that mean something else elsewhere.",
    initial=[Names(False, 0, 1, True)],
    layout=Names(kc.truth(), kc.ints(0, 3), kc.ints(0, 5), kc.truth()),
    actions=[kc.Action("turn", lambda state, distinct: Names(state.ite, distinct, state.initially + 1, state.next),
                       parameters={"distinct": range(3)})],
    properties=[kc.always("one-of-two", "one is on, and there is something", lambda state: kc.all_of(
        kc.any_of(state.next, state.ite), state.t1 >= 1, state.initially + state.t1 <= 6))],
)  # fmt: skip

PROVE = ("prove", "tests.ci.prove.test_certificates:LOCK", "--quiet", "--workers", "1")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificate of the lock."""
    return of_the_lock(tmp_path_factory.mktemp("certificate") / "proof")


def of_the_lock(folder: Path) -> Path:
    """The certificate of the lock."""
    ran = kraftcheck(*PROVE, "--certificate", folder)
    assert ran.code == 0
    assert f"certificate: 2 claims in {folder}" in ran.text.replace("\n", "")
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def check(folder: Path, *words: str, seconds: int = 120) -> subprocess.CompletedProcess[str]:
    """The run of the certificate's script; in this process where nothing was done to it."""
    if not words and (folder / "check.py").read_text() == script():
        return checked(folder)
    command = [sys.executable, str(folder / "check.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


def lines_of(folder: Path) -> list[str]:
    """The definition, a command in each."""
    return (folder / "system.vmt").read_text().splitlines()


def define(name: str, truth: str) -> Forgery:
    """Let a definition be another truth, in which OLD stands for the one that it was."""

    def forge(folder: Path) -> None:
        begins, lines = f"(define-fun {symbol(name)} () Bool ", lines_of(folder)
        (place,) = [number for number, line in enumerate(lines) if line.startswith(begins)]
        old = lines[place].removeprefix(begins)[:-1]
        body, annotation = re.fullmatch(r"\(! (.*) (:\S+ \w+)\)", old).groups() if old.startswith("(! ") else (old, "")
        new = truth.replace("OLD", body)
        lines[place] = f"{begins}{f'(! {new} {annotation})' if annotation else new})"
        (folder / "system.vmt").write_text("\n".join(lines))

    return forge


def add(command: str) -> Forgery:
    """Add a command at the end."""
    return lambda folder: void((folder / "system.vmt").write_text("\n".join([*lines_of(folder), command])))


def index(**values: Any) -> Forgery:
    """Change the index."""

    def forge(folder: Path) -> None:
        listed = json.loads((folder / "index.json").read_text()) | values
        (folder / "index.json").write_text(json.dumps(listed))

    return forge


def void(_: object) -> None:
    """Nothing."""


def without_action(name: str) -> Forgery:
    """Leave an action out, as if there was none."""

    def forge(folder: Path) -> None:
        gone = (f"(define-fun |{name}, ", f"(define-fun |action: {name}|")
        kept = [line for line in lines_of(folder) if not line.startswith(gone)]
        text = "\n".join(kept)
        assert f" |action: {name}|" in text
        left = text.replace(f" |action: {name}|", "")
        (folder / "system.vmt").write_text(re.sub(r"\(or (\|action: [^|]*\|)\)", r"\1", left))

    return forge


OF_NOTHING = "no state or step could break or take it"

FORGERIES: dict[str, tuple[list[Forgery], int, str, str]] = {
    "an action is left out": ([without_action("ask")], 0, "", "action ask is not in both"),
    "no state is initial": ([define("initial: state", "false")], 1, "initially: unsat, not sat", "initially: "),
    "one initial state is left out": (
        [define("initial: state", "(and OLD (not |$wanted[0]|))")], 0, "", "initially: false in system.vmt"),
    "a goal is always true": (
        [define("invariant: who-holds-wants", "true")], 1, f"invariant: who-holds-wants: {OF_NOTHING}",
        "invariant: who-holds-wants: "),
    "and the index says so": (
        [define("invariant: who-holds-wants", "true"), define("release, step: wanted-before", "true"),
         index(of_nothing=["invariant: who-holds-wants", "step: wanted-before"])], 0,
        f"invariant: who-holds-wants: {OF_NOTHING}", "invariant: who-holds-wants: "),
    "a claim about steps is always true": (
        [define(f"{action}, step: wanted-before", "true") for action in ("ask", "take", "release")], 1,
        f"step: wanted-before: {OF_NOTHING}", "release, step: wanted-before: "),
    "a guard is false": (
        [define("take, guard: it wants", "false")], 1, f"action: take: {OF_NOTHING}", "take, guard: "),
    "a guard asks for more": (
        [define("take, guard: it wants", "(and OLD |$wanted[0]|)")], 0, "", "take, guard: "),
    "an argument has one value": (
        [define("take, argument: client", "(= #b0 |$take.client|)")], 0, "", "take, argument: "),
    "a step is left out": ([define("take, bound: taken", "|$wanted[0]|")], 0, "taken: steps", "take, bound: "),
    "steps are left out and the index does not say so": (
        [index(left_out=[])], 1, "index.json has it not in left_out", "index.json: left_out is [], not ['taken']"),
    "the index calls a claim one of nothing": (
        [index(of_nothing=["step: wanted-before"])], 0, "", "index.json: of_nothing is ['step: wanted-before'], not"),
    "a field becomes another value": ([define("ask, next: taken", "(= |$taken'| #b00)")], 0, "", "ask, next: taken: "),
    "a claim that is not inductive": (
        [define("invariant: who-holds-wants", "(or OLD |$wanted[1]|)")], 1, "sat, not unsat",
        "invariant: who-holds-wants: "),
    "another sentence": (
        [index(sentences={"who-holds-wants": "nothing ever goes wrong", "wanted-before": "nor ever did"})], 0,
        "nothing ever goes wrong", "the sentence of who-holds-wants is 'nothing ever goes wrong'"),
    "what a claim says of initial states is true": (
        [define("initially, step: wanted-before", "true")], 0, "", "initially, step: wanted-before: "),
    "other bounds": ([index(bounds={"clients": "any"})], 0, "{'clients': 'any'}", "index.json: bounds is"),
    "other rules": ([index(rules="kafka-9.9")], 0, "rules kafka-9.9", "index.json: rules is kafka-9.9"),
    "a claim has no sentence": ([index(sentences={})], 2, "sentences of other claims", ""),
    "nothing but false is assumed": ([add("(assert false)")], 2, "is no definition of a system", "no certificate"),
    "a definition is made again": (
        [add("(define-fun |invariant: who-holds-wants| () Bool true)")], 2, "is no definition of a system",
        "no certificate"),
    "two texts say what is initial": (
        [add("(define-fun start () Bool (! true :init true))")], 2, "system.vmt:80: no definition is named start",
        "no certificate"),
    "an invariant speaks of the next state": (
        [define("invariant: who-holds-wants", "(or OLD |$wanted[1]'|)")], 2, "speaks of more than a state",
        "no certificate"),
    "an action has one part more": (
        [add("(define-fun |take, guard: never| () Bool false)")], 2, "take is not made of its parts", "no certificate"),
    "a field has any value": (
        [define("take, next: taken", "(or OLD true)")], 2, "is not made equal to anything", "no certificate"),
    "a field restricts another": (
        [define("take, next: taken", "(= |$taken'| (ite |$wanted[0]'| $taken $taken))")], 2, "rests on another",
        "no certificate"),
    "a word is unknown": ([define("initially", "(and OLD nobody)")], 2, "nobody", "no certificate"),
    "a bracket is open": ([add("(")], 2, "a bracket is not closed", "no certificate"),
    "brackets have no end": ([add("(" * 3000 + ")" * 3000)], 2, "nested more than 100 deep", "no certificate"),
    "a logic holds commands": (
        [lambda folder: change("(set-logic QF_BV)", "(set-logic |QF_BV) (push 1) (pop 1|)")(folder)], 2,
        "is no definition of a system", "no certificate"),
    "a symbol ends in its middle": (
        [add('(declare-fun "a|) (assert false) (b" () Bool)')], 2, "no symbol begins", "no certificate"),
}  # fmt: skip
"""Changes of a certificate: what makes them, the exit code of its script, what that says, and what `--against` says."""


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_seen(name: str, folder: Path) -> None:
    """The script fails, or shows it in what it prints; and the comparison with the rules fails."""
    forge, code, said, compared = FORGERIES[name]
    for change in forge:
        change(folder)
    ran = check(folder)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert said in ran.stdout + ran.stderr
    assert ran.stderr.count("\n") == (code == 2)
    if compared:
        against = kraftcheck(*PROVE, "--against", folder)
        assert against.code == (2 if "no certificate" in compared else 24)
        assert compared in (against.text + against.err).replace("\n", " ")


TAKE = "action take, if nobody has it, and it wants"


def test_a_certificate_is_checked_alone(written: Path) -> None:
    """cvc5 shows all that follows from the definition, and the script prints what it is about, each with its digest."""
    ran = check(written)
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = [line.partition("  ")[2] for line in ran.stdout.splitlines() if re.match("[0-9a-f]{64}  ", line)]
    assert rows == [
        "initially", "action ask, if it does not yet", TAKE, "action release, if somebody holds it",
        "invariant who-holds-wants: who holds the lock wants it",
        "step wanted-before: who gives the lock back has wanted it",
    ]  # fmt: skip
    assert "taken: steps that take it out of its domain are left out" in ran.stdout
    assert ran.stdout.endswith("everything is shown\n")
    assert "kraftcheck" not in (written / "check.py").read_text()


def test_a_bound_that_is_called_a_guard_is_of_another_action(folder: Path) -> None:
    """The digest of an action has the kinds of its parts; its guards are named, so that the new one is seen."""

    def said() -> str:
        return next(line for line in check(folder).stdout.splitlines() if "  action take" in line)

    was = said()
    change("take, bound: taken", "take, guard: taken")(folder)
    change('"taken"', "", "index.json")(folder)
    assert (was[64:], said()[64:]) == (f"  {TAKE}", f"  {TAKE}, and taken")
    assert was[:64] != said()[:64]


def test_a_digest_is_of_declarations_too(folder: Path) -> None:
    """A wider field, another next of a field and another logic are other definitions."""

    def digests() -> list[str]:
        of = DefinedSystem((folder / "system.vmt").read_text())
        return [of.digest("initially"), of.digest("action: take"), of.digest("invariant: who-holds-wants")]

    was = digests()
    change("(set-logic QF_BV)", "(set-logic ALL)")(folder)
    assert not {*was} & {*digests()}
    change("(set-logic ALL)", "(set-logic QF_BV)")(folder)
    assert digests() == was
    for said in ("(declare-fun $taken () ", "(declare-fun |$taken'| () ", "(define-fun |field: taken| () "):
        change(f"{said}(_ BitVec 2)", f"{said}(_ BitVec 3)")(folder)
    assert digests()[:2] != was[:2]


def test_names_of_fields_are_no_others(tmp_path: Path) -> None:
    """A field may have the name of an operator, a definition or a term: in texts all of its symbols begin with $."""
    words = ("prove", "tests.ci.prove.test_certificates:NAMES", "--quiet", "--workers", "1")
    ran = kraftcheck(*words, "--second-solver", "cvc5", "--certificate", tmp_path / "names")
    assert ran.code == 0
    ran = check(tmp_path / "names")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert kraftcheck(*words, "--against", tmp_path / "names").code == 0


def test_another_solver_is_asked_by_its_command(written: Path) -> None:
    """Z3's command shows the same; a command that answers nothing, or does not exist, shows nothing."""
    z3 = Path(sys.executable).with_name("z3")
    assert check(written, str(z3)).stdout == check(written).stdout
    assert check(written, sys.executable, "-c", "print('unknown')").returncode == 1
    ran = check(written, "no-such-solver")
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert ran.stderr.startswith("there is no such solver, or no such file: ")


def test_what_is_compared_is_said(written: Path) -> None:
    """An honest certificate agrees with the rules, in states that break each claim and in steps of each action."""
    ran = kraftcheck(*PROVE, "--against", written)
    assert ran.code == 0
    assert "are what the rules on ints say" in ran.text
    assert ran.out.endswith("the definitions are those that the rules give, written anew\n")
    assert "never" not in ran.text


def test_what_no_sample_shows_is_not_said_to_be_the_same(folder: Path) -> None:
    """A guard that differs at a value of many is named, and the exit code is no 0: samples need not meet the value."""
    define("take, guard: nobody has it", "(and OLD (or |$wanted[1]| true))")(folder)
    ran = kraftcheck(*PROVE, "--against", folder)
    assert ran.code == 22
    assert "take, guard: nobody has it: system.vmt defines it otherwise than kraftcheck\n" in ran.out
    assert "which proves nothing of what is defined otherwise" in ran.text.replace("\n", " ")


@frozen
class One:
    """A word."""

    x: int


def one(claim: str, action: str, guard: str = "more") -> kc.System:
    """A system whose claim, action and guard have some names."""
    return kc.System(
        name="one", summary="A word that is set back.", layout=One(kc.ints(0, 3)), initial=[One(0)],
        actions=[kc.Action(action, lambda state: One(state.x * 0), guard=lambda state: {guard: state.x == 0})],
        properties=[kc.always(claim, "it is 0", lambda state: state.x == 0)],
    )  # fmt: skip


BAR, BACKSLASH, PRIME, PART = one("a|b", "up"), one("up", "a\\b"), one("a", "b", "c'"), one("a", "up, guard: b")


@pytest.mark.parametrize(
    "text", ["[]", "", "[" * 5000, '{"sentences": 3}', '{"sentences": ["wanted-before", "who-holds-wants"]}'],
    ids=["list", "empty", "deep", "number", "names"],
)  # fmt: skip
def test_an_index_that_is_none_is_refused(text: str, folder: Path) -> None:
    """What is no index of a certificate is one line and exit code 2, of the script and of the comparison."""
    (folder / "index.json").write_text(text)
    ran = check(folder)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "no certificate: " in kraftcheck(*PROVE, "--against", folder).refusal()


def test_a_third_tool_reads_the_same(written: Path) -> None:
    """PyVmt, a reader of VMT-LIB by others, finds an inductive invariant, and asks pySMT whether it is one."""
    reader, model_of = pytest.importorskip("pyvmt.environment"), pytest.importorskip("pyvmt.vmtlib.reader").read
    shortcuts = pytest.importorskip("pysmt.shortcuts")
    with (written / "system.vmt").open() as file:
        model = model_of(file)
    make, substitute = reader.get_env().formula_manager, reader.get_env().substituter.substitute
    later = {word: make.Symbol(f"{word.symbol_name()} later", word.symbol_type()) for word in model.get_state_vars()}
    trans = substitute(model.get_trans_constraint(), subs={make.Next(word): new for word, new in later.items()})
    properties = [one.formula for one in model.get_all_properties().values()]
    invariant = shortcuts.And(*properties)
    assert len(properties) == 1 + len(model.get_state_vars())
    assert shortcuts.is_sat(shortcuts.And(invariant, trans), solver_name="z3")
    assert shortcuts.is_valid(shortcuts.Implies(model.get_init_constraint(), invariant), solver_name="z3")
    stays = shortcuts.Implies(shortcuts.And(invariant, trans), substitute(invariant, subs=later))
    assert shortcuts.is_valid(stays, solver_name="z3")
    other = shortcuts.Implies(shortcuts.And(invariant, trans), substitute(properties[0], subs=later))
    assert not shortcuts.is_valid(shortcuts.Implies(trans, shortcuts.Not(other)), solver_name="z3")


ANY_SYSTEMS = {
    "LEASE": "brokers", "TWO_PHASE": "managers", "EWD_840": "nodes", "TURNS": "clients", "MAJORITY": "voters",
}  # fmt: skip


def any_number(name: str) -> tuple[str, ...]:
    """What proves a system for any number."""
    return ("prove", f"tests.shared.any_number:{name}", f"--{ANY_SYSTEMS[name]}", "any", "--quiet", "--workers", "1")


@pytest.fixture(scope="module")
def of_any(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Writes the certificate of a system for any number, once."""
    root = tmp_path_factory.mktemp("any")

    def written(name: str) -> Path:
        if not (root / name).exists():
            ran = kraftcheck(*any_number(name), "--certificate", root / name)
            assert ran.code == (12 if name == "TURNS" else 0)
        return root / name

    return written


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "MAJORITY")) for n in ANY_SYSTEMS])
def test_any_number_is_checked_with_quantifiers(name: str, of_any: Callable[[str], Path]) -> None:
    """cvc5 decides all about the definition with quantifiers."""
    assert "(forall" in (of_any(name) / "system.vmt").read_text()
    ran = check(of_any(name))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("everything is shown\n")


@pytest.mark.parametrize("name", ANY_SYSTEMS)
def test_any_number_is_compared_with_few(name: str, of_any: Callable[[str], Path]) -> None:
    """What the definition says of states of two and three is what the rules on ints say; what none shows is named."""
    against = kraftcheck(*any_number(name), "--against", of_any(name))
    assert against.code == 0
    first, *unseen, last = against.out.splitlines()
    assert first.endswith("are what the rules on ints say")
    assert unseen == (["never enabled there: close"] if name == "TURNS" else [])
    assert last == "the definitions are those that the rules give, written anew"


PAXOS = [f"--{bound}=any" for bound in ("acceptors", "quorums", "rounds", "values")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["PAXOS", "COUNTED"])
def test_paxos_is_checked_with_quantifiers(name: str, tmp_path: Path) -> None:
    """cvc5 decides all about Paxos, also where quorums are counted, and the rules on ints say the same of few."""
    words = ("prove", f"tests.solvers.smt.paxos:{name}", *PAXOS, "--quiet")
    assert kraftcheck(*words, "--certificate", tmp_path / "paxos").code == 0
    ran = check(tmp_path / "paxos", seconds=900)
    assert (ran.returncode, ran.stdout.endswith("everything is shown\n")) == (0, True)
    assert kraftcheck(*words, "--against", tmp_path / "paxos").code == 0


def change(old: str, new: str, file: str = "system.vmt") -> Forgery:
    """Write something else where it stands."""

    def forge(folder: Path) -> None:
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return forge


OTHERWISE = "system.vmt defines it otherwise than kraftcheck"
NUMBER = "|$how many brokers|"

ANY_FORGERIES: dict[str, tuple[str, Forgery, int, str, str]] = {
    "an action is left out": ("LEASE", without_action("unfence"), 0, "", "action unfence is not in both"),
    "no state is initial": (
        "LEASE", define("initial: nobody leads", "false"), 1, "initially: unsat, not sat",
        "initially: false in system.vmt"),
    "initial states have few": (
        "LEASE", define("initial: nobody leads", f"(and OLD (< {NUMBER} 5))"), 0, "", f"nobody leads: {OTHERWISE}"),
    "there are few": (
        "LEASE", define("domain: how many brokers", f"(and OLD (< {NUMBER} 5))"), 0, "",
        f"domain: how many brokers: {OTHERWISE}"),
    "a guard is false": (
        "LEASE", define("unfence, guard: guard", "false"), 1, f"action: unfence: {OF_NOTHING}",
        "unfence, guard: False in system.vmt and True on ints"),
    "a guard is left out": (
        "LEASE", define("unfence, guard: guard", "true"), 0, "",
        "unfence, guard: True in system.vmt and False on ints"),
    "a guard is of few places": (
        "LEASE", define("fence, guard: guard", "(and OLD (< $fence.broker 9))"), 0, "",
        f"fence, guard: guard: {OTHERWISE}"),
    "an effect is of one place": (
        "LEASE", define("fence, next: fenced", "(forall ((|bound 0| Int)) (= (|$fenced'| |bound 0|) "
                        "(or (and ($fenced |bound 0|) (< |bound 0| 1) (< |bound 0| |$how many brokers|)) "
                        "(= $fence.broker |bound 0|))))"), 0,
        "", "fence, next: fenced at (1,): false in system.vmt and true on ints"),
    "a claim is always true": (
        "LEASE", define("invariant: leader-unfenced", "true"), 1, f"leader-unfenced: {OF_NOTHING}",
        "invariant: leader-unfenced: true in system.vmt and false on ints"),
    "a claim is of the first place": (
        "LEASE", define("invariant: leader-unfenced", "(or OLD (> $leader 0))"), 0, "",
        "invariant: leader-unfenced: true in system.vmt and false on ints"),
    "a claim is not inductive": (
        "LEASE", define("invariant: leader-unfenced", "(not ($fenced 0))"), 22, "not invariant: leader-unfenced': ",
        "invariant: leader-unfenced: "),
    "how many there are changes": (
        "LEASE", define("fence, next: how many brokers", "(= |$how many brokers'| 2)"), 2,
        "fence, argument: fence.broker is of a state, and no argument", "no certificate"),
    "a set has members without end": (
        "MAJORITY", change("(and (>= |bound 0| 0) (< |bound 0| |$how many voters|)))\n(declare-fun |size of set 2|",
                           "(>= |bound 0| 0))\n(declare-fun |size of set 2|"), 22, "not set 2 ends: ", "win, guard: "),
    "a size is of another set": (
        "MAJORITY", change("(< |size of set 2| (* 2", "(< |size of set 1| (* 2"), 22,
        "win; not invariant: leaders-have-won'", "win, guard: "),
    "an axiom of sizes is false": (
        "MAJORITY", change("(> (size A) (+ (size B) 1))", "(> (size A) (size B))", "check.py"), 22,
        "sizes: a set that is larger by two has two members more, of one more: ", ""),
    "a set has a size that is not one": (
        "LEASE", add("(declare-fun |size of initially| () Int)"), 2, "is no definition of a system", "no certificate"),
    "a fact is added": (
        "LEASE", add("(assert (forall ((x Int)) ($fenced x)))"), 2, "is no definition", "no certificate"),
    "a word stands for what there may not be": (
        "LEASE", define("initially", "(and OLD (= (witness ((x Int)) false) 0))"), 2, "false)' is no term",
        "no certificate"),
    "a bound place is a field": (
        "LEASE", define("initially", "(and OLD (forall (($leader Int)) true))"), 2, "forall binds $leader",
        "no certificate"),
}  # fmt: skip
"""As FORGERIES, of certificates for any number, each after the system that it is a certificate of."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "a size is of another set")) for n in ANY_FORGERIES]
)
def test_a_forgery_for_any_number_is_seen(name: str, of_any: Callable[[str], Path], tmp_path: Path) -> None:
    """The script fails, or the comparison with the rules does."""
    system, forge, code, said, compared = ANY_FORGERIES[name]
    folder = Path(shutil.copytree(of_any(system), tmp_path / "copy"))
    forge(folder)
    change("60_000", "3_000", "check.py")(folder)  # milliseconds that a question may take which has no answer
    ran = check(folder)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert said in ran.stdout + ran.stderr
    if compared:
        against = kraftcheck(*any_number(system), "--against", folder)
        assert against.code == (2 if compared == "no certificate" else 22 if OTHERWISE in compared else 24)
        assert compared in (against.text + against.err).replace("\n", " ")


def test_what_the_last_one_breaks_has_no_certificate(of_any: Callable[[str], Path], tmp_path: Path) -> None:
    """A claim that is false of four or more is not in the certificate, and one that has it is not shown."""
    folder = Path(shutil.copytree(of_any("TURNS"), tmp_path / "copy"))
    assert "somebody-waits" not in (folder / "system.vmt").read_text()
    at = "|bound 0|"
    waits = f"(exists (({at} Int)) (and (= {at} $next) (< {at} |$how many clients|) (= ($voted {at}) #b0)))"
    define("invariant: in-turn", waits)(folder)
    ran = check(folder)
    assert ran.returncode in (1, 22)
    assert "not invariant: in-turn'" in ran.stdout


def test_nothing_is_written_where_nothing_is_proven(tmp_path: Path) -> None:
    """A claim that is refuted has no certificate: no folder is made, and an old one stays as it was."""
    words = ("prove", "tests.toys:HASTY", "--scope", "3", "--quiet", "--workers", "1", "--property", "consistent")
    ran = kraftcheck(*words, "--certificate", tmp_path / "none")
    assert ran.code != 0
    assert "no certificate: nothing is proven" in ran.text
    assert list(tmp_path.iterdir()) == []
