"""Tests of pages in a real browser: the machine's Chromium, driven by Playwright.

A test takes the fixtures `page` and `watch` of `conftest.py`. Where no Chromium is installed these tests are skipped,
and the end of the run says so; `tests/browser/install` installs it.
"""
