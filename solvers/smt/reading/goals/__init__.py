"""Goals of proofs, cut into parts that a solver proves one by one."""
