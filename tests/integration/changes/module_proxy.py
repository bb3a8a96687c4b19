"""A module proxy over HTTP that answers some requests the wrong way, each as its module's path says."""

import base64
import collections
import hashlib
import http.server
import io
import re
import socket
import struct
import threading
import zipfile

ROOT = "ex.test/up/"
BEFORE, AFTER = "v1.0.0", "v1.1.0"
# Of the after version: the file whose request goes wrong, and how. A status, or a word.
FAULTS = {
    "too-many-requests": ("zip", 429),
    "server-error": ("mod", 500),
    "bad-gateway": ("info", 502),
    "unknown-status": ("zip", 520),
    "reset": ("zip", "reset"),
    "cut-off": ("zip", "cut"),
    "silent": ("zip", "silent"),
    "other-content": ("zip", "other"),
    "recovers": ("zip", "recovers"),
    "none": ("", ""),
}
RECOVERS_AFTER = 2  # wrong answers of the module that recovers


def source_of(name, version, marker=""):
    """The files of a module's version."""
    return {"go.mod": f"module {ROOT}{name}\n\ngo 1.21\n",
            "up.go": f"package up\n\n// Version is the module's own.{marker}\nconst Version = \"{version}\"\n"}


def h1(files):
    """The go command's hash over named files."""
    lines = "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def sum_lines(name, version):
    """What go.sum says of a module's version whose content is the right one."""
    files = source_of(name, version)
    whole = {f"{ROOT}{name}@{version}/{file}": text for file, text in files.items()}
    return (f"{ROOT}{name} {version} {h1(whole)}\n"
            f"{ROOT}{name} {version}/go.mod {h1({'go.mod': files['go.mod']})}\n")


def zip_of(name, version, marker=""):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for file, text in source_of(name, version, marker).items():
            archive.writestr(zipfile.ZipInfo(f"{ROOT}{name}@{version}/{file}", (2024, 1, 1, 0, 0, 0)), text)
    return memory.getvalue()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        found = re.fullmatch(rf"/{ROOT}([a-z-]+)/@v/(list|(v[0-9.]+)\.(info|mod|zip))", self.path)
        if not found or found[1] not in FAULTS:
            return self.answer(404, b"not found: no such module\n")
        name, what, version, kind = found.groups()
        if what == "list":
            return self.answer(200, f"{BEFORE}\n{AFTER}\n".encode())
        if version not in (BEFORE, AFTER):
            return self.answer(404, b"not found: no such version\n")
        if version == AFTER and kind == FAULTS[name][0]:
            return self.go_wrong(name)
        return self.give(name, version, kind)

    def go_wrong(self, name):
        how = FAULTS[name][1]
        met = self.server.meet(name)
        if how == "recovers":
            if met > RECOVERS_AFTER:
                return self.give(name, AFTER, "zip")
            how = 503
        if how == "reset":
            # A linger of zero turns the close into a reset.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif how == "silent":
            self.server.closed.wait()
            self.close_connection = True
        elif how == "cut":
            self.answer(200, zip_of(name, AFTER), cut=True)
        elif how == "other":
            self.answer(200, zip_of(name, AFTER, marker=" Or is it?"))
        else:
            self.answer(how, b"not now\n")

    def give(self, name, version, kind):
        if kind == "info":
            self.answer(200, f'{{"Version":"{version}","Time":"2024-01-0{int(version[3]) + 1}T00:00:00Z"}}'.encode())
        elif kind == "mod":
            self.answer(200, source_of(name, version)["go.mod"].encode())
        else:
            self.answer(200, zip_of(name, version))

    def answer(self, status, body, cut=False):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def log_message(self, *_):
        pass


class ModuleProxy(http.server.ThreadingHTTPServer):
    """Serves on `address` until closed. `met` counts the wrong answers of each module."""

    daemon_threads = True

    def __init__(self, address):
        super().__init__((address, 0), Handler)
        self.met = collections.Counter()
        self.lock = threading.Lock()
        self.closed = threading.Event()
        self.url = f"http://{address}:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()

    def meet(self, name):
        with self.lock:
            self.met[name] += 1
            return self.met[name]

    def handle_error(self, *_):
        pass  # A client that goes away is what some of the faults are about.

    def close(self):
        self.closed.set()
        self.shutdown()
        self.server_close()
        self.thread.join()
