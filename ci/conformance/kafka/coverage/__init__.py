"""Of what a build changes, the lines that no question has run.

The processes of a build note what they run of its changed classes, by JaCoCo's agent.
"""
