"""The system `kraft`: one partition's logs and the disks they are on, under one controller; a second partition.

It is made of the systems `replication` and `directories`. Only what one half means to the other is written here.
"""
