"""What tests of several rooms share: toy systems with known answers, states of systems, logs, the command line."""
