"""The words of rules, each with an example that every engine computes."""
