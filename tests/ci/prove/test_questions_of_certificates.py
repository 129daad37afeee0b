"""Questions that a certificate's script asks: each answer counts, and sizes are what they are."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.ci.prove import check_certificate
from kraftcheck.ci.prove.check_certificate import (
    AXIOMS,
    DefinedSystem,
    Obligations,
    axioms,
    by_command,
    by_package,
    check,
    counted,
    induction,
    letters,
)
from kraftcheck.ci.prove.vmt import SIZE, NoCertificate, printed
from tests.ci.prove.test_forgeries import honest, in_a_folder

UNIONS = "a set that is larger by two has two members more"


def test_each_truth_about_sizes_is_shown_by_induction() -> None:
    """cvc5 shows it of no place, and of one more."""
    pytest.importorskip("cvc5")
    for name in AXIOMS:
        assert by_package(None)(induction(name), []) == ["unsat", "unsat"], name


@pytest.mark.parametrize(("name", "was", "now"), [
    (UNIONS, "(size B) 1)", "(size B) 0)"),
    ("who has a size has a member", "(size A) 1)", "(size A) 0)"),
    ("a member counts", "(size A) 1)", "(size A) 2)"),
    ("a larger set is not within a smaller one", "(> (size A)", "(>= (size A)"),
    ("two sets that cover a third are together no smaller", "(> (size A)", "(>= (size A)"),
])  # fmt: skip
def test_a_truth_that_is_none_is_not_shown(name: str, was: str, now: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A truth that says one too much is not shown of no place, or not of one more."""
    pytest.importorskip("cvc5")
    assert was in AXIOMS[name]
    monkeypatch.setattr(check_certificate, "LIMIT", 500)
    monkeypatch.setitem(AXIOMS, name, AXIOMS[name].replace(was, now))
    assert by_package(None)(induction(name), []) != ["unsat", "unsat"]


def test_a_truth_is_said_of_each_choice_of_sets() -> None:
    """Of one set what is about one, of two what is about two in either order; of sets of a place at every place."""
    about = [len(letters(text)) for text in AXIOMS.values()]
    for count in (1, 2, 3):
        said = [*axioms(dict.fromkeys("abc"[:count], 0))]
        assert len(said) == len({*said}) == sum(len([*itertools.permutations(range(count), few)]) for few in about)
        assert all("forall ()" not in line for line in said)
    of_places = [*axioms({"a": 1})]
    assert len(of_places) == len(AXIOMS)
    assert all(line.startswith("(assert (forall ((A0 Int)") for line in of_places)


def test_members_are_counted_at_places() -> None:
    """Each of few places counts one, and none below 0 does."""
    assert counted("s", ["x", "y"], range(-1, 2)) == (
        "(define-fun |size of s| ((x Int)) Int (+ 0 0 (ite (s x 0) 1 0) (ite (s x 1) 1 0)))")  # fmt: skip


def test_a_command_is_given_the_text_in_a_file(tmp_path: Path) -> None:
    """It reads the text, and its words are the answers whatever its exit code is."""
    solver = tmp_path / "solver.py"
    solver.write_text("import sys; print(sys.argv[1], open(sys.argv[2]).read(), sys.argv[2][-5:]); sys.exit(3)")
    assert by_command([sys.executable, str(solver), "--fast"])("unsat\nsat", ["a"]) == [
        "--fast", "unsat", "sat", ".smt2"]  # fmt: skip


def test_proofs_are_of_what_is_unsat(tmp_path: Path) -> None:
    """Each question has one answer, and each that is unsat has a proof in a file by its name."""
    pytest.importorskip("cvc5")
    parts = ["(set-logic ALL)", "(declare-fun x () Int)"]
    truths = ("(< x x)", "(= x 1)", "(and (< x 1) (> x 1))")
    parts += [f"(push 1)(assert {truth})(check-sat)(pop 1)" for truth in truths]
    names = ["a: first", "b", "c, d: third"]
    assert by_package(None)("\n".join(parts), names) == ["unsat", "sat", "unsat"]
    assert by_package(tmp_path)("\n".join(parts), names) == ["unsat", "sat", "unsat"]
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {*found} == {"a-first.cpc", "c-d-third.cpc"}
    assert all("(step" in text or "(assume" in text for text in found.values())


Asked = dict[tuple[str, int], str]  # the answer to each question, by its text and its number there


def scripted(known: Asked, other: tuple[tuple[str, int], str] | None = None) -> check_certificate.Solver:
    """A solver that answers as another did, but for one question."""

    def answers(text: str, names: list[str]) -> list[str]:
        keys = [(text, number) for number in range(text.count("(check-sat)"))]
        return [other[1] if other is not None and key == other[0] else known.get(key, "sat") for key in keys]

    return answers


def asked(name: str) -> Asked:
    """What cvc5 says of an honest definition."""
    known, solver = Asked(), by_package(None)

    def answers(text: str, names: list[str]) -> list[str]:
        said = solver(text, names)
        known.update({(text, number): answer for number, answer in enumerate(said)})
        return said

    Obligations(DefinedSystem(honest(name)), answers).everything()
    return known


