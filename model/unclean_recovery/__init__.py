"""The unclean-recovery tool as pure functions: what replicas answer, whom it chooses, how it elects.

Files and options are in `kraftcheck.ci.logs.recovery`, the protocol as a system in
`kraftcheck.model.systems.unclean_recovery`.
"""
