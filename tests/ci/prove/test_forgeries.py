"""Forged definitions of systems are refused with their line, each beside the honest one that passes."""

import dataclasses
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.ci.prove.check_certificate import DefinedSystem, NoCertificate, index_of, table
from kraftcheck.ci.prove.command import script
from kraftcheck.ci.prove.comparison import remarks
from kraftcheck.ci.prove.vmt import commands
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.certificates.certificate import definition
from kraftcheck.solvers.smt.theory import theory
from tests.ci.prove.test_certificates import LOCK
from tests.shared.any_number import LEASE, MAJORITY


@frozen
class Count:
    """A number."""

    value: kc.Word


@functools.cache
def honest(name: str) -> str:
    """The definition of a lock, or of voters or a lease of any number, with all of its claims."""
    any_number = {"voters": (MAJORITY, {"voters": ANY}), "lease": (LEASE, {"brokers": ANY})}
    system, bounds = {"lock": (LOCK, {}), **any_number}[name]
    of = theory(system, system.setting(None, bounds, proof=bool(bounds)))
    return definition(of, [one.id for one in of.invariants], [one.id for one in of.steps])


def end(line: str) -> tuple[str, str]:
    """A forgery that adds a line."""
    return r"\Z", f"{line}\n".replace("\\", r"\\")


LATER = r"(?<=\n)(?=\(define-fun \|invariant: )"  # the place before the first invariant

INVARIANT = r"(?<=\(define-fun \|invariant: who-holds-wants\| \(\) Bool )\(! t27 :invar-property 4\)"
LEADERS = r"(?<=\(define-fun \|invariant: one-leader\| \(\) Bool )\(! t11 :invar-property 3\)"
VOTERS = "|$how many voters|"

