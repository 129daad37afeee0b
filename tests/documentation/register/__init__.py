"""Pages that are made from the registers of properties: verdicts, defects, and statements of documents."""
