"""What commands share: console, files that appear whole, options, progress, one-line refusals."""
