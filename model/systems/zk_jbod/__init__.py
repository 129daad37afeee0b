"""The system `zk-jbod`: several disks on a broker, in the days of ZooKeeper.

Directories under KRaft are in the system `directories`.
"""
