"""The pytest plugin: each property of a system is a test item.

It is loaded by every run of pytest in an environment with kraftcheck, so that it imports the engines only when a test
has the marker.
"""
