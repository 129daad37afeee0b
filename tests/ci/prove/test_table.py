"""The table of proofs: runs have shown what it says and show it again, beyond the bounds that it calls any."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EVERY, expected
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, ObligationAnswer
from kraftcheck.solvers.smt.theory import DOMAINS, theory
from tests.documentation import proofs as table
from tests.documentation.proofs import (
    NOT_ASKED,
    Freed,
    ProofRun,
    asked,
    column_heads,
    document,
    freed_by,
    main,
    merged,
    page,
    read_runs,
    reported,
    run_of,
    statement,
)
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, ROOT
from tests.shared.samples import one_in
from tests.solvers.hypothesis.long_runs import PASSING

DATA = DOCS / "reference" / "proofs.json"
RUNS = read_runs(DATA)


def test_a_run_becomes_a_column(tmp_path: Path) -> None:
    """The document of a proof becomes a column, with a verdict for each property and the command to run it again."""
    ran = kraftcheck("prove", "elections", "--scope", "tiny", "--rules", "fixed", "--property", "replicas-distinct",
                     "--quiet", "--workers", "1", "--json", tmp_path / "run.json")  # fmt: skip
    assert ran.code == 0
    main([str(tmp_path / "table.json"), str(tmp_path / "run.json")])
    main([str(tmp_path / "table.json"), str(tmp_path / "run.json")])  # a second time replaces the first
    (run,) = read_runs(tmp_path / "table.json")
    asked = {claim: verdict for claim, verdict in run.verdicts.items() if verdict != NOT_ASKED}
    assert asked == {"replicas-distinct": "proven"}
    assert set(run.used) == {"replicas-distinct"}
    assert len(run.verdicts) > 1
    text = page([run])
    assert "| `replicas-distinct` | proven |" in text
    assert "| property | brokers 2, directories 1 |" in text
    assert "`kraftcheck prove elections --scope tiny --rules fixed`" in text
    unknown = evolve(run, verdicts={"replicas-distinct": "unknown"})
    assert "| `replicas-distinct` | unknown |" in page(merged([run], [unknown]))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.system} {run.scope} {run.head()}")
def test_a_verdict_is_of_what_there_is_now(run: ProofRun) -> None:
    """No verdict outlives a change of the rules, of the initial states or of its claim: it would be `not asked`."""
    assert run.as_of_now() == run


def test_a_column_states_what_it_leaves_out() -> None:
    """A statement has the bounds, those at 0, the actions that other settings have, and where runs begin."""
    run = next(run for run in RUNS if (run.system, run.scope) == ("replication", "tiny"))
    told = dict(text.partition(" ")[::2] for text in statement(run))
    assert "unclean-stops 1" in told["bounds:"]
    assert "`clean-stops` (budget: controlled shutdowns)" in told["at"]
    assert "`shut_down`" in told["no"]
    begin, always = told["runs"].split("; 0, false or empty always: ")
    assert "`controller.elr`, " in begin
    assert "`controller.unclean_election`" in always
    assert "`controller.leader`" not in told["runs"]
    assert "`controller.elr_enabled`" not in told["runs"]
    more = evolve(run, bounds={**run.bounds, "clean-stops": 1})
    assert not any("`shut_down`" in text or "controlled shutdowns" in text for text in statement(more))
    endless = next(run for run in RUNS if run.system == "elections" and run.bounds["brokers"] == "any")
    assert any("every state with" in text and "`all are in sync`" in text for text in statement(endless))
    assert any("axioms" in text for text in statement(endless))
    assert not any("axioms" in text for text in statement(run))


def test_a_column_states_what_a_rule_reports_of_itself() -> None:
    """Named is each claim that reads a field of an event, which the rules under test have computed, with the field."""
    told = reported("elections", "default", "fixed")
    assert told["controller-stays"] == ("resigned",)
    assert told["completes-in-sync"] == ("completed", "from_elr")
    assert not reported("replication", "tiny", "fixed")
    run = next(run for run in RUNS if (run.system, run.scope) == ("elections", "tiny"))
    assert any("own word" in text and "`controller-stays` (`resigned`)" in text for text in statement(run))


def test_a_column_says_what_was_explored_and_how_long_it_took(tmp_path: Path) -> None:
    """The search that shows what the claims speak of, the seconds and the solver's version are those of the run."""
    words = ("elections", "--scope", "tiny", "--rules", "fixed", "--quiet", "--json", "-")
    document = kraftcheck("prove", *words, "--property", "leader-in-isr", "--workers", "1").document()
    told = list(statement(run_of(document)))
    states = kraftcheck("explore", *words).document()["states"]["distinct"]
    assert any(text.startswith(f"explored beside it: all {states:,} states with brokers 2") for text in told)
    assert any(f"answered by z3 {document['versions']['z3']} in " in text for text in told)


