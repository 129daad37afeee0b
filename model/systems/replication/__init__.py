"""The `replication` system: controller, brokers and logs of one partition."""