FORGERIES: dict[str, tuple[str, tuple[str, str], str]] = {
    "another definition is initial": (
        "lock", (r"(\(define-fun initially \(\) Bool )\(! (\(and .*\)) :init true\)\)",
                 r"\1\2)\n(define-fun start () Bool (! (and initially |$wanted[0]|) :init true))"),
        ":23: initially is annotated otherwise than by :init"),
    "a word is the later value of a definition": (
        "lock", (r"(?<=\(set-logic QF_BV\)\n)",
                 "(declare-fun |$a, guard: g'| () Bool)\n(define-fun |$a, guard: g| () Bool true)\n"),
        "guard: g| () Bool true)' is no definition of a system"),
    "initial states are two": (
        "lock", end("(define-fun t99 () Bool (! false :init true))"), "t99 is annotated otherwise than by nothing"),
    "an initial state is not joined": (
        "lock", (LATER, "(define-fun |initial: other| () Bool |$wanted[1]|)\n"), "initially is not made of its parts"),
    "initial states are without their domains": (
        "lock", (r"\(and \|domain: holder\| (?=.*:init)", "(and "), "initially is not made of its parts"),
    "a let binds a made name": (
        "voters", (LEADERS, f"(! (let ((|is below {VOTERS[1:]} false)) t11) :invar-property 3)"),
        ":56: let binds |is below $how many voters|"),
    "a let binds a definition": ("voters", (LEADERS, "(! (let ((t11 true)) t11) :invar-property 3)"), "let binds t11"),
    "a let binds an operator": (
        "lock", (INVARIANT, "(! (let ((or and)) t27) :invar-property 4)"), "let binds or"),
    "a quantifier binds a number": (
        "voters", (LEADERS, f"(! (forall (({VOTERS} Int)) t11) :invar-property 3)"), f"forall binds {VOTERS}"),
    "a quantifier binds a made place": (
        "voters", (LEADERS, "(! (forall ((x Int)) t11) :invar-property 3)"), "forall binds x"),
    "a quantifier binds a truth": (
        "voters", (LEADERS, "(! (forall ((|bound 0| Bool)) t11) :invar-property 3)"), "forall binds bound 0 to Bool"),
    "a set is given a field": (
        "voters", (r"\(define-fun \|set 1\| \(\(\|bound 0\| Int\)\)", "(define-fun |set 1| (($votes Int))"),
        ":39: set 1 is given"),
    "a made name is defined": (
        "voters", (LATER, f"(define-fun |is below {VOTERS[1:]} () Bool false)\n"), "no definition is named is below"),
    "an end is defined": (
        "voters", (LATER, "(define-fun |set 1 ends| () Bool true)\n"), "no definition is named set 1 ends"),
    "a definition after the step is defined": (
        "lock", (LATER, "(define-fun |t1'| () Bool true)\n"), "no definition is named t1'"),
    "a place of few is declared": (
        "voters", (LATER, "(declare-fun |at 0 of $votes| () Int)\n"), "is no definition of a system"),
    "a size is of no set": (
        "voters", (LATER, "(declare-fun |size of t1| () Int)\n"), "is no definition of a system"),
    "a size is declared again": (
        "voters", (LATER, "(declare-fun |size of set 1| () Int)\n"), "is no definition of a system"),
    "a claim has no prefix": (
        "lock", (r"\|invariant: (?=who)", "|"), ":78: no definition is named who-holds-wants"),
    "an action has no prefix": ("lock", (r"action: take", "take"), "no definition is named take"),
    "an action is of no step": (
        "lock", (r" \|action: take\|(?=.*:trans)", ""), "next is not made of its parts"),
    "an action is a step twice": (
        "lock", (r" \|action: take\|(?=.*:trans)", " |action: ask|"), "next is not made of its parts"),
    "a claim has a name beside its annotation": (
        "lock", (INVARIANT, "(! true :invar-property 4 :named z)"),
        ":78: invariant: who-holds-wants is annotated otherwise than by :invar-property"),
    "a term within has a name": (
        "lock", (INVARIANT, "(! (and (! t27 :named t99) true) :invar-property 4)"), "(! t27 :named t99)' is no term"),
    "a claim is not annotated": ("lock", (INVARIANT, "t27"), "is annotated otherwise than by :invar-property"),
    "two claims have one number": ("lock", (r":invar-property 4", ":invar-property 3"), "is :invar-property 3"),
    "what is next is another's": (
        "lock", (r":next \|\$wanted\[1\]'\|", ":next |$wanted[0]'|"), ":13: field: wanted[1] is :next $wanted[0]'"),
    "a field is its own next": ("lock", (r":next \|\$holder'\|", ":next $holder"), ":11: field: holder is :next"),
    "a field has no domain": (
        "lock", (r"\(define-fun \|domain: wanted\[1\]\|.*\n|(?<= )\|domain: wanted\[1\]\| ", ""),
        "is :invar-property 3"),
    "a value is another field's": (
        "lock", (r"(?<=\(define-fun \|ask, next: holder\| \(\) Bool ).*", "(= |$taken'| $taken))"),
        "is not made equal to anything: holder"),
    "a field has no value": (
        "lock", (r"\(define-fun \|ask, next: taken\|.*\n|(?<= \|ask, next: wanted\[1\]\|) \|ask, next: taken\|", ""),
        "action ask does not give each field one value"),
    "a part is of no action": (
        "lock", (LATER, "(define-fun |nobody, guard: g| () Bool true)\n"), "an action has parts and is none"),
    "a name is that of two parts": (
        "lock", (LATER, "(define-fun |take, guard: a, step: b| () Bool true)\n"), "no definition is named take, guard"),
    "a claim is of no steps": (
        "lock", (LATER, "(define-fun |initially, step: other| () Bool true)\n"), "claims that are not of steps"),
    "a claim is not of one action": (
        "lock", (r"\(define-fun \|take, step: wanted-before\|.*\n", ""), "take has other claims about steps"),
    "a claim at the start is of the next state": (
        "lock", (r"(?<=\(define-fun \|initially, step: wanted-before\| \(\) Bool )[^\n]*", "|$wanted[0]'|)"),
        "speaks of more than a state"),
    "a guard is of the next state": (
        "lock", (r"(?<=\(define-fun \|take, guard: nobody has it\| \(\) Bool )[^\n]*", "(= #b11 |$holder'|))"),
        "take, guard: nobody has it speaks of the next state"),
    "a guard is called an argument": (
        "lock", (r"take, guard: nobody has it", "take, argument: nobody has it"), "is of a state, and no argument"),
    "a claim about steps is of the next state": (
        "lock", (r"(?<=\(define-fun \|take, step: wanted-before\| \(\) Bool )[^\n]*", "|$wanted[0]'|)"),
        "take, step: wanted-before speaks of the next state"),
    "a set is of truths": (
        "voters", (r"(?<=\(define-fun \|set 1\| \(\(\|bound 0\| )Int", "Bool"), "set 1 is given ((|bound 0| Bool))"),
    "a name is empty": ("lock", end("(define-fun || () Bool true)"), "'||' is no name"),
    "a width is no number": (
        "lock", (r"(?<=\(declare-fun \$taken \(\) \(_ BitVec )2", "x"), "(_ BitVec x))' is no definition"),
    "a binding is of the one beside it": (
        "lock", (INVARIANT, "(! (let ((a!1 true) (a!2 a!1)) a!2) :invar-property 4)"), ":78: 'a!1' is no term"),
    "an operator is of nothing": ("lock", (INVARIANT, "(! (not) :invar-property 4)"), "'(not)' is no term"),
    "a number is negative": ("lock", (INVARIANT, "(! (= $taken -1) :invar-property 4)"), "'-1' is no term"),
    "a width has two digits for one": (
        "lock", (r"\$taken \(\) \(_ BitVec 2", "$taken () (_ BitVec 02"), "is no definition of a system"),
    "a field is wider next": (
        "lock", (r"(?<=\|\$taken'\| \(\) \(_ BitVec )2", "3"), ":14: field: taken is :next"),
    "two fields change places": (
        "lock", (r"(:next \|\$wanted\[)0(\]'\|(?:.*\n)+?.*:next \|\$wanted\[)1", r"\g<1>1\g<2>0"),
        "action ask has a field that is not made equal to anything: wanted[0]"),
    "a domain speaks of a size": (
        "voters", (r"(\(define-fun \|domain: votes\|.*\n)",
                   "(define-fun |set 9| ((|bound 0| Int)) Bool ($leaders |bound 0|))\n(declare-fun |size of set 9| () "
                   "Int)\n(define-fun |domain: votes| () Bool (! (>= |size of set 9| 0) :invar-property 0))\n"),
        "domain: votes speaks of a size"),
    "a domain speaks of the only size": (
        "lease", (r"(\(define-fun \|domain: leader\|.*\n)",
                  "(define-fun |set 9| ((|bound 0| Int)) Bool ($fenced |bound 0|))\n(declare-fun |size of set 9| () "
                  "Int)\n(define-fun |domain: leader| () Bool (! (>= |size of set 9| 0) :invar-property 1))\n"),
        "domain: leader speaks of a size"),
    "a definition is of itself": ("lock", (INVARIANT, "(! |invariant: who-holds-wants| :invar-property 4)"), "no term"),
    "a definition is of what comes later": (
        "lock", (r"(?<=\(define-fun \|initial: state\| \(\) Bool )t3", "t27"), "'t27' is no term"),
    "a definition is given a place and not used so": ("voters", (LEADERS, "(! |set 1| :invar-property 3)"), "no term"),
    "an operator is unknown": (
        "lock", (INVARIANT, "(! (bvnego t27) :invar-property 4)"), "'(bvnego t27)' is no term"),
    "a word of the language is quoted": ("lock", (INVARIANT, "(! |true| :invar-property 4)"), "'|true|' is no name"),
    "an operator is quoted": ("lock", (INVARIANT, "(! (|and| t27 t27) :invar-property 4)"), "'|and|' is no name"),
    "a size is of nothing": (
        "voters", end("(declare-fun |size of set 99| () Int)"), "|size of set 99| () Int)' is no definition"),
    "a number is quoted": ("voters", (r"\(>= \|\$vote.voter\| 0\)", "(>= |$vote.voter| |0|)"), "'|0|' is no name"),
    "an annotation is quoted": (
        "lock", (INVARIANT, "(! t27 |:invar-property| 4)"), "'|:invar-property|' is no name"),
    "a comment ends where few see it": (
        "lock", (LATER, "; nothing\r(define-fun |invariant: false| () Bool (! false :invar-property 4))\n"),
        "has a character that is not shown"),
    "a name has a line break": ("lock", (r"who-holds-wants", "who-\nholds-wants"), "is no name"),
    "a name is written backwards": (
        "lock", (r"who-holds-wants", "who-\u202eholds-wants"), "has a character that is not shown"),
    "a space is none": ("lock", (LATER, "\u00a0\n"), "no symbol begins"),
    "a text is a string": ("lock", end('(echo "unsat")'), "no symbol begins"),
    "a logic is set again": ("lock", end("(set-logic ALL)"), "'(set-logic ALL)' is no definition of a system"),
    "a logic is another": ("voters", (r"set-logic ALL", "set-logic QF_UF"), "'(set-logic QF_UF)' is no definition"),
    "no logic is set": ("lock", (r"\(set-logic QF_BV\)", ""), "is no definition of a system"),
    "a sort is unknown": ("lock", (LATER, "(declare-fun $x () Real)\n"), "is no definition of a system"),
    "a sort is empty": ("lock", (LATER, "(declare-fun $x () (_ BitVec 0))\n"), "is no definition of a system"),
    "a word is declared again": ("lock", end("(declare-fun $holder () Bool)"), "is no definition of a system"),
    "a definition is a function": (
        "voters", (LATER, "(define-fun t99 ((|bound 0| Int)) Bool true)\n"), "t99 is given"),
    "a claim is a number": (
        "voters", (r"(?<=\|invariant: one-leader\| \(\) )Bool", "Int"), "invariant: one-leader is Int, and no truth"),
    **{f"a command is {said}": ("lock", end(said), "is no definition of a system") for said in (
        "(assert false)", "(push 1)", "(pop 1)", "(check-sat)", "(set-info :status unsat)", "(reset)", "(exit)",
        "(set-option :global-declarations true)", "(define-fun-rec t99 () Bool t99)", "(define-const t99 Bool false)",
        "(declare-const $y Bool)", "(declare-sort T 0)", "(get-proof)", "nothing", "()",
    )},
}  # fmt: skip
"""Changes of an honest definition: of which, what is replaced by what, and what is said of it."""


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_definition_is_refused(name: str) -> None:
    """What is not of the grammar, or not all there once, is refused; the text that it is made of is not."""
    of, (old, new), said = FORGERIES[name]
    DefinedSystem(honest(of))
    forged = re.sub(old, lambda found: found.expand(new), honest(of))
    assert forged != honest(of)
    with pytest.raises(NoCertificate, match=r"system\.vmt:") as refused:
        DefinedSystem(forged)
    assert said in str(refused.value)


