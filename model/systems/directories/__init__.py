"""The system `directories`: one partition, its brokers and their log directories (JBOD, KIP-858).

A log is complete or not here; its records are in the system `replication`.
"""
