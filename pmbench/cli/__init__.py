"""One file per command: arguments in, printing out, no logic."""
