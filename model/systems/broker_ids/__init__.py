"""How a broker finds its id: the system `broker-ids`."""
