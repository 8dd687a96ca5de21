"""The requests of the HTTP API as values: what is sent, and how the response is read."""
