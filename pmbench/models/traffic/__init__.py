"""What bounds the requests of a run: how many at once, how fast, how often again, in which order, at what cost."""
