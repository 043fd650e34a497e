"""Drafting replies to patient messages, scored by how much a clinician would edit the draft."""

from pmbench_tasks.drafting.edits import EditCounts, count_edits
from pmbench_tasks.drafting.themes import THEMES, ThemeCounts, theme_counts

__all__ = ["THEMES", "EditCounts", "ThemeCounts", "count_edits", "theme_counts"]
