"""The system `replication`: controller, brokers and logs of one partition.

Log directories are in the systems `directories` and `kraft`.
"""
