"""The `directories` system: one partition, its brokers and their log directories (JBOD, KIP-858)."""
