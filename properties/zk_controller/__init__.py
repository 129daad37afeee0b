"""What the early controller design promises, as properties of the system `zk-controller`.

Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""
