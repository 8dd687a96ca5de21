"""Which server a client talks to, and the private server that the SDK starts if there is none."""