THEOREM = re.compile(r"^\| ([^|]*`[a-z-]+`[^|]*) \| ([^|]*) \|$", re.MULTILINE)


def test_a_theorem_of_the_page_is_a_column_that_is_proven() -> None:
    """What the first table of the page says of fixed or any brokers is proven whole in columns with these numbers."""
    table = (DOCS / "explanation" / "proofs.md").read_text(encoding="utf-8").partition("\n\nA claim that")[0]
    judged = 0
    for systems, text in THEOREM.findall(table):
        for system in re.findall(r"`([a-z-]+)`", systems):
            columns = [run for run in RUNS if run.system == system and set(run.verdicts.values()) == {"proven"}]
            freed = "any number of failures" in text
            of = {str(run.bounds.get("brokers")) for run in columns if freed == ("unbounded" in run.bounds)}
            numbers = set(re.findall(r"\d+", text)) | ({"any"} if "any number of brokers" in text else set())
            assert not columns or numbers <= of, (system, text, of)
            judged += bool(columns)
    assert judged > 6


SITTING = re.compile(r"^\* `([^`]*)`: of ([\d,]+) queries all but ([\d,]+) hold\.$", re.MULTILINE)


def typed(command: str) -> frozenset[str]:
    """The options of a command, but for the rules."""
    return frozenset(re.findall(r"--([\w-]+ \S+)", command)) - {"rules fixed"}


def test_the_page_tells_how_many_queries_of_an_unfinished_proof_hold() -> None:
    """Each column that is not proven yet is there by its options, with how many queries it has and how many lack."""
    rows = SITTING.findall((DOCS / "explanation" / "proofs.md").read_text(encoding="utf-8"))
    told = {typed(options): numbers for options, *numbers in rows}
    waiting = [run for run in RUNS if run.lacking()]
    assert told == {typed(run.command()): [f"{run.every:,}", f"{run.lacking():,}"] for run in waiting}
    assert waiting
    for run in waiting:
        assert f"nothing is proven yet: of {run.every:,} queries all but {run.lacking():,} hold" in [*statement(run)]
        assert "proven" not in run.verdicts.values()


ONE_EACH = dict.fromkeys(("unclean-stops", "fences", "shrinks", "records", "epochs"), 1)
PROMISED: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("elections for any number of brokers and of steps", "elections", {"brokers": "any"}),
    ("replication too, with one each of death, fence, shrink, record and leader epoch", "replication",
     {"brokers": "any", **ONE_EACH}),
    ("and with two or three brokers for any number of these", "replication",
     {"brokers": 2, **dict.fromkeys(ONE_EACH, "any")}),
    ("two or three brokers for any number of these", "replication", {"brokers": 3, **dict.fromkeys(ONE_EACH, "any")}),
    ("directories with four brokers, if one disk fails, one process dies and nothing moves", "directories",
     {"brokers": 4, "failures": 1, "crashes": 1, "moves": 0}),
)  # fmt: skip
"""What the README says is proven, the system, and the bounds of a column that proves it."""


def test_the_readme_says_no_more_than_columns_prove() -> None:
    """Of each part of its sentence there is a column with these bounds in which each claim is proven."""
    text = " ".join(re.sub(r"\]\([^)]*\)|\[", "", (ROOT / "README.md").read_text(encoding="utf-8")).split())
    for said, system, bounds in PROMISED:
        assert said in text
        columns = [run for run in RUNS if run.system == system and {*run.verdicts.values()} == {"proven"}]
        assert any(bounds.items() <= run.bounds.items() for run in columns), said


