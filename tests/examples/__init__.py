"""Specifications that other people wrote in TLA+, written anew in the language, with the numbers that TLC published."""
