"""Drafting replies to patient messages, scored by how much a clinician would edit the draft."""

from pmbench_tasks.drafting.edits import EditCounts, count_edits

__all__ = ["EditCounts", "count_edits"]
