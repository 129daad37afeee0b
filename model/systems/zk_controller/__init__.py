"""The system `zk-controller`: the controller of the early design, on ZooKeeper.

It shares no rule with KRaft's controller.
"""
