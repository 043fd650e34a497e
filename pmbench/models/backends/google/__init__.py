"""The backend `google`: Gemini."""
