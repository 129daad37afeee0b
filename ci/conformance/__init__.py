"""`kraftcheck conform`: the model's own rules beside cases of Kafka's own tests, and Kafka's released classes."""
