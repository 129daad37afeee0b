"""Expressions on the command line: invariants, conditions, searches for a state, their traces, and every engine."""

import json
import shlex
from pathlib import Path

import pytest

from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.traces.itf import FORMAT_VERSION
from tests.ci.spark.levels import begun, facts, finished, native_facts
from tests.shared.commands import Ran, kraftcheck

DIGRAPH = "tests.toys:DIGRAPH"
COUNTER = "tests.toys:COUNTER"
QUEUE = "tests.shared.lists:QUEUE"


def explored(*words: object, system: str = DIGRAPH) -> Ran:
    """What `explore` says of a toy, without progress."""
    return kraftcheck("explore", system, *words, "--quiet", "--verbose")


def row(ran: Ran, claim: str) -> str:
    """The verdict of a property in the printed table."""
    line = next(line for line in ran.out.splitlines() if line.startswith(f"{claim}  "))
    return line.removeprefix(claim).split()[0]


def test_an_invariant_is_judged_beside_the_others() -> None:
    """It has a row and an exit code like any property, also beside --property, and several can be given."""
    both = explored("--invariant", "node < 8", "--invariant", "node != 7", "--property", "reach-5")
    assert (row(both, "node < 8"), row(both, "node != 7"), row(both, "reach-5")) == ("holds", "refuted", "holds")
    assert both.last == "1 refuted, 3 holds (exit 12)"
    assert explored("--invariant", "node < 8", "--property", "node < 8").last == "2 holds (exit 0)"


def test_the_conjunct_that_fails_is_named() -> None:
    """Of an expression joined by `and` the trace names the part that is false at its end."""
    ran = explored("--invariant", "node < 8 and node != 7", "--property", "deadlock")
    assert "     fails: node < 8 and node != 7\n      false: node != 7\n" in ran.out


def test_the_command_below_a_trace_finds_it_again() -> None:
    """The `again` line of an expression gives the expression, and judges it alone."""
    ran = explored("--invariant", "node != 7", "--when", "node > 5")
    again = next(line for line in ran.out.splitlines() if "again:" in line and "node != 7" in line)
    repeated = kraftcheck(*shlex.split(again.partition("again: kraftcheck ")[2]), "--quiet")
    assert repeated.code == 12
    assert "node != 7 when node > 5 is refuted" in repeated.out
    assert "never-5" not in repeated.out


@pytest.mark.parametrize(
    ("claim", "when", "code", "verdict"),
    [
        ("node != 7", "node > 5", 12, "refuted"),
        ("node != 8", "node > 5", 0, "holds"),
        ("node != 7", "node == 9", 21, "vacuous"),
    ],
)
def test_an_invariant_with_a_condition_is_about_some_states(claim: str, when: str, code: int, verdict: str) -> None:
    """It is judged where the condition is true; where no state satisfies that, it is vacuous and does not hold."""
    ran = explored("--invariant", claim, "--when", when, "--property", "deadlock")
    assert (ran.code, row(ran, f"{claim} when {when}")) == (code, verdict)
    assert row(ran, when) == ("vacuous" if verdict == "vacuous" else "holds")


def test_find_prints_the_shortest_way() -> None:
    """Node 5 is four steps away, and the run ends there although the system has properties that fail earlier."""
    ran = explored("--find", "node == 5")
    assert (ran.code, ran.last) == (0, "found in 4 steps (exit 0)")
    assert ran.out.count("follow(edge=") == 4
    assert "again: kraftcheck explore tests.toys:DIGRAPH --scope default --find 'node == 5'" in ran.out
    assert "refuted" not in ran.out


def test_find_tells_unreachable_from_incomplete() -> None:
    """No state has node 8, no domain 99: exit code 21; a search that was cut says that it is incomplete: 20."""
    absent, cut = explored("--find", "node == 8"), explored("--find", "node == 5", "--max-depth", 2)
    outside = explored("--find", "node == 99")
    assert (absent.code, absent.last) == (outside.code, outside.last) == (21, "not reachable (exit 21)")
    assert "node == 99: not reachable: none of all " in outside.out
    assert (cut.code, cut.last) == (20, "incomplete (exit 20)")
    assert explored("--find", "node == 0").last == "found in 0 steps (exit 0)"


