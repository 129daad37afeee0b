"""Several disks on a broker, in the days of ZooKeeper: the system `zk-jbod`."""
