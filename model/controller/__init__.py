"""Kafka's KRaft controller in full, concrete: requests in, records and replies out.

A handler takes the controller's state, a request and a rule set, and returns
an `Outcome` or raises a `RequestError`; `state.commit` replays the records.
Every decision about one partition is the change build of `kraftcheck.model.partition.change`.
"""
