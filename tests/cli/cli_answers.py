"""Messages that the command-line tests share."""

import json
from pathlib import Path

MESSAGES = [f"Message number {'x' * i}" for i in range(40)]


def write_messages(path: Path, messages: list[str] | None = None) -> None:
    rows = [{"id": str(i), "message": text} for i, text in enumerate(messages or MESSAGES)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
