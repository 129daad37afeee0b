"""A real cluster of released brokers on this machine, to capture a log that tests replay; it runs in no test."""
