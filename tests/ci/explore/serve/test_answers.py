"""The answers of the server about a system: paths, disabled actions, other rules, neighbourhoods, explorations."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.explore.serve.finished import Opened, by_cause, opened_run, opened_trace
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.properties.register.findings import BY_ID, SEVERITIES
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.stepping.session import Session
from tests.ci.explore.serve.asking import Server, of_system, serving
from tests.ci.explore.serve.toys import NAME
from tests.shared.commands import kraftcheck


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of the lift."""
    with serving(of_system(NAME), "base+overshoots") as answering:
        yield answering


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A finished run of the lift, with two counterexamples."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert kraftcheck("explore", NAME, "--quiet", "--out", out).code == 12
    return opened_run(out, NAME)


def test_the_system_is_described(server: Server) -> None:
    """Title, key, initial states by what differs, fields, actions with their conjuncts, properties, rule sets."""
    system = server.ask("system")
    assert (system["key"], system["rules"], system["beside"]) == (f"{NAME},default,base", "base", "base+overshoots")
    assert system["starts"] == ["floor 0", "floor 1"]
    assert system["fields"] == ["floor", "open"]
    assert [(one["name"], one["conjuncts"]) for one in system["actions"]] == [
        ("rise", ["the door is shut"]), ("sink", ["the door is shut", "it is above the ground"]), ("turn", []),
    ]  # fmt: skip
    assert [one["id"] for one in system["properties"]] == ["below-the-roof", "slow", "opens"]


def test_a_step_shows_what_can_happen_and_why_the_rest_cannot(server: Server) -> None:
    """Enabled instances come with the numbers that take them; disabled ones with the conjuncts that fail."""
    path = server.ask("path", start=0)
    rise, sink, turn = path["actions"]
    assert rise["enabled"] == [{"step": [0, 0], "text": "rise(by=1)"}, {"step": [0, 1], "text": "rise(by=3)"}]
    assert sink["enabled"] == []
    assert sink["disabled"] == [{"failing": ["it is above the ground"], "instances": ["sink()"]}]
    assert (turn["enabled"], turn["disabled"]) == ([{"step": [2], "text": "turn()"}], [])
    assert server.ask("path", steps=[[2]])["actions"][0]["disabled"] == [
        {"failing": ["the door is shut"], "instances": ["rise(by=1)", "rise(by=3)"]}
    ]


def test_a_path_has_its_colours_and_differences(server: Server) -> None:
    """Each step says what fails and what is shown there; the state says what the step in view has changed."""
    path = server.ask("path", start=1, steps=[[0, 1], [2]], at=1)
    assert [(one["action"], one["broken"], one["shown"]) for one in path["columns"]] == [
        ("initial state", [], []),
        ("rise(by=3)", ["below-the-roof", "slow"], []),
        ("turn()", ["below-the-roof"], ["opens"]),
    ]
    assert path["state"] == [
        {"name": "floor", "value": "4", "before": "1", "other": None},
        {"name": "open", "value": "no", "before": None, "other": None},
    ]
    findings = {one["id"]: (one["finding"], one["failing"]) for one in path["properties"]}
    assert findings["slow"] == ("fails", ["one floor up"])
    assert findings["opens"][0] == "not shown"
    assert 'class="fails"' in path["svg"]
    assert "<style" not in path["svg"]


def test_paths_of_two_visitors_do_not_disturb_each_other(server: Server) -> None:
    """The server holds no present state: questions in any order have the answers of their own paths."""
    paths = [[], [[0, 0]], [[2]], [[0, 0], [1]], [[2], [2], [0, 1]]]
    first = [server.ask("path", steps=steps) for steps in paths]
    assert [server.ask("path", steps=steps) for steps in reversed(paths)] == first[::-1]


