"""What backends share that talk to a server: connections, keys, failures, jobs; and where words may be sent."""
