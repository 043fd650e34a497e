"""The backend `openai`: OpenAI, Azure and every server that speaks as they do."""
