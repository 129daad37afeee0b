"""The sizes of the models that are published for TLC, and the benchmark beside them."""
