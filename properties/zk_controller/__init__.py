"""What the early controller design promises, as properties of the system `zk-controller`."""
