"""The engine's HTTP API over its unix socket, for scripts and tests that look at it from the outside."""

import contextlib
import http.client
import json
import os
import socket
import threading
import urllib.parse


def socket_of_environment():
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


class EngineConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=30):
        super().__init__("engine", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Engine:
    """Calls on one engine, each on a connection of its own. Thread-safe."""

    def __init__(self, path=None):
        self.path = path or socket_of_environment()

    def request(self, method, path, body=None, timeout=30):
        connection = EngineConnection(self.path, timeout)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"} if body is not None else {}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def call(self, method, path, expected=(200, 201, 204), body=None):
        status, answer = self.request(method, path, body)
        if status not in expected:
            raise AssertionError(f"engine: {method} {path}: {status} {answer[:200]!r}")
        return json.loads(answer) if answer.startswith((b"{", b"[")) else None

    def answers(self):
        try:
            return self.request("GET", "/_ping", timeout=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def containers(self, **labels):
        """Containers in every state that carry the labels; a value of None asks for the label alone."""
        wanted = [f"{key}={value}" if value is not None else key for key, value in labels.items()]
        query = urllib.parse.urlencode({"all": "1", "filters": json.dumps({"label": wanted})})
        return self.call("GET", f"/containers/json?{query}")

    def kill(self, container):
        self.call("POST", f"/containers/{container}/kill")

    def remove(self, container):
        """Whatever its state; one that is gone is fine."""
        self.call("DELETE", f"/containers/{container}?force=1&v=1", expected=(204, 404, 409))


class ContainerEvents(threading.Thread):
    """What the engine tells of containers with a label while they live: they are gone when one looks later.

    `created` holds labels; `ended` labels, start and end in seconds of Unix time.
    """

    def __init__(self, engine, label="cupel.worker"):
        super().__init__(daemon=True)
        self.created, self.ended, self.started = [], [], {}
        self.connection = EngineConnection(engine.path, timeout=None)
        filters = {"type": ["container"], "label": [label], "event": ["create", "start", "die"]}
        self.connection.request("GET", "/events?" + urllib.parse.urlencode({"filters": json.dumps(filters)}))
        self.answer = self.connection.getresponse()
        self.start()

    def run(self):
        with contextlib.suppress(OSError, ValueError, AttributeError, http.client.HTTPException):
            for line in self.answer:
                self._take(json.loads(line))

    def _take(self, event):
        labels, container, when = event["Actor"]["Attributes"], event["Actor"]["ID"], event["timeNano"] / 1e9
        if event["Action"] == "create":
            self.created.append(labels)
        elif event["Action"] == "start":
            self.started[container] = when
        elif container in self.started:
            self.ended.append((labels, self.started.pop(container), when))

    def close(self):
        with contextlib.suppress(OSError):
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.join(10)
