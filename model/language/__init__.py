"""The language that rules are written in: words, terms, collections of brokers, layouts, systems.

A rule that uses only these names runs on Python ints and on symbolic terms alike. Nothing here knows Kafka,
and nothing here compiles, searches or proves.
"""
