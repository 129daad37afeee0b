"""Agreement on one value or on one leader."""