def test_a_digest_is_whole_and_of_nothing_else() -> None:
    """It has all of its 64 digits, differs where an action does, and is no number that a text could hold."""
    was, more = DefinedSystem(honest("voters")), "|size of set 2| (* 2 |size of set 1|)"
    assert re.fullmatch("[0-9a-f]{64}", was.digest("t9"))
    other = DefinedSystem(honest("voters").replace(more, "|size of set 1| (* 2 |size of set 2|)"))
    assert was.digest("action: vote", "action: win") != other.digest("action: vote", "action: win")
    assert DefinedSystem(honest("lock")).digest("initially") != was.digest("initially")


@pytest.mark.parametrize("of", ["lock", "voters"])
def test_a_digest_has_every_declaration(of: str) -> None:
    """What needs a word, at any remove, has another digest where the word has another sort, and nothing else has."""
    was = DefinedSystem(honest(of))
    for name, (places, _) in was.declared.items():
        other = DefinedSystem(honest(of))
        other.declared[name] = (places, "Real")
        for one in was.defined:
            assert (was.digest(one) != other.digest(one)) == (name in was.needed([one])), (name, one)
    assert len({was.digest(name) for name in was.declared}) == len(was.declared)


@pytest.mark.parametrize("of", ["lock", "voters"])
def test_a_digest_has_the_shape_of_a_definition(of: str) -> None:
    """A definition of another sort or with other places, and a field with another next word, has another digest."""
    was = DefinedSystem(honest(of))
    for name, one in was.defined.items():
        for changed in (dataclasses.replace(one, sort="Real"), dataclasses.replace(one, given=[*one.given, "more"])):
            other = DefinedSystem(honest(of))
            other.defined[name] = changed
            assert was.digest(name) != other.digest(name), name
    for name in was.next:
        other = DefinedSystem(honest(of))
        other.next[name] = "another"
        assert was.digest(name) != other.digest(name), name


