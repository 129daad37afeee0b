"""Sources: what a citation of a rule, a property, a choice or a defect leads to, and the rules that no property checks.

Nothing here is explored. Whether the pages are there is asked by tests, since `properties` reads no files.
"""
