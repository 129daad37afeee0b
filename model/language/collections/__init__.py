"""Values of many parts: tuples read and written at a place, maps, sets of records, bags, queues; claims about all."""
