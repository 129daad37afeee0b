"""One partition: its registration, and the rules that decide who leads it and who is in its ISR and ELR.

Every controller decision about a partition ends in the change build of this package. Requests, timers and brokers
are in `kraftcheck.model.controller` and in the systems; what is written here is written nowhere else.
"""
