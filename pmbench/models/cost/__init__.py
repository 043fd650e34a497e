"""What an answer costs, and how many tokens a text has."""
