"""How the wheel is built, besides `pyproject.toml`: of what is in the checkout now, and not of an earlier build."""

from __future__ import annotations

import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildAnew(build_py):
    """Copies the modules into an empty folder: one that is gone, or is a folder now, would be shipped else."""

    def run(self) -> None:
        """Copy them."""
        if not self.editable_mode:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": BuildAnew})
