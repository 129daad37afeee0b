"""The pictures of the documentation: `python -m tests.browser.screenshots` writes them to `docs/images`.

A screenshot carries the structure of the page that it shows, as a screen reader has it. A test compares that with the
page as it is now, so that pixels may differ from machine to machine.
"""

import contextlib
import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

from tests.browser.chromium import ABSENT, executable
from tests.ci.explore.serve.asking import of_system, serving
from tests.shared.captures import DEAD_LEADER
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, ROOT, TESTS

OUTAGE = TESTS / "snapshots" / "outage.txt"

IMAGES = DOCS / "images"
STRUCTURE = "structure"  # the text of a PNG file that has the structure of its page

COLOURS = 256  # as many as flat pictures need; it makes the files small

VIEW: ViewportSize = {"width": 1200, "height": 840}

DEAD_LAST_KNOWN = (
    "elections", "--scope", "tiny", "--rules", "fixed+dead-last-known-leader-electable", "--property", "leader-active",
)  # fmt: skip
"""The search of the README: KAFKA-19522, put back."""


def counterexample(folder: Path) -> Path:
    """The trace file of the README's search."""
    target = folder / "out" / "leader-active.itf.json"
    assert target.exists() or kraftcheck("explore", *DEAD_LAST_KNOWN, "--quiet", "--out", folder / "out").code == 12
    return target


def dead_leader(folder: Path) -> str:
    """The README's counterexample as SVG, as `trace --svg` writes it."""
    assert kraftcheck("trace", counterexample(folder), "--svg", folder / "trace.svg").code == 0
    return (folder / "trace.svg").read_text(encoding="utf-8")


def lasso(folder: Path) -> str:
    """A broker that restarts for ever, with one disk and then with the other, as SVG.

    A minute of `explore fair-elections --scope directories --rules fixed --property leader-elected --out DIR` finds it.
    """
    file = Path(__file__).with_name("restarts.itf.json")
    assert kraftcheck("trace", file, "--svg", folder / "lasso.svg").code == 0
    return (folder / "lasso.svg").read_text(encoding="utf-8")


def trace(page: Page, folder: Path) -> bytes:
    """The page of the README's counterexample, at its last step."""
    assert kraftcheck("trace", counterexample(folder), "--html", folder / "trace.html").code == 0
    page.goto((folder / "trace.html").as_uri())
    return page.screenshot()


def outage(page: Page, folder: Path) -> bytes:
    """The page of the log of an outage."""
    with contextlib.chdir(ROOT):
        assert kraftcheck("replay", OUTAGE.relative_to(ROOT), "--html", folder / "outage.html").code == 0
    page.set_viewport_size({"width": 1280, "height": 1560})
    page.goto((folder / "outage.html").as_uri())
    expect(page.locator("body[data-ready]")).to_be_attached()
    return page.screenshot()


def phone(page: Page, folder: Path) -> bytes:
    """The page of a real cluster's log on a phone, dark, at its first violation."""
    with contextlib.chdir(ROOT):
        assert kraftcheck("replay", DEAD_LEADER.relative_to(ROOT), "--html", folder / "log.html").code == 12
    page.set_viewport_size({"width": 390, "height": 844})
    page.emulate_media(color_scheme="dark")
    page.goto((folder / "log.html").as_uri())
    expect(page.locator("body[data-ready]")).to_be_attached()
    page.evaluate("document.querySelector('form').scrollIntoView()")
    return page.screenshot()


def serve(page: Page, folder: Path) -> bytes:
    """The local page of a system, two steps from its first state."""
    with serving(of_system("elections", "tiny", "kafka-4.0"), "fixed") as server:
        page.goto(server.url)
        for number, step in enumerate(("enable_elr()", "fence(broker=0)"), start=1):
            page.locator("button.take", has_text=step).click()
            expect(page.locator(".path [aria-current]")).to_contain_text(f"{number} {step}")
        page.evaluate("window.scrollTo(0, 0)")
        return page.screenshot()


SCENES: Mapping[str, Callable[[Page, Path], bytes]] = {"trace": trace, "outage": outage, "phone": phone, "serve": serve}
"""By name of the file, what opens its page and takes it."""


def structure(page: Page) -> str:
    """What a screen reader has of a page."""
    return page.locator("main").aria_snapshot()


def stored(name: str) -> str:
    """The structure that a screenshot carries."""
    with Image.open(IMAGES / f"{name}.png") as image:
        return str(image.text[STRUCTURE])  # type: ignore[attr-defined]


def save(name: str, screenshot: bytes, shown: str) -> None:
    """Write a screenshot with its structure."""
    info = PngInfo()
    info.add_itxt(STRUCTURE, shown, zip=True)
    with Image.open(io.BytesIO(screenshot)) as image:
        small = image.convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
        small.save(IMAGES / f"{name}.png", optimize=True, pnginfo=info)


def main() -> None:
    """Write all pictures."""
    place = executable()
    if place is None:
        raise SystemExit(ABSENT)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as folder, sync_playwright() as playwright:
        (IMAGES / "dead-leader.svg").write_text(dead_leader(Path(folder)), encoding="utf-8")
        (IMAGES / "lasso.svg").write_text(lasso(Path(folder)), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        for name, scene in SCENES.items():
            page = browser.new_page(viewport=VIEW, color_scheme="light")
            save(name, scene(page, Path(folder)), structure(page))
        browser.close()


if __name__ == "__main__":
    main()
