"""The backend `hf`: models in transformers' format, in this process."""
