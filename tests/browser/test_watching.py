"""The helpers of these tests find what they look for: faults of access, faults of scripts, requests, a browser."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from tests.browser import chromium
from tests.browser.accessibility import accessibility_faults, assert_accessible
from tests.browser.watching import Watch
from tests.shared.places import ROOT

GOOD = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1><button>go</button></main></html>"


def test_a_page_without_faults_has_none(page: Page) -> None:
    """A heading and a button are for everyone."""
    page.set_content(GOOD)
    assert_accessible(page)


@pytest.mark.parametrize(
    ("part", "better", "expected"),
    [
        ("<button>go</button>", "<button></button>", ["light: button-name", "dark: button-name"]),
        ("<button>", "<button style='color:#999;background:#fff'>", ["light: color-contrast", "dark: color-contrast"]),
        ("<title>", "<style>@media (prefers-color-scheme: dark) { h1 { color: #777; background: #666 } }</style>"
         "<title>", ["dark: color-contrast"]),
    ],
)  # fmt: skip
def test_a_fault_is_found(page: Page, part: str, better: str, expected: list[str]) -> None:
    """A button without a name, and pale text, are found; text that is pale in the dark is found there."""
    page.set_content(GOOD.replace(part, better))
    assert [": ".join(fault.split(": ")[:2]) for fault in accessibility_faults(page)] == expected


def test_scripts_and_requests_are_watched(page: Page, watch: Watch) -> None:
    """An error of a script is a fault, and so is what its policy forbids; a request is seen with its address."""
    page.set_content(GOOD.replace("go", "<script>missing()</script>"))
    page.set_content(
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\"><img src=http://127.0.0.1:9/a.png>"
    )
    page.wait_for_timeout(50)
    with pytest.raises(Error, match="ERR_"):
        page.goto("http://127.0.0.1:9/b")
    faults = [*watch.faults]
    watch.faults.clear()
    assert "missing is not defined" in faults[0]
    assert any("Content Security Policy" in fault for fault in faults)
    assert "http://127.0.0.1:9/b" in watch.requests


def test_a_run_without_a_browser_says_so(tmp_path: Path) -> None:
    """Without Chromium nothing fails, and the last line says what did not run and what would run it; GitHub is told."""
    (tmp_path / "git").symlink_to(shutil.which("git") or "")
    words = ("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"{__file__}::{SEEDED}")
    environment = {**os.environ, "PATH": str(tmp_path), "GITHUB_ACTIONS": "true"}
    ran = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "! PAGES WERE NOT TESTED !" in ran.stdout
    assert ran.stdout.splitlines()[-1] == chromium.notice(1)
    assert f"\n::warning title=Pages were not tested::{chromium.notice(1)}\n" in ran.stdout


SEEDED = test_a_page_without_faults_has_none.__name__  # a test that needs a browser
