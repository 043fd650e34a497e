"""Resampling and paired tests (numpy only)."""
