"""A watch over the working tree: a run of the tests that leaves files behind fails."""

import subprocess
from pathlib import Path

import pytest
from attrs import define, field


def untracked(root: Path) -> frozenset[str]:
    """Files below a working tree that git neither tracks nor ignores."""
    words = ["git", "-C", str(root), "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return frozenset(name for name in listed.split("\0") if name)


@define
class Watch:
    """Compares the tree at the end of a run with that at its start; workers of xdist leave it to their controller."""

    root: Path  # the working tree
    before: frozenset[str] = field(factory=frozenset)  # its untracked files at the start

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Look."""
        self.before = untracked(self.root)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Look again; what is new fails the run."""
        if left := sorted(untracked(self.root) - self.before):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            reporter = session.config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.write_line(f"files left behind: {', '.join(left)}", red=True)


def install(config: pytest.Config, root: Path) -> None:
    """Watch a tree in this run, where it is one of git's."""
    if not hasattr(config, "workerinput") and (root / ".git").exists():
        config.pluginmanager.register(Watch(root), "leftovers")
