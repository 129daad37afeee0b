"""The system `heartbeats`: a live broker, its heartbeats in flight, and a controller that may be slow."""
