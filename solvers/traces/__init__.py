"""Counterexamples as documents and as text: ITF files, rendering, and what fails where along a trace.

Nothing here finds a trace, and nothing here prints one.
"""
