"""What the JBOD KIP on ZooKeeper promises, as properties of the system `zk-jbod`, and lemmas of their proofs.

Expected verdicts are in `kraftcheck.properties.register.verdicts`.
"""
