"""What a metadata log says, and which events of the controller explain it."""
