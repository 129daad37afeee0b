"""The local page of `kraftcheck serve`, in a browser: steps, reasons, colours, keys, addresses, rule sets, graph."""

import re
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from kraftcheck.ci.explore.serve.finished import opened_run
from tests.browser.accessibility import assert_accessible
from tests.browser.watching import Watch
from tests.ci.explore.serve.asking import Server, of_system, serving
from tests.ci.explore.serve.toys import NAME
from tests.shared.commands import kraftcheck


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of the lift, with other rules beside."""
    with serving(of_system(NAME), "base+overshoots") as answering:
        yield answering


@pytest.fixture
def lift(server: Server, page: Page) -> Page:
    """The page of the lift, at its first state."""
    page.goto(server.url)
    expect(page.get_by_role("heading", name=re.compile("What can happen"))).to_be_visible()
    return page


def take(page: Page, step: str) -> None:
    """Take a step by its button, and wait for it."""
    expect(page.locator(".path [aria-current]")).to_be_visible()
    number = page.locator(".path li").count()
    page.locator("button.take", has_text=step).click()
    expect(page.locator(".path [aria-current]")).to_contain_text(f"{number} {step}")


def current(page: Page) -> Locator:
    """The button of the step in view."""
    return page.locator(".path [aria-current]")


def value(page: Page, field: str) -> Locator:
    """The cells of a field in the table of the state."""
    return page.locator(".state tbody tr", has=page.get_by_role("rowheader", name=field, exact=True)).locator("td")


def test_a_step_is_taken_and_shown(lift: Page) -> None:
    """A click takes a step: the path, the drawing, the state with what changed, and what can happen then."""
    expect(lift.locator("header code")).to_have_text(f"{NAME}, scope default, rules base")
    take(lift, "rise(by=1)")
    expect(value(lift, "floor").nth(0)).to_have_text("1")
    expect(value(lift, "floor").nth(1)).to_have_text("0")
    expect(lift.locator(".state tr.changed")).to_have_count(1)
    expect(lift.locator(".scroll svg .step")).to_have_count(2)
    expect(lift.locator("button.take")).to_have_text(["rise(by=1)", "rise(by=3)", "sink()", "turn()"])


def test_what_is_disabled_says_why(lift: Page) -> None:
    """Below an action are the instances that cannot be taken, with the conjuncts that are false."""
    take(lift, "turn()")
    lift.get_by_text("2 actions cannot happen here").click()
    rise = lift.locator(".actions li", has=lift.get_by_role("heading", name="rise"))
    rise.locator("summary").click()
    expect(rise.locator("summary")).to_have_text("2 disabled")
    expect(rise.locator("th")).to_contain_text("rise(by=1)rise(by=3)")
    expect(rise.locator("td")).to_have_text("false: the door is shut")
    sink = lift.locator(".actions li", has=lift.get_by_role("heading", name="sink"))
    expect(sink.locator("td div")).to_have_text(["false: the door is shut", "false: it is above the ground"])


def test_what_fails_is_red(lift: Page) -> None:
    """A step at which a property fails is marked in the path and in the drawing; the property has its conjunct."""
    take(lift, "rise(by=3)")
    expect(current(lift)).to_contain_text("✗ 1")
    for scheme, red in RED.items():
        lift.emulate_media(color_scheme=scheme)
        expect(current(lift).locator(".fails")).to_have_css("color", red)
    expect(lift.locator(".scroll svg text.why")).to_have_text("fails: slow")
    failing = lift.locator(".properties details.fails")
    expect(failing.locator("summary")).to_have_text("1 property fails")
    expect(failing.locator("dd")).to_contain_text("false: one floor up")
    lift.locator(".path button").first.click()
    expect(lift.locator(".properties details.fails")).to_have_count(0)


RED: dict[Literal["light", "dark"], str] = {"light": "rgb(179, 29, 40)", "dark": "rgb(255, 138, 143)"}
"""The colour of what fails."""


def test_keys_walk_along_the_path(lift: Page) -> None:
    """Arrows, Home and End move, a digit takes an action, `u` undoes, `/` filters, and typing there moves nothing."""
    take(lift, "rise(by=1)")
    for key, step in (("1", "2 rise(by=1)"), ("ArrowLeft", "1 rise"), ("Home", "0 initial"), ("ArrowRight", "1 rise"),
                      ("End", "2 rise"), ("u", "1 rise")):  # fmt: skip
        lift.keyboard.press(key)
        expect(current(lift)).to_contain_text(step)
    expect(lift.locator(".path li")).to_have_count(2)
    lift.keyboard.press("/")
    lift.keyboard.type("sink1u")
    expect(lift.locator("#filter-actions")).to_have_value("sink1u")
    expect(lift.locator("button.take")).to_have_count(0)
    lift.locator("#filter-actions").fill("SINK")
    expect(lift.locator("button.take")).to_have_text(["sink()"])
    expect(lift.locator(".path li")).to_have_count(2)


def test_the_back_button_undoes(lift: Page) -> None:
    """Each step, move and view is an entry of the browser's history, back and forward."""
    take(lift, "rise(by=1)")
    take(lift, "turn()")
    lift.get_by_role("button", name="charts", exact=True).click()
    expect(lift.get_by_role("heading", name="The whole space")).to_be_visible()
    lift.go_back()
    expect(current(lift)).to_contain_text("2 turn()")
    lift.go_back()
    expect(current(lift)).to_contain_text("1 rise(by=1)")
    expect(lift.locator(".path li")).to_have_count(2)
    lift.go_forward()
    expect(current(lift)).to_contain_text("2 turn()")


