"""The backend `vllm`: models in vLLM's engine, in a process of its own."""
