"""Of what a build changes, the lines that no question has run, as JaCoCo's agent notes them."""