def test_a_verdict_on_what_has_changed_is_dropped() -> None:
    """Other rules drop all verdicts of a column, another claim its own; one that is gone is left out."""
    run = next(run for run in RUNS if (run.system, run.scope) == ("zk-jbod", "tiny"))
    first, *others = [claim for claim, verdict in run.verdicts.items() if verdict == "proven"]
    assert evolve(run, verdicts={**run.verdicts, "gone": "proven"}).as_of_now() == run
    changed = evolve(run, claims={**run.claims, first: "of yesterday"}).as_of_now()
    assert changed.verdicts == {**run.verdicts, first: NOT_ASKED}
    assert others
    assert set(evolve(run, behaviour="of yesterday").as_of_now().verdicts.values()) == {NOT_ASKED}
    assert set(evolve(run, rules="kip").as_of_now().verdicts.values()) == {NOT_ASKED}


def test_what_is_no_proof_is_no_column() -> None:
    """The document of another command, and that of a proof about a system of one's own, are refused."""
    with pytest.raises(Refusal, match="no document of `kraftcheck prove --json`"):
        run_of({"command": "explore"})
    with pytest.raises(Refusal, match="of a system of one's own"):
        run_of({"command": "prove", "claims": [], "complete": True, "system": "mine"})


IDS = ProofRun("broker-ids", "tiny", "fixed", "z3", {}, {}, (), 0)  # a column of which nothing is known yet


def in_sittings(run: ProofRun) -> ProofRun:
    """A column after a sitting that asks all that is not known to hold."""
    return [*run.sat(60, Effort(timeout=60))][-1].as_of_now()


def test_a_run_that_was_cut_proves_nothing() -> None:
    """Of what a run was cut at the column says nothing: sittings ask it."""
    words = ("prove", "broker-ids", "--scope", "sessions", "--rules", "fixed", "--quiet", "--workers", "1", "--json")
    cut = kraftcheck(*words, "-", "--search", "0").document() | {"complete": False}
    assert set(run_of(cut).as_of_now().verdicts.values()) == {NOT_ASKED}


def test_a_proof_in_sittings_is_one_once_all_queries_hold() -> None:
    """A column is proven when every query is known to hold; if one is not, no claim is, and a sitting asks that."""
    whole = in_sittings(IDS)
    assert set(whole.verdicts.values()) == {"proven"}
    assert whole.as_of_now() == whole
    theory = IDS.request().build()
    assert sum(len(digests.split()) for digests in whole.held.values()) == len(asked(theory))
    rest, lost = whole.held["decide"].split()[1:], whole.held["decide"].split()[0]
    less = evolve(whole, held={**whole.held, "decide": " ".join(rest)}).as_of_now()
    assert all(verdict.startswith("queries that hold: ") for verdict in less.verdicts.values())
    (batch,) = less.sat(60, Effort(timeout=60))
    assert batch.as_of_now().verdicts == whole.verdicts
    assert lost in batch.held["decide"]


def test_another_solver_is_asked_some_queries_of_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says of how many it agrees; under other rules those of the changed action count no more; no is an error."""
    run = IDS.confirmed("cvc5", 2, Effort(timeout=60))
    ((name, digests),) = run.agreed.items()
    queries = asked(IDS.request().build())
    assert {*digests.split()} <= {*queries.values()}
    said = f"{name} was asked {len(digests.split()):,} of its {len(queries):,} queries, drawn at random, and agrees"
    assert said in [*statement(run)]
    assert name.startswith("cvc5 ")
    assert run.lacking() == 0
    assert run.as_of_now().agreed == run.agreed
    whole = evolve(run, agreed={name: " ".join(queries.values())})
    other = evolve(whole, rules="fixed+configured-id-wins").as_of_now()
    assert 0 < len(other.agreed[name].split()) < len(queries)
    monkeypatch.setattr(table, "second_answer", lambda *_: "sat")
    with pytest.raises(ValueError, match=r"cvc5 .* says that .* does not hold, "):
        IDS.confirmed("cvc5", 60, Effort(timeout=60))


def test_other_rules_leave_the_queries_that_they_do_not_touch() -> None:
    """Under other rules of one action the queries of others still hold; what that action does is to be asked again."""
    whole = in_sittings(IDS)
    other = evolve(whole, rules="fixed+configured-id-wins").as_of_now()
    assert {**other.held, "decide": ""} == {**whole.held, "decide": ""}
    assert len(other.held["decide"]) < len(whole.held["decide"])
    assert "proven" not in other.verdicts.values()
    assert set(in_sittings(other).verdicts.values()) == {"proven"}


def test_a_query_is_told_by_all_that_it_asks() -> None:
    """No two queries of a proof have one digest, and another bound of a field changes them all."""
    few, more = (asked(evolve(IDS, bounds={"machines": number}).request().build()) for number in (2, 3))
    assert len({*few.values()}) == len(few)
    assert not {*few.values()} & {*more.values()}


def test_an_answer_about_domains_holds_where_no_other_field_is_left() -> None:
    """A step that may leave a field's domain, which the column does not say, leaves the column open."""
    queries = asked(IDS.request().build())
    domains = next(one for one in queries if one.claim in DOMAINS)
    for fields, faults, held in (((), (), True), (("ids",), (), False), ((), ("ids",), False)):
        answer = ObligationAnswer(domains, PROVEN, 0.0, fields=fields, faults=faults)
        run = IDS.told([answer], queries, 0.0)
        assert (run.held == {domains.action: queries[domains]}) == held
        assert (run.open == {domains.action: domains.claim}) == (not held)
    assert evolve(IDS, left_out=("ids",)).told([evolve(answer, fields=("ids",), faults=())], queries, 0.0).held
    open_ = IDS.told([evolve(answer, result=UNDECIDED, faults=())], queries, 0.0)
    assert not open_.held
    assert any(f"asked, and no answer: `{domains.action}`: " in text for text in statement(open_))


