"""`kraftcheck replay --engine spark`: logs spread over tasks by cluster and partition."""
