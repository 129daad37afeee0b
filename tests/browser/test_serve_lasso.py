"""The local page shows a lasso: what is repeated, how that is fair, and one walks round its cycle."""

import pytest
from playwright.sync_api import Page, expect

from kraftcheck.ci.explore.serve.finished import opened_run
from tests.ci.explore.serve.asking import serving
from tests.shared.commands import kraftcheck

NAME = "tests.solvers.liveness.toys:LIFT"


def test_one_walks_round_a_lasso(page: Page, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The counterexample says what is repeated and how that is fair; after its last step the cycle begins anew."""
    out = tmp_path_factory.mktemp("run") / "out"
    assert kraftcheck("explore", NAME, "--scope", "weak", "--property", "bell", "--quiet", "--out", out).code == 13
    with serving(opened_run(out, NAME)) as server:
        page.goto(server.url)
        current = page.locator(".path [aria-current]")
        expect(page.locator(".examples > li")).to_contain_text("bell 4 steps, for ever: steps 1 to 4 again")
        expect(page.locator(".examples li li")).to_contain_text(["WF(up)", "WF(down)", "not enabled in states 0, 1, 3"])
        expect(current).to_contain_text("4 down()")
        expect(page.locator("svg .again")).to_contain_text("perhaps for ever: steps 1 to 4 again")
        page.keyboard.press("ArrowRight")
        expect(current).to_contain_text("1 up()")
        page.keyboard.press("End")
        page.get_by_role("button", name="forward").click()
        expect(current).to_contain_text("1 up()")
