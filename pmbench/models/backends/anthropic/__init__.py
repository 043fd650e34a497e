"""The backend `anthropic`: Claude, and servers that speak Anthropic's Messages."""
