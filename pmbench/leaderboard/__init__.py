"""Runs of one task side by side, with honest statistics."""
