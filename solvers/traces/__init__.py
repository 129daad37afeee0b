"""Counterexamples as documents and as text: ITF files, rendering, and what fails where along a trace."""
