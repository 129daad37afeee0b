"""Rule sets: each place where Kafka's releases, its design documents and its defects differ, as a named choice.

A choice says its source and which reading is right. The rules themselves are not here: they read a choice
where they differ.
"""
