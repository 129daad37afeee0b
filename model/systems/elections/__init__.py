"""The system `elections`: one partition's registration under every trigger of the controller.

It has no data plane: logs and records are in the system `replication`.
"""
