"""A unix socket before the engine's own, so that one worker's engine can stop without stopping anybody else's."""

import contextlib
import os
import socket
import threading


class EngineRelay:
    """Carries bytes between `path` and the engine. Thread-safe."""

    def __init__(self, path, engine):
        self.path, self.engine = str(path), engine
        self.lock = threading.Lock()
        self.open = set()
        self.listener = None
        self.mend()

    def mend(self):
        """The engine is there (again)."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def cut(self):
        """The engine is gone: nobody listens, and every connection ends."""
        os.unlink(self.path)
        # Closing alone would leave the accepting thread in its call.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            connections, self.open = self.open, set()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    close = cut

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                engine.connect(self.engine)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.open |= {client, engine}
            left = [2]
            for source, target in ((client, engine), (engine, client)):
                threading.Thread(target=self._carry, args=(source, target, left), daemon=True).start()

    def _carry(self, source, target, left):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                target.sendall(piece)
        # The end of one direction leaves the other open: a command's output outlives its input.
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
        with self.lock:
            left[0] -= 1
            if left[0] > 0:
                return
            self.open -= {source, target}
        source.close()
        target.close()
