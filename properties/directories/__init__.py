"""The properties of the system `directories`: assignments, disks, fencing until settled, healing, and lemmas.

Each property names the variants that refute it. Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""
