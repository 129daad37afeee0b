"""The system `features`: releases of brokers and controllers, their registrations, and finalised levels."""
