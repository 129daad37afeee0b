"""Findings on a live cluster: one scenario a module, each measured on released brokers and controllers."""
