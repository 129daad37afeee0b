"""The forms of a metadata log: segments, Kafka's dump text, JSON lines; records come out as plain values."""
