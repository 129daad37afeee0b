"""The `kraft` system: one partition's logs and the disks they are on, under one controller."""