def test_an_address_can_be_shared(lift: Page, page: Page) -> None:
    """The part after # leads to the same state in another server of the same system, by numbers alone."""
    take(lift, "rise(by=1)")
    take(lift, "rise(by=3)")
    lift.keyboard.press("ArrowLeft")
    expect(current(lift)).to_contain_text("1 rise(by=1)")
    shared = urlsplit(lift.url).fragment
    assert "steps=0.0_0.1&at=1" in shared
    assert "rise" not in shared
    with serving(of_system(NAME)) as other:
        page.goto(f"{other.url}#{shared}")
        expect(current(page)).to_contain_text("1 rise(by=1)")
        expect(page.locator(".path li")).to_have_count(3)
        expect(value(page, "floor").nth(0)).to_have_text("1")


UNFIT = {
    "of=elections,tiny,fixed&steps=0.0": f"this address is of elections,tiny,fixed; the page shows {NAME}",
    "steps=2_0.0": "step 2: rise(by=1) is not enabled: false: the door is shut",
    "steps=7": "step 1: there is no action 7; the system has actions 0..2",
    "steps=x": "the address has no steps that can be read: x",
    "view=hexagon": "the address has no view hexagon; there are steps, counterexamples, graph, charts, search",
    "start=9": "there is no initial state 9; numbers are 0..1",
}
"""Addresses that do not fit the lift, and why."""


def test_an_address_that_does_not_fit_says_so(lift: Page, watch: Watch) -> None:
    """One line says why, and the page stays where it was."""
    take(lift, "rise(by=1)")
    for shared, error in UNFIT.items():
        lift.evaluate("shared => { location.hash = shared }", shared)
        expect(lift.get_by_role("alert")).to_contain_text(error)
        expect(current(lift)).to_contain_text("1 rise(by=1)")
    lift.go_back()
    watch.faults[:] = [fault for fault in watch.faults if "422" not in fault]  # the browser notes the refusals


def test_two_pages_do_not_disturb_each_other(lift: Page, server: Server) -> None:
    """A second page of the same server has a path of its own."""
    other = lift.context.new_page()
    other.goto(server.url)
    take(other, "turn()")
    take(lift, "rise(by=1)")
    take(other, "turn()")
    take(lift, "rise(by=1)")
    expect(other.locator(".path li")).to_have_text([re.compile("initial"), re.compile("turn"), re.compile("turn")])
    expect(lift.locator(".path li")).to_have_text([re.compile("initial"), re.compile("rise"), re.compile("rise")])


