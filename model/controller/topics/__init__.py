"""Topics of the controller: creation, growth, deletion, and where replicas are placed."""
