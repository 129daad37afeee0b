"""The `elections` system: one partition's registration under every trigger of the controller."""
