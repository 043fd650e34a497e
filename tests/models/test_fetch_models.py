"""Whole models of the hub: from a server on loopback that answers as the hub does."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPO, COMMIT = "someone/small", "0123456789abcdef0123456789abcdef01234567"
FILES = {
    "config.json": b'{"architectures": ["LlamaForCausalLM"]}',
    "model.safetensors": b"weights" * 100,
    "training.py": b"print('never fetched')",
}


def _entry(name: str, content: bytes) -> dict[str, object]:
    """A file as the hub lists it: large ones with their SHA-256."""
    entry: dict[str, object] = {"type": "file", "path": name, "size": len(content)}
    entry["oid"] = hashlib.sha1(content).hexdigest()
    if name.endswith(".safetensors"):
        entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 99}
    return entry


@contextmanager
def hub(files: dict[str, bytes], *, damaged: bool = False) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> bytes:
            if self.path.startswith(f"/api/models/{REPO}/tree/"):
                return self.send(json.dumps([_entry(*file) for file in files.items()]).encode(), {})
            if self.path.startswith(f"/api/models/{REPO}"):
                listed = [{"rfilename": name} for name in files]
                return self.send(json.dumps({"id": REPO, "sha": COMMIT, "siblings": listed}).encode(), {})
            name = self.path.rpartition("/")[2]
            if not self.path.startswith(f"/{REPO}/resolve/") or name not in files:
                self.send_response(404)
                self.send_header("X-Error-Code", "EntryNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return b""
            content = files[name]
            weights = name.endswith(".safetensors")
            etag = hashlib.sha256(content).hexdigest() if weights else hashlib.sha1(content).hexdigest()
            head = {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"', "X-Linked-Size": str(len(content))}
            return self.send(content[::-1] if damaged and weights else content, head)

        def send(self, body: bytes, head: dict[str, str]) -> bytes:
            self.send_response(200)
            for key, value in {**head, "Content-Length": str(len(body))}.items():
                self.send_header(key, value)
            self.end_headers()
            return body

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


def fetched(
    home: Path, endpoint: str, name: str = f"hf:{REPO}", **more: str
) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    settings |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), **more}
    command = [sys.executable, "-m", "pmbench", "fetch", name]
    return subprocess.run(command, env=settings, text=True, capture_output=True, timeout=120)


def test_a_model_comes_into_the_hubs_own_cache_without_its_programs(tmp_path: Path) -> None:
    with hub(FILES) as endpoint:
        done = fetched(tmp_path, endpoint)
    assert done.returncode == 0, done.stderr
    folder = Path(done.stdout.strip())
    assert folder.name == COMMIT
    assert {path.name for path in folder.iterdir()} == {"config.json", "model.safetensors"}
    assert (folder / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_damaged_weights_are_deleted(tmp_path: Path) -> None:
    with hub(FILES, damaged=True) as endpoint:
        done = fetched(tmp_path, endpoint)
    assert done.returncode == 2
    assert "model.safetensors was damaged on its way and is deleted" in done.stderr
    assert not any(path.name == "model.safetensors" for path in tmp_path.rglob("*"))


def test_what_cannot_be_fetched_says_why(tmp_path: Path) -> None:
    with hub({"config.json": b"{}"}) as endpoint:
        assert "no weights in the format safetensors" in fetched(tmp_path, endpoint).stderr
        offline = fetched(tmp_path, endpoint, HF_HUB_OFFLINE="1")
        assert offline.returncode == 2 and "HF_HUB_OFFLINE is set" in offline.stderr
        absent = fetched(tmp_path, endpoint, "hf:someone/other")
        assert absent.returncode == 2 and len(absent.stderr.splitlines()) <= 2
