"""The controller of the early design, on ZooKeeper: the system `zk-controller`."""
