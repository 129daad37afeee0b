"""Tests of `ci/interface`: what `import kraftcheck` offers."""