def test_memory_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for one session alone every answer is the same."""
    steps = [[0, 0], [2], [2], [1]]
    with serving(of_system(NAME)) as server:
        expected = server.ask("path", steps=steps)
    monkeypatch.setattr("kraftcheck.ci.explore.serve.documents.MOST_STEPS_KEPT", 1)
    with serving(of_system(NAME)) as server:
        assert [server.ask("path", steps=steps) for _ in range(2)] == [expected, expected]


def test_other_rules_take_the_same_actions(server: Server) -> None:
    """The first step that goes otherwise is named, values that differ stand beside, and where it cannot be taken."""
    path = server.ask("path", steps=[[2], [2], [0, 0]], beside="base+overshoots")
    assert path["other"]["divergence"] == 3
    assert path["other"]["text"].startswith("otherwise under base+overshoots since step 3")
    assert [one["other"] for one in path["state"]] == ["2", None]
    same = server.ask("path", steps=[[2]], beside="base+overshoots")["other"]
    assert same == {"rules": "base+overshoots", "divergence": None, "text": "the same under base+overshoots"}
    stopped = server.ask("path", start=1, steps=[[0, 1]], beside="base+overshoots")["other"]
    assert stopped["divergence"] == 1
    assert stopped["text"].startswith("cannot be taken under base+overshoots after step 0: ")
    assert "floor = 5" in stopped["text"]


def test_a_neighbourhood_is_drawn_and_joined(server: Server) -> None:
    """All states with their faults, each with a way that leads there; joined by a field, and cut by a limit."""
    drawn = server.ask("graph")
    assert (drawn["states"], drawn["complete"], len(drawn["nodes"])) == (10, True, 10)
    for node in drawn["nodes"]:
        path = server.ask("path", steps=node["way"])
        assert len(node["way"]) == node["distance"]
        assert node["broken"] == [one for one in path["columns"][-1]["broken"] if one != "slow"]
    joined = server.ask("graph", fields=["open"])
    assert [node["values"] for node in joined["nodes"]] == [{"open": "no"}, {"open": "yes"}]
    assert [node["members"] for node in joined["nodes"]] == [5, 5]
    assert sorted(joined["edges"]) == [[0, 1, "turn"], [1, 0, "turn"]]
    cut = server.ask("graph", limit=3)
    assert (cut["states"], cut["complete"], [node["open"] for node in cut["nodes"]].count(True) > 0) == (3, False, True)


def test_the_space_is_explored_in_the_background(server: Server) -> None:
    """The report has levels, actions, coverage, verdicts, and the ways to the counterexamples, shortest."""
    job = server.finished(server.ask("explore", states=1000))
    assert (job["state"], job["result"]["complete"], job["result"]["states"]["distinct"]) == ("done", True, 10)
    roof, slow = job["result"]["counterexamples"]
    assert (roof["property"], slow["property"], slow["start"], slow["steps"]) == ("below-the-roof", "slow", 1, [[0, 1]])
    cut = server.finished(server.ask("explore", states=2))["result"]
    assert cut["complete"] is False
    assert "state limit 2" in cut["cut"]


def test_a_state_is_searched_for(server: Server) -> None:
    """The answer is a shortest way from the state in view, none where there is none, or unknown past the budget."""
    question = {"start": 0, "steps": [[0, 0]], "at": 1}
    found = searched(server, expression="floor == 3 and open", **question)
    path = server.ask("path", steps=found["steps"])
    assert (found["verdict"], found["detail"], len(found["steps"])) == ("found", "3 steps away, shortest", 4)
    assert found["steps"][0] == [0, 0]
    assert [one["value"] for one in path["state"]] == ["3", "yes"]
    here = searched(server, expression="floor == 1", **question)
    assert (here["verdict"], here["steps"]) == ("found", [[0, 0]])
    none = searched(server, expression="floor > 4", **question)
    assert none["verdict"] == "none"
    assert none["detail"].startswith("no state that can follow satisfies it: all 10 states of ")
    unknown = searched(server, expression="floor == 3 and open", states=2, **question)
    assert unknown["verdict"] == "unknown"
    assert "state limit 2" in unknown["detail"]


def searched(server: Server, **question: Any) -> Any:
    """The result of a search that is done."""
    job = server.finished(server.ask("search", **question))
    assert job["state"] == "done", job
    return job["result"]


def test_an_expression_that_does_not_fit_is_refused(server: Server) -> None:
    """One line names the place, and no search begins."""
    status, error = server.refused("search", expression="flor == 3")
    assert (status, error) == (422, "column 1: no field flor; did you mean floor?")


def test_a_search_is_cancelled_and_there_are_few_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is asked to end is cancelled, and leaves no result; a third one at once is refused with 429."""
    begun, ended = threading.Event(), threading.Event()

    def slow(*_: object, stop: threading.Event, **__: object) -> None:
        begun.set()
        assert stop.wait(60)
        ended.set()
        raise EngineDisagreement("cut short")

    monkeypatch.setattr("kraftcheck.ci.run.questions.explore", slow)
    jobs = [server.ask("explore"), server.ask("explore")]
    assert begun.wait(60)
    assert server.refused("explore") == (429, "2 searches are running; wait, or cancel one")
    for job in jobs:
        assert server.ask("job", number=job["number"], cancel=True)["state"] == "cancelled"
    assert ended.wait(60)
    assert server.finished(server.ask("job", number=jobs[0]["number"]))["result"] is None


def test_a_finished_run_is_opened(run: Opened) -> None:
    """Its counterexamples come with paths that break their property, and its report with the numbers of the run."""
    with serving(run) as server:
        system = server.ask("system")
        assert system["report"]["states"]["distinct"] == 10
        assert [one["property"] for one in system["counterexamples"]] == ["below-the-roof", "slow"]
        for one in system["counterexamples"]:
            path = server.ask("path", start=one["start"], steps=one["steps"])
            assert one["property"] in path["columns"][-1]["broken"]
            assert len(one["steps"]) == 1


