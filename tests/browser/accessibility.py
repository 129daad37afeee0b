"""Faults of a page that keep people from using it, as axe finds them."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

GRAVE = ("serious", "critical")  # the impacts that no page may have

SCHEMES = ("light", "dark")

WIDTHS = (390, 1280, 1920)  # a phone, a laptop and a large screen, in pixels

SMALLEST = """() => {
  const sizes = [...document.querySelectorAll("main *")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
    .map((one) => parseFloat(getComputedStyle(one).fontSize));
  return Math.min(...sizes);
}"""
"""The size of the smallest letters of a page, in pixels."""


def accessibility_faults(page: Page) -> list[str]:
    """Grave faults, light and dark: scheme, rule and element of each."""
    faults = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for found in Axe().run(page).response["violations"]:
            if found["impact"] in GRAVE:
                faults += [f"{scheme}: {found['id']}: {node['html'][:160]}" for node in found["nodes"]]
    page.emulate_media(color_scheme=None)
    return faults


def assert_accessible(page: Page) -> None:
    """Neither a light nor a dark page has a grave fault."""
    assert accessibility_faults(page) == []
