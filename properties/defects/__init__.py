"""The matrix of defects: each historical or seeded defect with the scope that shows it and the properties it breaks.

Data only. `kraftcheck bugs` runs the matrix.
"""
