"""Symmetries that are proven for every state of the layout, and candidates for them that the layout suggests."""