def test_a_deadlock_does_not_end_a_search_for_a_state() -> None:
    """The counter is stuck at 3; 3 is found, and 4, which is never reached, is not taken for found."""
    assert explored("--find", "node == 3", system="tests.toys:STUCK").last == "found in 3 steps (exit 0)"


def test_a_place_that_is_not_there_makes_no_truth() -> None:
    """A state without a second in the queue does not satisfy what asks for it, and breaks an invariant that does."""
    assert explored("--find", "waiting[1] == 0", system=QUEUE).last == "found in 2 steps (exit 0)"
    assert explored("--find", "not (waiting[1] == 0) and size(waiting) == 0", system=QUEUE).code == 21
    broken = explored("--invariant", "waiting[1] != 7", system=QUEUE)
    assert "in 0 steps" in broken.out
    assert "false: every place that it reads is there" in broken.out
    assert explored("--invariant", "size(waiting) < 2 or waiting[1] != waiting[0]", system=QUEUE).code == 0
    unclear = explored("--invariant", "size(waiting) > 0", "--when", "waiting[0] == 1", system=QUEUE)
    assert "false: every place that it reads is there (waiting[0] == 1)" in unclear.out


@pytest.mark.parametrize(
    "words",
    [
        ("--invariant", "node != 7", "--property", "deadlock"),
        ("--invariant", "node != 7", "--when", "node > 5", "--property", "deadlock"),
        ("--find", "node == 7"),
        ("--invariant", "node != 7" + " and node != 7" * 60, "--property", "deadlock"),
    ],
)
def test_a_trace_of_an_expression_replays(words: tuple[str, ...], tmp_path: Path) -> None:
    """The file records the expression, and `trace` replays it; without it, the property is unknown."""
    explored(*words, "--out", tmp_path / "out")
    (path,) = [path for path in (tmp_path / "out").iterdir() if path.name.endswith(".itf.json")]
    assert len(path.name) < 200
    shown = kraftcheck("trace", path, "--system", DIGRAPH)
    assert shown.code == 0
    assert "2 steps, shortest as the file says" in shown.out
    document = json.loads(path.read_text())
    assert document["#meta"]["kraftcheck"]["version"] == FORMAT_VERSION
    assert document["#meta"]["kraftcheck"].pop("options")
    path.write_text(json.dumps(document))
    assert "the system has no property" in kraftcheck("trace", path, "--system", DIGRAPH).refusal()


def test_the_document_has_the_search(tmp_path: Path) -> None:
    """`--json` says of a search what was looked for, how far it is, and that the search ended there."""
    document = explored("--find", "node == 5", "--json", "-").document()
    (found,) = document["properties"]
    assert (found["id"], found["kind"], found["verdict"], found["depth"]) == ("node == 5", "sometimes", "holds", 4)
    assert (document["exit_code"], document["complete"]) == (0, False)


def test_goals_print_their_witness(tmp_path: Path) -> None:
    """--show-goals prints the shortest way to each goal, and --out writes it; without it neither happens."""
    plain, shown = explored("--out", tmp_path / "plain"), explored("--show-goals", "--out", tmp_path / "goals")
    assert "reach-5 is shown: Node 5 is visited." in shown.out
    assert "reach-5 is shown" not in plain.out
    assert (tmp_path / "goals" / "reach-5.itf.json").exists()
    assert not (tmp_path / "plain" / "reach-5.itf.json").exists()
    assert "reach-8 is shown" not in shown.out


def test_the_question_that_is_asked_is_answered_first() -> None:
    """An expression is shown with its trace; properties of the system are counted, decide too, and --all shows them."""
    asked = kraftcheck("explore", DIGRAPH, "--invariant", "node < 8", "--quiet")
    assert row(asked, "node < 8") == "holds"
    assert "never-5" not in asked.out
    assert "of the system's own: 2 refuted, 1 vacuous, 2 holds (--all lists them)" in asked.out
    assert (asked.code, asked.last) == (12, "2 refuted, 1 vacuous, 3 holds (exit 12)")
    for more in ("--all", "-v"):
        every = kraftcheck("explore", DIGRAPH, "--invariant", "node < 8", "--quiet", more)
        assert "never-5 is refuted" in every.out
        assert "--all lists" not in every.out
    assert "leave it out" in kraftcheck("explore", DIGRAPH, "--all").refusal()


