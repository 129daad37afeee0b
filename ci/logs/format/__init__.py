"""The forms of a metadata log: segments, Kafka's dump text, JSON lines; read and written."""
