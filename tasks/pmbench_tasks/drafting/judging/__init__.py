"""The judges of both roles: what the embedded ones look at and weigh, and how a chat model is asked."""
