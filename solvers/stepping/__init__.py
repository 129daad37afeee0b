"""Walking through a system by hand: sessions on Python ints, which need no engine and start at once."""
