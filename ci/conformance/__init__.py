"""`kraftcheck conform`: the model beside cases of Kafka's own tests, and beside Kafka's released classes."""
