"""How many changes of Kafka's own classes are noticed: mutants that PIT makes of them."""
