"""ArchEHR-QA: answers from a patient's record, and whether what they cite and say is grounded in it."""
