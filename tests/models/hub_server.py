"""A server on loopback that answers for one file of one repository as the hub does."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

REPO, NAME, COMMIT = "someone/small-GGUF", "small.gguf", "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def hub_server(content: bytes, *, stated: str = "", gated: bool = False) -> Iterator[str]:
    """Serve `content`, stating its SHA-256 or what is given as `stated`; yields the address."""
    etag = stated or hashlib.sha256(content).hexdigest()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> bytes:
            revision_paths = {f"/{REPO}/resolve/{revision}/{NAME}" for revision in ("main", COMMIT)}
            if gated:
                self.send_response(403)
                self.send_header("X-Error-Code", "GatedRepo")
            elif self.path not in revision_paths:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
            else:
                self.send_response(200)
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("X-Linked-Etag", f'"{etag}"')
                self.send_header("X-Linked-Size", str(len(content)))
                self.send_header("ETag", '"another"')
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                return content
            self.send_header("Content-Length", "0")
            self.end_headers()
            return b""

        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.wfile.write(self.answer())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