def outcome(name: str, solver: check_certificate.Solver) -> tuple[object, ...]:
    """All that a check of an honest definition finds."""
    found = Obligations(DefinedSystem(honest(name)), solver)
    found.everything()
    return found.wrong, found.undecided, found.left_out, found.of_nothing


def others(known: Asked) -> Iterator[tuple[tuple[str, int], str]]:
    """Each question with each other answer."""
    for key, answer in known.items():
        for other in {"sat", "unsat", "unknown", "error"} - {answer}:
            yield key, other


def test_each_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other answer to any one obligation is a fault, or leaves it open; so does no answer to any other question."""
    pytest.importorskip("cvc5")
    known = asked("lock")
    honestly = outcome("lock", scripted(known))
    assert honestly == ([], [], {"taken"}, set())
    for key, other in others(known):
        if other in ("unknown", "error"):
            assert outcome("lock", scripted(known, (key, other)))[1 if other == "unknown" else 0], (key, other)
    assert outcome("lock", lambda *_: [])[0]
    monkeypatch.setattr(Obligations, "remarks", lambda _: None)
    obligations = asked("lock")
    assert len(obligations) > 15
    for key, other in others(obligations):
        wrong, undecided, *_ = outcome("lock", scripted(obligations, (key, other)))
        assert (bool(wrong), bool(undecided)) == (other != "unknown", other == "unknown"), (key, other)


def test_a_definition_without_claims_shows_nothing(tmp_path: Path) -> None:
    """Where nothing is claimed, or nothing can happen, that is said instead of a pass."""
    place = in_a_folder(tmp_path / "none", "who holds wants")
    lines = (place / "system.vmt").read_text().splitlines()
    kept = [line for line in lines if "invariant: " not in line and "step: " not in line]
    (place / "system.vmt").write_text("\n".join(kept))
    with pytest.raises(NoCertificate, match="it claims nothing"):
        check(place, scripted({}))


@pytest.mark.parametrize("name", ["lock", "voters"])
def test_all_questions_are_counted(name: str) -> None:
    """So many as there are answers, those about sizes with them; with no fault found before."""
    given = list[str]()

    def answers(text: str, names: list[str]) -> list[str]:
        said = ["unsat"] * text.count("(check-sat)")
        if "(assert initially)" in text and "(assert (not" not in text:
            said = ["sat"]  # that there is an initial state
        given.extend(said)
        return said

    found = Obligations(DefinedSystem(honest(name)), answers)
    found.everything()
    assert (found.wrong, found.undecided, found.count) == ([], [], len(given))
    assert found.count > len(AXIOMS) * 2 if name == "voters" else found.count > 20


def test_few_have_sizes_that_are_counted() -> None:
    """With few a size is how many members a set has among them, and there are two of each; else the solver is free."""
    of, texts = DefinedSystem(honest("voters")), list[str]()
    name = next(iter(of.sets))
    for few in (None, ["(= |$how many voters| 2)"]):
        texts.append(of.text(of.domains, ["win, guard: guard"], few))
    assert [f"(declare-fun {printed(SIZE + name, {})}" in text for text in texts] == [True, False]
    assert [f"(define-fun {printed(SIZE + name, {})}" in text for text in texts] == [False, True]
    asked_first = list[str]()
    Obligations(of, lambda text, _: asked_first.append(text) or ["sat"]).refuted(["initially"], [""])  # type: ignore[func-returns-value]
    assert "(assert (= |$how many voters| 2))" in asked_first[0]


def test_a_solver_is_chosen_by_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command is asked as it is given, cvc5's own with its options, and the package where there is none."""
    monkeypatch.setattr(check_certificate, "by_command", lambda words: words)
    monkeypatch.setattr(check_certificate, "by_package", lambda folder: folder)
    for installed in (None, "/bin/cvc5"):
        monkeypatch.setattr("shutil.which", lambda _, installed=installed: installed)
        own = ["cvc5", "--incremental", "--enum-inst", f"--tlimit-per={check_certificate.LIMIT}"]
        assert check_certificate.chosen(["z3", "-smt2"]) == ["z3", "-smt2"]
        assert check_certificate.chosen(["--proofs"]) == ["--proofs"]
        assert check_certificate.chosen([]) == (own if installed else None)
        place = tmp_path / str(installed is None) / "deep"
        for _ in range(2):
            assert check_certificate.chosen(["--proofs", str(place)]) == place
            assert place.is_dir()


def test_without_a_solver_nothing_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such command, no such package and no such folder are exit code 1; what is no certificate is 2."""
    place = in_a_folder(tmp_path / "honest", "who holds wants")
    assert check_certificate.main(place, [str(tmp_path / "none")]) == 1
    assert check_certificate.main(tmp_path / "none", ["true"]) == 1
    monkeypatch.setitem(sys.modules, "cvc5", None)
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert check_certificate.main(place, []) == 1
    (place / "system.vmt").write_text("(")
    assert check_certificate.main(place, ["true"]) == 2
