"""The states around a state: found by compiled code, joined by chosen fields, placed for a drawing."""