def test_a_digest_has_the_members_of_a_set_that_is_counted() -> None:
    """Who asks for the size of a set has another digest where the set has other members, at any remove."""
    text = honest("voters")
    was, counted = DefinedSystem(text), re.search(r"\(define-fun \|set 1\| .* Bool (.*)\)\n", text)
    assert counted is not None
    at = slice(*counted.span(1))
    other = DefinedSystem(text[: at.start] + f"(not {text[at]})" + text[at.stop :])
    assert {was.has_sizes(name) for name in was.defined} == {False, True}
    for name in was.defined:
        asks = "size of set 1" in was.needed([name]) or "set 1" in was.needed([name])
        assert (was.digest(name) != other.digest(name)) == asks, name


def in_a_folder(place: Path, text: str) -> Path:
    """A certificate of the lock with a sentence."""
    sentences = {"who-holds-wants": text, "wanted-before": "said"}
    index = {"system": "lock", "scope": "default", "bounds": {}, "rules": None, "left_out": ["taken"], "of_nothing": [],
             "sentences": sentences}  # fmt: skip
    place.mkdir()
    (place / "system.vmt").write_text(honest("lock"))
    (place / "index.json").write_text(json.dumps(index))
    (place / "check.py").write_text(script())
    return place


def run(place: Path) -> subprocess.CompletedProcess[str]:
    """The run of the script in a folder."""
    command = [sys.executable, str(place / "check.py")]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_sentence_is_one_line(tmp_path: Path) -> None:
    """A sentence prints no line of its own, and moves no cursor."""
    pytest.importorskip("cvc5")
    ran = run(in_a_folder(tmp_path / "honest", "who holds wants"))
    assert (ran.returncode, ran.stderr) == (0, "")
    for number, text in enumerate(("nothing\neverything is shown", "\x1b[2K\x1b[1A", "a\u2028b")):
        ran = run(in_a_folder(tmp_path / str(number), text))
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "is no line of text" in ran.stderr


