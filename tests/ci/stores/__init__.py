"""Datasets in stores that are named by URLs."""
