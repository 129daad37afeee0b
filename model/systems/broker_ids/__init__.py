"""The system `broker-ids`: how a broker finds its id, after the broker-id KIP.

Machines, disks and ZooKeeper are here; partitions are not.
"""
