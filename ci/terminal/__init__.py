"""What commands share: the console, files that appear whole, options, progress, one-line refusals."""
