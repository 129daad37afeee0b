"""The forms of a metadata log: segments, Kafka's dump text, JSON lines; read and written.

Records come out as plain values. What they mean to the controller is in `kraftcheck.model.records`.
"""
