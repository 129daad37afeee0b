"""The mistakes that newcomers make: what is written, and what kraftcheck says of it."""
