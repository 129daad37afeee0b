"""What commands share: the console, files that appear whole, options, progress, one-line refusals.

Nothing here knows a system or an engine, but for the list of the commands.
"""
