"""The properties of the system `replication`: nothing acknowledged is lost, and lemmas that prove it.

Each property names the variants that refute it. Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""
