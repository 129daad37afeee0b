"""Mutants of the rules: where rules decide, how a condition is dropped, and what each mutant breaks.

What a surviving mutant means is judged in `kraftcheck.properties.register.mutants`.
"""
