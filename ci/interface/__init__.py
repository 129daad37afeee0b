"""The Python interface behind `import kraftcheck`: engines as functions, and what they answer as records.

What a function does is done elsewhere, by the code that the command of the same name runs. Nothing here prints.
"""