ENGINES = ["node < 8", "node != 7", "node in {0, 1, 2, 3, 4, 5, 6, 7}", "implies(node > 5, node + 1 < 8)", "node != 3"]


def test_every_engine_agrees() -> None:
    """The native search, the levels of Spark, walks, bounded proofs and plain ints refute the same expressions."""
    chosen = subject(DIGRAPH, None, {}, None, ["deadlock"], expressions=Expressions(tuple(ENGINES)))
    flags = [word for text in ENGINES for word in ("--invariant", text)]
    ints = Integers(chosen.system, chosen.setting)
    reached, queue = {ints.initial[0]: set[str]()}, list(ints.initial)
    for state in queue:
        reached[state] = {broken.claim for broken in ints.broken(state, None)}
        after = [ints.take(state, move).step.after for move in ints.enabled(state)]
        queue += [one for one in dict.fromkeys(after) if one not in reached]
        reached.update({one: set() for one in after if one not in reached})
    expected = set.union(*reached.values())
    assert expected == {"node != 7", "implies(node > 5, node + 1 < 8)", "node != 3"}
    native = explored("--property", "deadlock", *flags, "--json", "-").document()
    assert {p["id"] for p in native["properties"] if p["verdict"] == "refuted"} == expected
    walked = kraftcheck("simulate", DIGRAPH, *flags, "--property", "deadlock", "--runs", 50, "--quiet", "--json", "-")
    assert {finding["id"] for finding in walked.document()["refuted"]} == expected
    proven = kraftcheck("prove", DIGRAPH, *flags, "--property", ENGINES[0], *_also(ENGINES[1:]), "--bmc", 6, "--quiet",
                        "--json", "-").document()  # fmt: skip
    assert {p["id"] for p in proven["claims"] if p["verdict"] == "refuted"} == expected


def _also(claims: list[str]) -> list[str]:
    return [word for claim in claims for word in ("--property", claim)]


def test_the_levels_of_spark_judge_expressions(tmp_path: Path) -> None:
    """A run by levels finds what the native search finds, and resumes only with the same expressions."""
    chosen = subject(DIGRAPH, None, {}, None, ["deadlock"], expressions=Expressions(("node != 7", "node < 8")))
    traced = program(chosen)
    run, runner = begun(traced, tmp_path)
    run.expand(runner)
    assert facts(finished(run)) == native_facts(traced)
    other = subject(DIGRAPH, None, {}, None, ["deadlock"], expressions=Expressions(("node != 7", "node < 9")))
    with pytest.raises(Refusal, match="node < 9"):
        begun(program(other), tmp_path, resume=True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--invariant", "nod < 3"), "--invariant: column 1: no field nod; did you mean node?"),
        (("--invariant", "node < 3", "--when", "node"), "--when: column 1: node is a number, not a truth"),
        (("--find", "node <"), "--find: column 7: something is missing"),
        (("--when", "node < 3"), "--when says where an --invariant has to hold"),
        (("--find", "node < 3", "--property", "never-5"), "--property judges properties, and --find judges none"),
        (("--find", "node < 3", "--invariant", "node < 3"), "--invariant judges properties, and --find judges none"),
        (("--invariant", "node in isr"), "--invariant: column 9: no field isr"),
    ],
)
def test_a_bad_expression_is_one_line(words: tuple[str, ...], says: str) -> None:
    """The option and the column are named, and nothing is explored."""
    assert says in explored(*words).refusal()


@pytest.mark.parametrize("command", ["prove", "simulate"])
def test_other_commands_refuse_what_they_cannot_answer(command: str) -> None:
    """A walk finds no shortest way, and a proof shows no state: --find belongs to `explore`, --when to searches."""
    assert "unknown option --find" in kraftcheck(command, DIGRAPH, "--find", "node == 5").refusal()
    if command == "prove":
        assert "unknown option --when" in kraftcheck(command, DIGRAPH, "--when", "node == 5").refusal()


def test_an_expression_may_not_be_the_id_of_a_property() -> None:
    """Where a system has a property of that name, the expression is told apart by parentheses."""
    assert "put the expression in parentheses" in explored("--invariant", "armed", system=COUNTER).refusal()
    assert explored("--invariant", "(armed)", "--property", "(armed)", system=COUNTER).code == 12
