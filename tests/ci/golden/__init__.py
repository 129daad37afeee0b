"""What commands print, write and end with, recorded: the oracle of every rewrite of the command line."""
