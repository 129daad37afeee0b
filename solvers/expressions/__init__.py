"""Expressions over the fields of a state: parsed, checked against the layout, and evaluated on ints and terms alike."""
