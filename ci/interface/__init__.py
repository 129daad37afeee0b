"""The Python interface behind `import kraftcheck`: functions that run what commands run, and give records."""
