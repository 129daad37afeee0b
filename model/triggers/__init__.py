"""What each trigger of the controller checks and wants of a partition: requests, heartbeats, elections, settings.

One function states each rule on sets and on lists of brokers, so that the explored systems and the controller on ints
share it. What becomes of the partition then is decided in `kraftcheck.model.partition`.
"""
