"""Expected verdicts and proofs, as data. `kraftcheck check` compares every verdict with them, in both directions."""
