"""`kraftcheck conform`: the model beside cases of Kafka's own tests, and beside Kafka's released classes.

What is compared is the model's own rules; nothing here states a rule again.
"""