def test_the_table_is_of_properties_that_there_are() -> None:
    """Each row is a property of its system, judged in each column where the system has it; any number comes last."""
    assert merged(RUNS, []) == RUNS
    assert json.loads(DATA.read_text()) == json.loads(json.dumps(document(RUNS)))
    assert {run.system for run in RUNS} >= {"elections", "replication", "directories"}
    for run in RUNS:
        of = run.request().subject()
        offered = {claim.id for claim in of.system.properties(of.setting) if claim.kind in ("always", "step")}
        assert set(run.verdicts) == offered, run.command()
        assert {name: value for name, value in run.bounds.items() if value != "any"} == {
            name: value for name, value in evolve(of.setting, told=True).values().items() if value is not None
        }


WITH_TWO_ONLY = ("directories",)  # systems that the check does not explore with three brokers


def test_no_search_is_expected_to_refute_what_a_column_proves() -> None:
    """The check, which compares each search with what is expected, is red where a number refutes what any number has.

    What is proven for any number of brokers is explored with 2 and with 3, or with 2 only.
    """
    for run in RUNS:
        rows = {
            row: subject(*row[:2], {}, row[2]).setting for row in EVERY if (row[0], row[2]) == (run.system, run.rules)
        }
        proven = [claim for claim, verdict in run.verdicts.items() if verdict == "proven"]
        for claim in proven:
            refuting = [row for row in rows if expected(row, claim).startswith("refuted")]
            assert refuting == [], claim
        if run.bounds.get("brokers") == "any":
            wanted = {2} if run.system in WITH_TWO_ONLY else {2, 3}
            assert wanted <= {setting["brokers"] for setting in rows.values()}, run.command()


def test_columns_of_equal_numbers_are_told_apart() -> None:
    """Columns of a system never have the same head: the scope, and then the other bounds, tell them apart."""
    for system in {run.system for run in RUNS}:
        columns = [run for run in RUNS if run.system == system]
        assert len({*column_heads(columns)}) == len(columns)
    tiny, pair = (run for run in RUNS if run.system == "zk-controller" and run.scope in ("tiny", "pair"))
    more = evolve(tiny, bounds={**tiny.bounds, "stops": 3})
    assert column_heads([tiny]) == ["brokers 2, reassignments 0"]
    assert column_heads([tiny, pair, more]) == [
        "brokers 2, reassignments 0, scope tiny",
        "brokers 2, reassignments 0, scope pair",
        "brokers 2, reassignments 0, scope tiny, stops 3",
    ]
    assert merged([tiny], [more]) == [tiny, more]


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", [run for run in RUNS if "proven" in run.verdicts.values()],
    ids=lambda run: f"{run.system} {run.scope} {run.head()}",
)  # fmt: skip
def test_a_column_is_proven_again(run: ProofRun) -> None:
    """What a column says is proven, and what it says is not is not."""
    proof = run_proof(run.request(), Effort(timeout=600, solver=run.engine), (), 1, quiet=True)
    asked = {claim: verdict for claim, verdict in run.verdicts.items() if verdict != NOT_ASKED}
    assert {claim: "proven" if proof.proven(claim) else "not" for claim in asked} == {
        claim: "proven" if verdict == "proven" else "not" for claim, verdict in asked.items()
    }
    assert tuple(proof.bounded()) == run.left_out


