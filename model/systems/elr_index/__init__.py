"""The system `elr-index`: a topic that may be deleted, and the index of ELR members, which outlasts it."""
