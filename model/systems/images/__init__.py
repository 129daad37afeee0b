"""The system `images`: how a broker joins batches of records and snapshots to its image of the metadata."""
