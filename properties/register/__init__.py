"""The register of facts about Kafka: TOML files, and for each noun the module that reads them.

Data only. `kraftcheck.model.register` reads a file, and refuses what it does not know with place and mend.
"""
