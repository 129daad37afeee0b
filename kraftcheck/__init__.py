"""kraftcheck: verifies the replica logic of Apache Kafka's controller from one set of rules."""
