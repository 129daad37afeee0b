"""Claims about every place as quantifiers of Z3, which chooses the places itself from the models that it tries."""
