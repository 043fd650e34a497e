"""Dataset sources and formats, column mapping, fingerprint, sensitivity."""
