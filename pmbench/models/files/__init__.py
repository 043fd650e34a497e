"""The model cache and how models come into it."""
