"""The page of `trace --html` in a browser: what is seen, how one walks through it, and that it serves everyone."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from kraftcheck.ci.explore.trace import html
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.solvers.drawings.drawing import drawing
from tests.browser.accessibility import SCHEMES, SMALLEST, WIDTHS, assert_accessible
from tests.browser.watching import Watch
from tests.shared.commands import kraftcheck
from tests.shared.places import TESTS
from tests.solvers.drawings.test_drawings import ELECTIONS, STATES, lasso, walk

DRAWN = """() => {
    const middle = (part) => { const box = part.getBoundingClientRect(); return (box.top + box.bottom) / 2; };
    const names = [...document.querySelector(".names").querySelectorAll(".name")];
    const near = (y) => names.reduce((a, b) => Math.abs(middle(a) - y) < Math.abs(middle(b) - y) ? a : b).textContent;
    return [...document.querySelector(".scroll").querySelectorAll(".step")].map((step) => {
        const head = step.querySelector(".head"), dot = step.querySelector(".dot");
        if (!dot) return [];
        if (!head) return [near(middle(dot))];
        const box = head.getBoundingClientRect();
        return [near(middle(dot)), near(box.top < middle(dot) ? box.top : box.bottom)];
    });
}"""
"""Of each step the lanes in which its arrow begins and ends, by where they are on the screen."""


def write_pages(folder: Path) -> Path:
    """Write pages into a folder: of a counterexample of four steps, of a run of eighty, of another checker's trace."""
    assert kraftcheck("trace", TESTS / "traces" / "B5.itf.json", "--html", folder / "four.html").code == 0
    steps = tuple(("set_min_isr", {"minimum": 2 - number % 2}) for number in range(80))
    chosen = subject("elections", "default", {}, "fixed")
    (folder / "eighty.html").write_text(
        html(drawing(walk(ELECTIONS, "fixed", steps), program(chosen), chosen.title())), encoding="utf-8"
    )
    (folder / "counter.itf.json").write_text(json.dumps(STATES), encoding="utf-8")
    assert kraftcheck("trace", folder / "counter.itf.json", "--html", folder / "foreign.html").code == 0
    (folder / "lasso.html").write_text(html(lasso("weak", "bell")), encoding="utf-8")
    (folder / "halt.html").write_text(html(lasso("idle", "up")), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages."""
    return write_pages(tmp_path_factory.mktemp("pages"))


def lanes(page: Page) -> Locator:
    """The lanes of the run; those of the same actions under other rules follow."""
    return page.locator(".scroll").first


@pytest.fixture
def four(page: Page, folder: Path) -> Page:
    """The counterexample of four steps, opened."""
    page.goto((folder / "four.html").as_uri())
    return page


def test_arrows_end_in_their_lanes(four: Page) -> None:
    """An arrow begins and ends at the height of its lanes' names, and says what is sent."""
    assert four.evaluate(DRAWN) == [
        [], ["broker 0", "controller"], ["broker 1", "controller"], ["operator", "controller"],
        ["operator", "controller"],
    ]  # fmt: skip
    sent = ["heartbeat: wants to shut down"] * 2 + ["UpdateFeatures", "AlterPartitionReassignments"]
    assert lanes(four).locator(".step .sent").all_text_contents() == sent


def test_the_last_step_is_shown_first(four: Page) -> None:
    """A page opens at the step that fails, with its event, its changes, its state, and what other rules make of it."""
    assert four.locator("nav, [aria-live], section:has(#changes)").evaluate_all(
        "parts => parts.map((part) => part.innerText.replace(/\\s+/g, ' '))"
    ) == [
        "← back forward → step 4 of 4",
        "4 reassign(target=[1]) records 1, leader epoch bumps 1, partition epoch bumps 1, completed "
        "fails: last-known-is-one-replica otherwise under fixed since step 4; "
        "there: last-known-is-one-replica does not fail",
        "What changed replicas [0,1] → [1] directories 0:dir0 1:dir0 → 0:UNASSIGNED 1:dir0 last_known_elr [] → [-1]",
    ]
    expect(four.locator("#state tr", has_text="last_known_elr")).to_have_text("last_known_elr[-1]fixed: []")
    expect(four.locator("#state tr").first).to_have_class("changed")


def test_a_page_is_the_same_to_a_screen_reader(four: Page) -> None:
    """Headings, buttons and tables have their names and roles; the picture is one image with a summary."""
    four.keyboard.press("Home")
    expect(four.locator("main")).to_match_aria_snapshot("""
      - heading "last-known-is-one-replica" [level=1]
      - paragraph: the last-known list holds at most one broker, a replica
      - paragraph:
        - code: /^elections, scope tiny .* rules kafka-4.1.2$/
      - navigation "walk":
        - button "← back" [disabled]
        - button "forward →"
        - text: step 0 of 4
      - heading "0 initial state" [level=2]
      - paragraph: the same under fixed
      - region "steps":
        - img /^last-known-is-one-replica of elections, .* 4 steps$/
      - heading "What changed" [level=2]
      - table:
        - rowgroup:
          - row "nothing":
            - rowheader "nothing"
      - heading "State" [level=2]
      - table:
        - rowgroup:
          - row "replicas [0,1]":
            - rowheader "replicas"
            - cell "[0,1]"
            - cell
    """)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_fails_and_what_changed_have_their_colours(four: Page, scheme: Any) -> None:
    """The failing step is red, changed values and rows are orange, in the light and in the dark; the rest is ink."""
    four.emulate_media(color_scheme=scheme)
    colours = four.evaluate(
        """() => {
            const style = (part) => getComputedStyle(document.querySelector(part));
            const step = (number) => `.step[data-step='${number}']`;
            const parts = [`${step(4)} rect`, `${step(3)} rect`, ".why", `${step(1)} .changed`].map(style);
            const body = style("body");
            return [...parts.map((part) => part.fill), style("#changes td").color, body.color, body.backgroundColor];
        }"""
    )
    red = "rgb(209, 36, 47)"
    light = [red, "none", "rgb(179, 29, 40)", "rgb(143, 71, 0)", "rgb(143, 71, 0)", "rgb(31, 35, 40)"]
    dark = [red, "none", "rgb(255, 138, 143)", "rgb(255, 179, 102)", "rgb(255, 179, 102)", "rgb(230, 237, 243)"]
    papers = {"light": [*light, "rgb(255, 255, 255)"], "dark": [*dark, "rgb(13, 17, 23)"]}
    assert colours == papers[scheme]


def test_one_walks_by_keys_clicks_and_buttons(four: Page) -> None:
    """Arrows, Home and End, a click on a step, and the buttons lead to a step; at the ends one stays."""
    place = four.locator("#place")
    for key, number in (("ArrowLeft", 3), ("ArrowRight", 4), ("ArrowRight", 4), ("Home", 0), ("ArrowLeft", 0)):
        four.keyboard.press(key)
        expect(place).to_have_text(f"step {number} of 4")
    lanes(four).locator(".step[data-step='2']").click()
    expect(four.locator("#action")).to_have_text("2  controlled_shutdown(broker=1)")
    expect(lanes(four).locator(".step.current")).to_have_attribute("data-step", "2")
    four.get_by_role("button", name="forward").click()
    four.get_by_role("button", name="back").click()
    four.get_by_role("button", name="back").click()
    expect(place).to_have_text("step 1 of 4")
    four.keyboard.press("End")
    expect(four.get_by_role("button", name="forward")).to_be_disabled()


def test_the_address_is_that_of_the_step(four: Page) -> None:
    """The address names the step; the browser's back and forward buttons and an edited address lead to theirs."""
    place = four.locator("#place")
    assert four.url.endswith("four.html#4")
    four.keyboard.press("Home")
    lanes(four).locator(".step[data-step='3']").click()
    assert four.url.endswith("four.html#3")
    for move, number in ((four.go_back, 0), (four.go_back, 4), (four.go_forward, 0)):
        move()
        expect(place).to_have_text(f"step {number} of 4")
    four.evaluate("location.hash = '#2'")
    expect(place).to_have_text("step 2 of 4")
    four.goto(four.url.replace("#2", "#99"))
    expect(place).to_have_text("step 4 of 4")
    four.reload()
    expect(place).to_have_text("step 4 of 4")


def test_other_rules_are_beside(four: Page) -> None:
    """A line stands before the first step that goes otherwise, and says so; a step before it says that it does not."""
    line = four.locator("line.other").bounding_box()
    step = lanes(four).locator(".step[data-step='4'] rect").bounding_box()
    assert line is not None
    assert step is not None
    assert 0 < step["x"] - line["x"] < 5
    assert four.locator(".otherwise").text_content() == "fixed goes otherwise"
    beside = four.get_by_role("region", name="the same actions under fixed")
    assert beside.locator(".step").count() == 5
    assert beside.locator(".step.current").get_attribute("data-step") == "4"
    four.keyboard.press("ArrowLeft")
    expect(four.locator("#other")).to_have_text("the same under fixed")
    beside.locator(".step[data-step='1']").click()
    expect(lanes(four).locator(".step.current")).to_have_attribute("data-step", "1")


@pytest.mark.parametrize("name", ["four", "foreign", "lasso"])
def test_a_page_needs_no_network_and_serves_everyone(page: Page, watch: Watch, folder: Path, name: str) -> None:
    """A page asks for nothing but itself, and has no grave fault of access, light or dark."""
    address = (folder / f"{name}.html").as_uri()
    page.goto(address)
    for key in ("Home", "ArrowRight", "End"):
        page.keyboard.press(key)
    assert_accessible(page)
    assert {request.partition("#")[0] for request in watch.requests} == {address}


@pytest.mark.parametrize("width", WIDTHS)
def test_a_page_fits_a_phone_a_laptop_and_a_large_screen(page: Page, folder: Path, width: int) -> None:
    """No page is wider than the window or has letters below 12 pixels; the step and its lanes are in the first view."""
    page.set_viewport_size({"width": width, "height": 800})
    for name in ("four", "foreign", "lasso", "eighty"):
        page.goto((folder / f"{name}.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(SMALLEST) >= 12, name
        expect(page.locator("#action")).to_be_in_viewport(ratio=1)
        expect(page.locator(".lanes .step.current").first).to_be_in_viewport(ratio=0.5)
        assert page.evaluate("window.scrollY") == 0


@pytest.mark.parametrize("width", [1280, 360])
def test_eighty_steps_stay_usable(page: Page, folder: Path, width: int) -> None:
    """The step at hand and the lanes' names are in view wherever one is, the page itself never scrolls sideways."""
    page.set_viewport_size({"width": width, "height": 800})
    page.goto((folder / "eighty.html").as_uri())
    for key, number in (("End", 80), ("ArrowLeft", 79), ("Home", 0)):
        page.keyboard.press(key)
        expect(page.locator("#place")).to_have_text(f"step {number} of 80")
        expect(page.locator(".lanes .step.current")).to_be_in_viewport(ratio=0.5)
        expect(page.locator(".lanes .names .name").first).to_be_in_viewport(ratio=1)
        expect(page.locator(".names .label").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_held_key_leaves_one_entry(page: Page, folder: Path) -> None:
    """A key that is held down passes many steps; the browser's back button leads to where it began."""
    page.goto((folder / "eighty.html").as_uri() + "#0")
    for _ in range(30):
        page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    expect(page.locator("#place")).to_have_text("step 30 of 80")
    page.go_back()
    expect(page.locator("#place")).to_have_text("step 0 of 80")


def test_one_walks_round_the_cycle_of_a_lasso(page: Page, folder: Path) -> None:
    """After the last step the first of the cycle follows, by key and by button; the page says which one."""
    page.goto((folder / "lasso.html").as_uri())
    place = page.locator("#place")
    expect(place).to_have_text("step 4 of 4, then step 1 again")
    page.keyboard.press("ArrowRight")
    expect(place).to_have_text("step 1 of 4, in the cycle")
    page.keyboard.press("End")
    page.get_by_role("button", name="forward").click()
    expect(place).to_have_text("step 1 of 4, in the cycle")
    expect(page.locator("#cycle li")).to_have_text([
        "WF(up): taken in steps 1, 2, 3", "WF(down): taken in step 4", "WF(ring): not enabled in states 0, 1, 3",
    ])  # fmt: skip


def test_a_behaviour_that_stays_goes_no_further(page: Page, folder: Path) -> None:
    """At the end of a lasso that stays where it is nothing follows; before it the page says nothing of a cycle."""
    page.goto((folder / "halt.html").as_uri())
    place = page.locator("#place")
    expect(place).to_have_text("step 1 of 1, and for ever")
    expect(page.get_by_role("button", name="forward")).to_be_disabled()
    page.keyboard.press("ArrowLeft")
    expect(place).to_have_text("step 0 of 1")


def test_a_foreign_trace_has_variables_and_no_lanes(page: Page, folder: Path) -> None:
    """The variables of another checker's trace stand above, changed values in colour; there are no lanes or arrows."""
    page.goto((folder / "foreign.html").as_uri())
    assert page.locator(".names .label").all_text_contents() == ["x", "s"]
    assert page.locator(".lane, .arrow").count() == 0
    assert page.locator(".step").count() == 2
    assert page.locator(".step[data-step='1'] .changed").count() == page.locator("#changes tr").count() > 0
