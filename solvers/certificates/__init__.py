"""Certificates: proofs by induction as SMT-LIB texts that any solver can check."""