@pytest.mark.parametrize("place", ["system", "scope", "rules", "left_out", "of_nothing", "claim", "sentence"])
def test_each_text_of_an_index_is_one_line(place: str) -> None:
    """Whatever is printed of an index has no line break."""
    index = {"system": "lock", "scope": None, "rules": None, "bounds": {}, "left_out": ["taken"],
             "of_nothing": ["none"], "sentences": {"claim": "said"}}  # fmt: skip
    assert index_of(json.dumps(index)) == index
    broken = {"claim": {"sentences": {"a\nb": "said"}}, "sentence": {"sentences": {"claim": "a\nb"}},
              "left_out": {"left_out": ["taken", "a\nb"]}, "of_nothing": {"of_nothing": ["none", "a\nb"]}}  # fmt: skip
    with pytest.raises(NoCertificate, match="is no line of text"):
        index_of(json.dumps(index | broken.get(place, {place: "a\nb"})))


def test_an_index_says_everything_once() -> None:
    """Of a key that is there twice readers take one value or the other; in a sentence's object too."""
    index = '{"system": "lock", "scope": null, "rules": null, "bounds": {}, "left_out": [], "of_nothing": [], '
    assert index_of(index + '"sentences": {"claim": "said"}}')
    for twice in (
        '"sentences": {"claim": "a"}, "sentences": {"claim": "b"}}',
        '"sentences": {"claim": "a", "claim": "b"}}',
    ):
        with pytest.raises(NoCertificate, match="says something of one name twice"):
            index_of(index + twice)


def test_a_script_that_is_a_link_is_about_its_own_folder(tmp_path: Path) -> None:
    """A script that is linked from another certificate does not show that one."""
    pytest.importorskip("cvc5")
    honest_one, forged = (in_a_folder(tmp_path / name, "who holds wants") for name in ("honest", "forged"))
    (forged / "system.vmt").write_text(re.sub(INVARIANT, "(! (not t27) :invar-property 4)", honest("lock")))
    (forged / "check.py").unlink()
    (forged / "check.py").symlink_to(honest_one / "check.py")
    assert (run(honest_one).returncode, run(forged).returncode) == (0, 1)


def test_a_bracket_is_closed() -> None:
    """The refusal names the line on which the command begins that is not closed."""
    with pytest.raises(NoCertificate, match="vmt:2: a bracket is not closed"):
        list(commands("(a (b))\n(c\n(d)\n"))


def test_a_function_of_two_places_has_a_word_at_each_two() -> None:
    """With few places it is a word for each pair of them, and one for all others."""
    *words, function = table("f", 2, "Int", range(2))
    assert (len(words), len({*words})) == (5, 5)
    assert function.count("(= x0 ") == function.count("(= x1 ") == 4


def test_a_cap_that_no_step_passes_leaves_nothing_out() -> None:
    """A bound that guards keep is none that leaves out steps, and is not said to."""
    for last, left_out in ((3, []), (4, ["value"])):
        up = kc.Action("up", lambda s: Count(s.value + 1), lambda s, last=last: s.value < last)
        system = kc.System(
            name="count", summary="counts", layout=Count(kc.ints(0, 3, cap="a few")), initial=[Count(0)], actions=[up],
            properties=[kc.always("low", "it is not 9", lambda s: s.value != 9)], quiescent=lambda s: True,
        )  # fmt: skip
        of = theory(system, system.setting())
        assert remarks(DefinedSystem(definition(of, ["low"], [])))["left_out"] == left_out


def test_what_lies_beside_the_script_is_not_run(tmp_path: Path) -> None:
    """A file that is named as a module is none of the script's."""
    pytest.importorskip("cvc5")
    place = in_a_folder(tmp_path / "honest", "who holds wants")
    for name in ("json.py", "cvc5.py", "re.py"):
        (place / name).write_text("raise SystemExit(0)")
    ran = run(place)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("everything is shown\n")
