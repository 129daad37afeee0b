"""The system `sessions`: who is in touch with the controller, who is fenced, and who may shut down."""