def test_the_data_is_written_by_a_command(tmp_path: Path) -> None:
    """`python -m tests.documentation.proofs` writes the data, with what was there before."""
    place, few = tmp_path / "proofs.json", [RUNS[0], RUNS[-1]]
    place.write_text(json.dumps(document(few)))
    ran = subprocess.run([sys.executable, "-m", "tests.documentation.proofs", str(place)], check=False)
    assert ran.returncode == 0
    assert read_runs(place) == few
    assert all(run.system in SYSTEMS for run in RUNS)


ANY_COLUMNS = [(run, name) for run in RUNS for name, value in run.bounds.items() if value == "any"]
"""Each bound that a column of the table calls any."""

WITHOUT_BUDGETS = freed_by(ProofRequest("replication", "tiny", {"unbounded": 1}, "fixed"))


def test_few_failures_keep_leader_epochs_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one stop, fence and shrink no run goes beyond the epochs of searches; without these budgets one does."""
    monkeypatch.setattr(table, "WALKS", 20)
    few = ProofRequest("replication", "tiny", {}, "fixed")
    assert Freed(few, few.subject().setting, ("epochs", "lag", "records")).unreached(("epochs",)) == ["epochs"]
    assert WITHOUT_BUDGETS.unreached(("epochs",)) == []


def test_each_bound_that_proofs_free_has_a_way_to_see_it_passed() -> None:
    """Each bound that provers may take as any number has its goal in systems with columns, and no other has one."""
    for system in (SYSTEMS[name] for name in dict.fromkeys(run.system for run, _ in ANY_COLUMNS)):
        bounds = {bound.name: bound for bound in system.bounds}
        free = {name for name, bound in bounds.items() if bound.takes_any or bound.freed_by} - {"initial-isr"}
        assert set(PASSING.get(system.name, {})) == free, system.name


def test_without_a_goal_nothing_is_reached() -> None:
    """A bound that nothing is said of counts as not reached."""
    fenced = ProofRequest("elections", "tiny", {}, "fixed")
    assert Freed(fenced, fenced.subject().setting, ("directories",)).unreached() == ["directories"]


def test_a_run_that_is_not_of_any_number_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run enters the table only where the bounds that it calls any are passed, and nothing is written else."""
    ran = kraftcheck("prove", "elections", "--scope", "tiny", "--rules", "fixed", "--brokers", "any", "--property",
                     "replicas-distinct", "--quiet", "--workers", "1", "--json", tmp_path / "run.json")  # fmt: skip
    assert ran.code == 0
    words = [str(tmp_path / "table.json"), str(tmp_path / "run.json")]
    with monkeypatch.context() as patch:
        patch.setattr(table, "WALKS", 0)
        with pytest.raises(Refusal, match="brokers, replication any: no run goes beyond what searches take"):
            main(words)
    assert not (tmp_path / "table.json").exists()
    main(words)
    assert json.loads((tmp_path / "table.json").read_text())[0]["bounds"]["brokers"] == "any"


@pytest.mark.parametrize(
    "of", one_in(8, [of for of in ANY_COLUMNS if of[1] in of[0].request().subject().setting.freed]),
    ids=lambda of: f"{of[0].system} {of[0].head()} {of[1]}",
)  # fmt: skip
def test_what_a_column_calls_any_counts_nowhere(of: tuple[ProofRun, str]) -> None:
    """With the least and the largest number of a bound that is freed the system of a column is the same."""
    run, name = of
    chosen = run.request().subject()
    (bound,) = (one for one in chosen.system.bounds if one.name == name)
    given = (evolve(chosen.setting, bounds={**chosen.setting.bounds, name: n}) for n in (bound.lo, bound.hi))
    assert len({Meaning.of(theory(chosen.system, setting).program).whole for setting in given}) == 1


@pytest.mark.parametrize("of", one_in(8, ANY_COLUMNS), ids=lambda of: f"{of[0].system} {of[0].head()} {of[1]}")
def test_what_a_column_calls_any_has_no_largest_number(of: tuple[ProofRun, str]) -> None:
    """Each bound that a column calls any is gone beyond by a run in the column's scope, else the column is red."""
    run, name = of
    assert freed_by(run.request()).unreached((name,)) == []
