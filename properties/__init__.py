"""What must be true: invariants, action properties, goals and expected verdicts, as data, a folder for each system.

Nothing here decides whether a property holds; `kraftcheck.solvers` does. No rule of Kafka is written here.
"""
