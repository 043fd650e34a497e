"""The backend `llama-cpp`: GGUF models in this process."""
