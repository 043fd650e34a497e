"""Sentence splitting, span matching, prompts."""
