"""Findings: what is wrong with released controllers, each with the search that shows it and the mend that ends it.

Data only. `kraftcheck findings` shows them, and runs them again.
"""
