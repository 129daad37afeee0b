"""Coverage: what each statement of the documents has become: rules, properties, variants, or the reason for none."""