def test_other_rules_stand_beside(lift: Page) -> None:
    """The first step that goes otherwise is marked in path and drawing, with the other values; none can be chosen."""
    take(lift, "turn()")
    expect(lift.get_by_text("the same under base+overshoots")).to_be_visible()
    take(lift, "turn()")
    take(lift, "rise(by=1)")
    expect(lift.get_by_text("otherwise under base+overshoots since step 3")).to_be_visible()
    expect(lift.locator(".path .divergence")).to_have_text("3 rise(by=1)")
    expect(lift.locator(".scroll svg .other")).to_have_count(1)
    expect(value(lift, "floor").nth(2)).to_have_text("2")
    lift.get_by_label("beside").fill("")
    lift.get_by_label("beside").press("Tab")
    expect(lift.locator(".path .divergence")).to_have_count(0)
    expect(lift.get_by_text("otherwise under")).to_have_count(0)


def test_the_graph_is_drawn_joined_and_walked(lift: Page) -> None:
    """Nodes in colours by what fails; joined by a field they are fewer; a node leads to its state."""
    lift.get_by_role("button", name="graph", exact=True).click()
    node = lift.locator(".graph .scroll .node")
    expect(node).to_have_count(10)
    expect(lift.locator(".graph .scroll .node.broken")).to_have_count(2)
    expect(lift.locator(".legend li")).to_have_text(
        [
            re.compile(one)
            for one in ("in view", "every property holds", "one fails", "a step from there", "more states")
        ]
    )
    lift.get_by_text("join states that agree in").click()
    lift.get_by_label("floor", exact=True).check()
    lift.get_by_role("button", name="draw").click()
    expect(node).to_have_count(5)
    expect(node.locator("text")).to_have_text(["0 ×2", "1 ×2", "3 ×2", "2 ×2", "4 ×2"])
    lift.locator(".graph .scroll .node.broken circle").click()
    expect(lift.locator(".selection")).to_contain_text("floor 4; 2 states; 2 steps away; fails: below-the-roof")
    expect(lift.locator(".selection p", has_text="by rise")).to_have_text("by rise(by=1), rise(by=3)")
    expect(lift.locator(".selection tr.changed")).to_have_text(re.compile("floor.*0→.*4"))
    lift.get_by_role("button", name="go there").click()
    expect(lift.locator(".path li")).to_have_count(3)
    expect(value(lift, "floor").nth(0)).to_have_text("4")


def test_charts_come_from_an_exploration(lift: Page) -> None:
    """Levels, actions, coverage and verdicts of the whole space; a refuted property leads to its counterexample."""
    lift.get_by_role("button", name="charts", exact=True).click()
    lift.get_by_role("button", name="explore").click()
    expect(lift.get_by_text("10 distinct states, 22 generated, depth 2")).to_be_visible(timeout=60_000)
    bars = lift.locator("section", has=lift.get_by_role("heading", name="States by level")).last.locator("tr")
    expect(bars).to_have_text([re.compile("^0\\s*2"), re.compile("^1\\s*5"), re.compile("^2\\s*3")])
    expect(lift.get_by_text("3 of 3 conjuncts were both true and false")).to_be_visible()
    row = lift.locator("tr", has=lift.get_by_role("rowheader", name="slow"))
    expect(row).to_contain_text("refuted")
    row.get_by_role("button", name="open").click()
    expect(current(lift)).to_contain_text("1 rise(by=3)")


def test_a_second_key_goes_on_from_the_first(lift: Page) -> None:
    """Keys that are pressed before the server has answered move as far as the same keys pressed slowly."""
    take(lift, "rise(by=1)")
    take(lift, "rise(by=1)")
    take(lift, "turn()")
    late: list[Route] = []
    lift.route("**/api/path", lambda route: late.append(route))
    for key in ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowLeft"):
        lift.keyboard.press(key)
    lift.wait_for_timeout(100)
    expect(current(lift)).to_contain_text("3 turn()")
    for route in late:
        route.continue_()
    expect(current(lift)).to_contain_text("1 rise(by=1)")


