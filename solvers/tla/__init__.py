"""Systems as modules of TLA+, so that TLC gives a second opinion."""
