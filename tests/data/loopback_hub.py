"""A hub on the loopback interface: enough of its HTTP for the real `datasets` library to load one dataset."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

COMMIT = "1f" * 20
ID = "org/letters"


class Hub(BaseHTTPRequestHandler):
    """Serves `files` (path in the repository -> bytes) as the dataset `ID` at one commit."""

    files: ClassVar[dict[str, bytes]] = {}
    refusal: ClassVar[tuple[int, str] | None] = None
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_POST(self) -> None:
        wanted = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = unquote(urlsplit(self.path).path)
        if path.startswith(f"/api/datasets/{ID}/paths-info/"):
            asked = self._asked_paths(wanted)
            self._json([entry for entry in self._tree() if entry["path"] in asked])
        else:
            self._missing("EntryNotFound")

    def _asked_paths(self, wanted: bytes) -> set[str]:
        if "json" in (self.headers.get("Content-Type") or ""):
            paths = json.loads(wanted)["paths"]
            return set(paths if isinstance(paths, list) else [paths])
        from urllib.parse import parse_qs

        return set(parse_qs(wanted.decode())["paths"])

    def _answer(self, *, body: bool) -> None:
        if self.refusal is not None:
            self._refuse(*self.refusal)
            return
        path = unquote(urlsplit(self.path).path)
        api, files = f"/api/datasets/{ID}", f"/datasets/{ID}/resolve/"
        if path.startswith(files):
            revision, _, name = path.removeprefix(files).partition("/")
            if revision not in ("main", COMMIT):
                self._missing("RevisionNotFound")
            elif name in self.files:
                self._file(self.files[name], body=body)
            else:
                self._missing("EntryNotFound")
        elif path == api or path.startswith(f"{api}/revision/"):
            if path.rpartition("/")[2] not in ("main", COMMIT, "letters"):
                self._missing("RevisionNotFound")
            else:
                self._json(
                    {"id": ID, "sha": COMMIT, "siblings": [{"rfilename": name} for name in self.files]}
                )
        elif path.startswith(f"{api}/tree/"):
            folder = path.removeprefix(f"{api}/tree/").partition("/")[2]
            self._json([entry for entry in self._tree() if entry["path"].rpartition("/")[0] == folder])
        elif path.startswith(api):
            self._missing("EntryNotFound")
        else:
            self._missing("RepoNotFound")

    def _tree(self) -> list[dict[str, Any]]:
        folders = {name.rpartition("/")[0] for name in self.files} - {""}
        entries: list[dict[str, Any]] = [
            {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder} for folder in sorted(folders)
        ]
        return entries + [
            {"type": "file", "oid": _sha(content), "size": len(content), "path": name}
            for name, content in self.files.items()
        ]

    def _file(self, content: bytes, *, body: bool) -> None:
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{_sha(content)}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _json(self, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _missing(self, code: str) -> None:
        self._refuse(404, code)

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _sha(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serving(files: dict[str, bytes], refusal: tuple[int, str] | None = None) -> Iterator[str]:
    """The address of a hub with these files, or of one that answers everything with a status and a code."""
    handler = type("OneHub", (Hub,), {"files": files, "refusal": refusal})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