def test_a_state_is_found_by_an_expression(lift: Page, watch: Watch) -> None:
    """A way is found and taken; what cannot be, what ends with its budget, and what is no expression, are said."""
    lift.get_by_role("button", name="search", exact=True).click()
    outcome = lift.locator(".outcome")
    for expression, states, expected in (
        ("floor > 4", 1000, "floor > 4 from step 0 initial state: not reachable, no state that can follow"),
        ("floor == 3 and open", 1, "floor == 3 and open from step 0 initial state: unknown, state limit 1"),
        ("floor == 3 and open", 1000, "floor == 3 and open from step 0 initial state: found, 2 steps away, shortest"),
    ):
        lift.get_by_label("expression").fill(expression)
        lift.get_by_label("at most").fill(str(states))
        lift.get_by_role("button", name="search", exact=True).last.click()
        expect(outcome).to_contain_text(expected, timeout=60_000)
    outcome.get_by_role("button", name="go there").click()
    expect(lift.locator(".path li")).to_have_count(3)
    expect(value(lift, "floor").nth(0)).to_have_text("3")
    lift.go_back()
    lift.get_by_label("expression").fill("flor == 3")
    lift.get_by_label("expression").press("Enter")
    expect(lift.get_by_role("alert")).to_contain_text("floor")
    watch.faults[:] = [fault for fault in watch.faults if "422" not in fault]  # the browser notes the refusal


def test_a_finished_run_is_shown(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its counterexamples are listed, opened and left at any step; its charts are there without another search."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert kraftcheck("explore", NAME, "--quiet", "--out", out).code == 12
    with serving(opened_run(out, NAME)) as server:
        page.goto(server.url)
        expect(page.locator(".examples li")).to_have_text([
            re.compile("below-the-roof 1 step, shortest ?The lift does not"),
            re.compile("slow 1 step, shortest ?It goes one"),
        ])  # fmt: skip
        page.get_by_role("button", name="below-the-roof").click()
        expect(current(page)).to_contain_text("1 rise(by=3)")
        page.keyboard.press("Home")  # from any step of a counterexample another way can be taken
        expect(current(page)).to_contain_text("0 initial")
        page.locator("button.take", has_text="turn()").click()
        expect(page.locator(".path li")).to_have_text([re.compile("initial"), re.compile("1 turn")])
        page.get_by_role("button", name="charts", exact=True).click()
        expect(page.get_by_text("10 distinct states")).to_be_visible()


def test_every_view_is_accessible(lift: Page) -> None:
    """No view has a grave fault of access, light or dark, with a path that fails a property, and all details open."""
    take(lift, "rise(by=3)")
    for view in ("steps", "graph", "charts", "search"):
        lift.get_by_role("button", name=view, exact=True).click()
        expect(lift.locator("nav [aria-current]")).to_have_text(view)
        if view == "graph":
            lift.locator(".scroll .node").first.wait_for()
        lift.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert_accessible(lift)


def test_a_narrow_page_needs_no_scrolling_sideways(lift: Page) -> None:
    """At 400 pixels all of the page but the drawing is in view."""
    lift.set_viewport_size({"width": 400, "height": 800})
    take(lift, "rise(by=1)")
    assert lift.evaluate("document.documentElement.scrollWidth") <= 400


def test_nothing_comes_from_elsewhere(lift: Page, watch: Watch, server: Server) -> None:
    """Every request of the page goes to its own server, below the token."""
    take(lift, "rise(by=1)")
    assert len(watch.requests) > 10
    assert [url for url in watch.requests if not url.startswith(server.url)] == []


def test_a_server_that_has_ended_is_said(page: Page, watch: Watch) -> None:
    """A step that nobody answers is a line, and the page stays."""
    with serving(of_system(NAME)) as server:
        page.goto(server.url)
        take(page, "turn()")
    page.locator("button.take", has_text="turn()").click()
    expect(page.get_by_role("alert")).to_have_text("the server does not answer; was it ended?")
    expect(current(page)).to_contain_text("1 turn()")
    watch.faults.clear()
