"""A module proxy over HTTP that writes down what it is asked for, with a checksum database of its own behind it."""

import base64
import collections
import contextlib
import hashlib
import http.server
import io
import re
import threading
import zipfile

import checksum_database

DATABASE = "sum.warm.test"
FILES = re.compile(r"/(?P<module>[a-z./]+)/@(?:v/(?:(?P<list>list)|(?P<version>v[0-9.]+)\.(?P<kind>info|mod|zip))|(?P<latest>latest))")


def h1(files):
    """The go command's hash over named files."""
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


class Module:
    """One version: `files` by name, go.mod among them."""

    def __init__(self, path, version, files):
        self.path, self.version, self.files = path, version, files

    def named(self):
        return {f"{self.path}@{self.version}/{name}": text for name, text in self.files.items()}

    def sums(self):
        return (f"{self.path} {self.version} {h1(self.named())}\n"
                f"{self.path} {self.version}/go.mod {h1({'go.mod': self.files['go.mod']})}\n")

    def content(self, kind):
        if kind == "mod":
            return self.files["go.mod"].encode()
        if kind == "info":
            return f'{{"Version":"{self.version}","Time":"2024-01-01T00:00:00Z"}}'.encode()
        memory = io.BytesIO()
        with zipfile.ZipFile(memory, "w") as archive:
            for name, text in self.named().items():
                archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), text)
        return memory.getvalue()


def kind_of(path):
    """What a request is for: info, mod, zip, list, latest or sumdb."""
    if path.startswith("/sumdb/"):
        return "sumdb"
    found = FILES.fullmatch(path)
    return next((found[name] for name in ("kind", "list", "latest") if found[name]), "?") if found else "?"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.note(self.path)
        body = self.server.content(self.path)
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


class CountingProxy(http.server.ThreadingHTTPServer):
    """Serves the modules on `address` until closed."""

    daemon_threads = True

    def __init__(self, address, modules):
        super().__init__((address, 0), Handler)
        self.versions = collections.defaultdict(dict)
        for module in modules:
            self.versions[module.path][module.version] = module
        self.database = checksum_database.ChecksumDatabase(
            DATABASE, {f"{module.path}@{module.version}": module.sums() for module in modules})
        self.lock = threading.Lock()
        self.asked = []
        self.url = f"http://{address}:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()

    def note(self, path):
        with self.lock:
            self.asked.append(path)

    def take_requests(self):
        """Paths since the last call."""
        with self.lock:
            asked, self.asked = self.asked, []
        return asked

    def content(self, path):
        sums = f"/sumdb/{DATABASE}/"
        if path.startswith(sums):
            return self.database.answer(path[len(sums):])
        found = FILES.fullmatch(path)
        versions = self.versions.get(found["module"]) if found else None
        if not versions:
            return None
        if found["list"]:
            return "".join(version + "\n" for version in versions).encode()
        module = versions.get(max(versions) if found["latest"] else found["version"])
        return module.content("info" if found["latest"] else found["kind"]) if module else None

    def close(self):
        with contextlib.suppress(OSError):
            self.shutdown()
        self.server_close()
        self.thread.join()