def test_counterexamples_are_listed_by_what_they_cost() -> None:
    """Those of one cause are together, the shortest first; causes that cost most come first, unknown ones last."""
    chosen = subject("elections", "tiny", {}, "kafka-4.4.0")
    lengths = {"adding-removing-disjoint": 2, "no-such-property": 1, "leader-active": 3, "elr-within-replicas": 2}
    ways = [{"property": name, "steps": [[0, 0]] * number} for name, number in lengths.items()]
    listed = by_cause(ways, program(chosen), chosen)
    assert [one["property"] for one in listed] == [
        "elr-within-replicas", "leader-active", "adding-removing-disjoint", "no-such-property",
    ]  # fmt: skip
    assert [one["cause"]["costs"] for one in listed[::2]] == ["acknowledged records may be lost", SEVERITIES["stuck"]]
    assert listed[0]["cause"]["title"] == BY_ID["ghost-elr-member"].title
    assert (listed[0]["sentence"], listed[3]["cause"]["title"]) == ("every ELR member is a replica", "")


def test_a_trace_is_opened(run: Opened) -> None:
    """A file of a trace alone gives the system, and one counterexample."""
    opened = opened_trace(run.traces[1], NAME)
    with serving(opened) as server:
        (one,) = server.ask("system")["counterexamples"]
    assert (one["property"], opened.chosen.rules, opened.document) == ("slow", "base", None)


def test_a_lasso_says_where_it_goes_on(tmp_path: Path) -> None:
    """The counterexample of a liveness property has the state from which its end repeats."""
    name = NAME.replace("LIFT", "UNFAIR")
    assert kraftcheck("explore", name, "--quiet", "--out", tmp_path / "out").code == 13
    with serving(opened_run(tmp_path / "out", name)) as server:
        (one,) = server.ask("system")["counterexamples"]
        path = server.ask("path", start=one["start"], steps=one["steps"])
        again = server.ask("path", start=one["start"], steps=one["steps"], at=one["cycle"]["start"])
    assert [field["value"] for field in path["state"]] == [field["value"] for field in again["state"]]
    assert {status["finding"] for status in path["properties"]} == {"whole runs"}


def test_a_lasso_that_is_none_is_a_fault(tmp_path: Path) -> None:
    """A file whose cycle does not close is listed with what is wrong with it."""
    name = NAME.replace("LIFT", "UNFAIR")
    kraftcheck("explore", name, "--quiet", "--out", tmp_path / "out")
    (file,) = (tmp_path / "out").glob("*.itf.json")
    document = json.loads(file.read_text())
    document["loop"] = 9
    file.write_text(json.dumps(document))
    with serving(opened_run(tmp_path / "out", name)) as server:
        (one,) = server.ask("system")["counterexamples"]
    assert "there is no state 9 where a cycle could begin" in one["fault"]


def test_a_path_that_comes_back_says_where(run: Opened) -> None:
    """The drawing of a path has an arrow to the state that its end is again; that is no lasso, and no word of it."""
    with serving(run) as server:
        turn = next(one["step"] for action in server.ask("path")["actions"] for one in action["enabled"]
                    if one["text"] == "turn()")  # fmt: skip
        once, twice = (server.ask("path", steps=[turn] * number) for number in (1, 2))
    assert (once["again"], twice["again"]) == (None, 0)
    assert "perhaps for ever: steps 1 to 2 again" in twice["svg"]
    assert "for ever" not in once["svg"]


def test_a_trace_that_does_not_fit_says_so_in_its_line(run: Opened) -> None:
    """A trace whose states are not those of the rules is listed with what is wrong; the others are usable."""
    broken = run.traces[0].with_name("broken.itf.json")
    broken.write_text(run.traces[0].read_text().replace('"floor": {"#bigint": "4"}', '"floor": {"#bigint": "3"}'))
    try:
        with serving(opened_run(broken.parent, NAME)) as server:
            first, _, last = server.ask("system")["counterexamples"]
    finally:
        broken.unlink()
    assert "key states[1].floor: the file says" in last["fault"]
    assert "fault" not in first


def test_folders_that_are_no_run_are_refused(run: Opened) -> None:
    """An empty folder, one with traces of another setting, and a user's system that is not named, are refused."""
    place = run.traces[0].parent
    with pytest.raises(Refusal, match=r"holds neither a trace nor report\.json; give the folder of explore --out"):
        opened_run(place.parent, None)
    with pytest.raises(Refusal, match="whose module would be run; if you trust it, --system"):
        opened_run(place, None)
    report = place / "report.json"
    before = report.read_text()
    try:
        report.write_text(before.replace('"rules": "base"', '"rules": "base+overshoots"'))
        with pytest.raises(Refusal, match="serve one run at a time"):
            opened_run(place, NAME)
    finally:
        report.write_text(before)


def test_addresses_name_every_instance_once(server: Server) -> None:
    """Each action instance has numbers of its own, and they lead back to it."""
    traced = program(of_system(NAME).chosen)
    texts = {str(choice) for choice in Session.begin(traced).choices}
    actions = server.ask("path")["actions"]
    numbers = {tuple(one["step"]): one["text"] for action in actions for one in action["enabled"]}
    numbers |= {tuple(one["step"]): one["text"] for one in server.ask("path", start=1)["actions"][1]["enabled"]}
    assert set(numbers.values()) == texts
    assert len(numbers) == len(texts)
