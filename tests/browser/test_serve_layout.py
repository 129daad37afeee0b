"""What of the local page is in view, how large it is, and what is closed: a first screen, tabs, charts, a long path."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from kraftcheck.ci.explore.serve.finished import Opened, opened_run
from tests.browser.accessibility import SMALLEST, WIDTHS, assert_accessible
from tests.ci.explore.serve.asking import Server, of_system, serving
from tests.ci.explore.serve.toys import NAME
from tests.shared.commands import kraftcheck

VIEWS = ("steps", "counterexamples", "graph", "charts", "search")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A finished run of the lift."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert kraftcheck("explore", NAME, "--quiet", "--out", out).code == 12
    return opened_run(out, NAME)


@pytest.fixture(scope="module")
def server(run: Opened) -> Iterator[Server]:
    """A server of it."""
    with serving(run) as answering:
        yield answering


def view(page: Page, server: Server, name: str) -> None:
    """Open a view with what it shows."""
    page.goto(f"{server.url}#start=0&view={name}")
    expect(page.locator("nav [aria-current]")).to_have_text(name)
    expect(page.locator("main[aria-busy=false]")).to_be_attached()
    if name == "graph":
        page.locator(".scroll .node").first.wait_for()


def test_the_first_screen_of_kafka_is_one_view(page: Page) -> None:
    """Below 800 pixels of a laptop are what can happen, the state, and what breaks, beside one another."""
    with serving(of_system("elections", "tiny", "kafka-4.0"), "fixed") as kafka:
        page.goto(kafka.url)
        heads = [page.get_by_role("heading", name=re.compile(name)) for name in ("What can", "^State", "What breaks")]
        tops = [box["y"] for head in heads if (box := head.bounding_box())]
        assert len({round(top / 8) for top in tops}) == 1
        for part in (".actions ul", ".state table", ".properties"):
            box = page.locator(part).first.bounding_box()
            assert box is not None
            assert box["y"] + box["height"] <= 800, part


def test_the_drawing_is_shut_while_there_is_one_state(page: Page, server: Server) -> None:
    """It opens with the first step, in the third column, beside the steps that can be taken."""
    view(page, server, "steps")
    drawing = page.locator("details.drawing")
    assert drawing.get_attribute("open") is None
    page.locator("button.take", has_text="turn()").click()
    expect(drawing).to_have_attribute("open", "")
    actions, picture = page.locator(".actions").bounding_box(), drawing.bounding_box()
    assert actions is not None
    assert picture is not None
    assert picture["x"] > actions["x"] + actions["width"]


def test_a_tab_owns_its_page(page: Page, server: Server) -> None:
    """No view but that of steps shows the path and its drawing; those about a state name it."""
    for name in VIEWS[1:]:
        view(page, server, name)
        expect(page.locator("ol.path, .drawing")).to_have_count(0)
        expect(page.locator(".here")).to_have_count(1 if name in ("graph", "search") else 0)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_view_fits_a_phone_a_laptop_and_a_large_screen(page: Page, server: Server, width: int) -> None:
    """Nothing but pictures is wider than the window, no letter is smaller than 12 pixels, and one action is primary."""
    page.set_viewport_size({"width": width, "height": 900})
    for name in VIEWS:
        view(page, server, name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(SMALLEST) >= 12, name
        assert page.locator(".primary:visible").count() == (0 if name == "steps" else 1), name
    assert_accessible(page)


def test_charts_stand_in_two_columns_and_at_two_scales(page: Page, server: Server) -> None:
    """Verdicts, each with its sentence and a link, are left of the bars, which are linear until asked otherwise."""
    view(page, server, "charts")
    verdicts, levels = (
        page.get_by_role("heading", name=name).bounding_box() for name in ("Verdicts", "States by level")
    )
    assert verdicts is not None
    assert levels is not None
    assert levels["x"] > verdicts["x"] + 400
    expect(page.locator(".verdicts tr").first).to_contain_text("The lift does not stop at the top.")
    bars = page.locator(".bars").first.locator("rect")
    assert [bars.nth(n).get_attribute("width") for n in range(3)] == ["96", "240", "144"]
    page.get_by_label("logarithmic").check()
    expect(bars.nth(1)).to_have_attribute("width", "240")
    assert float(bars.nth(0).get_attribute("width") or 0) > 140
    page.locator(".verdicts tr").first.get_by_role("button", name="open").click()
    expect(page.locator(".examples strong").first).to_have_text("below-the-roof")


def test_a_question_that_is_not_answered_yet_is_said(page: Page, server: Server) -> None:
    """The page is busy, and says that it loads, until the server has answered."""
    view(page, server, "steps")
    page.route("**/api/path", lambda route: None)
    page.locator("button.take", has_text="turn()").click()
    expect(page.locator(".waiting")).to_have_text("loading")
    expect(page.locator("main")).to_have_attribute("aria-busy", "true")
    page.unroute_all(behavior="ignoreErrors")


def test_a_keyboard_alone_opens_and_takes(page: Page, server: Server) -> None:
    """Tab and Enter choose a view, open a counterexample, and take a step; what has the focus has an outline."""
    page.goto(server.url)
    expect(page.locator("nav [aria-current]")).to_have_text("counterexamples")
    page.locator("nav button").first.focus()
    for _ in range(20):
        page.keyboard.press("Tab")
        if "primary" in (page.evaluate("document.activeElement.className") or ""):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator(".path [aria-current]")).to_contain_text("1 rise(by=3)")
    page.keyboard.press("Home")
    expect(page.locator(".path [aria-current]")).to_contain_text("0 initial")
    page.keyboard.press("1")
    expect(page.locator(".path [aria-current]")).to_contain_text("1 rise(by=1)")


def test_a_path_of_many_steps_is_folded(page: Page, server: Server) -> None:
    """Of 70 steps those around the first, the last and the one in view have a button; a click shows all."""
    steps = "_".join(["2"] * 70)
    page.goto(f"{server.url}#start=0&steps={steps}&at=30")
    expect(page.locator(".path li")).to_have_count(17)
    expect(page.locator(".scroll .step.folded")).to_have_count(71 - 15)
    page.get_by_role("button", name="… 23 steps").click()
    expect(page.locator(".path li")).to_have_count(71)
