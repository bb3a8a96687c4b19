"""A TCP relay that lets every byte wait: the kernels that we meet can't delay packets (no netem)."""

import asyncio
import contextlib
import threading

WAITING_MAX = 64  # pieces under way in one direction, before the sender has to wait


class SlowLink:
    """Carries connections from `listen` to `target`; `delay` holds for both directions and may change at any time."""

    def __init__(self, listen, target):
        self.listen, self.target, self.delay = listen, target, 0.0
        self.loop = asyncio.new_event_loop()
        self.port = None
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        if not ready.wait(10) or self.port is None:
            raise AssertionError(f"no relay on {listen}")

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)

        async def serve():
            try:
                server = await asyncio.start_server(self._connected, self.listen, 0)
                self.port = server.sockets[0].getsockname()[1]
            finally:
                ready.set()

        self.loop.create_task(serve())
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        with contextlib.suppress(RuntimeError):
            self.loop.run_until_complete(asyncio.sleep(0))

    async def _connected(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        tasks = []
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pieces = asyncio.Queue(WAITING_MAX)
            tasks += [asyncio.ensure_future(self._take(source, pieces)), asyncio.ensure_future(self._deliver(pieces, sink))]
        # Either end that goes away ends the connection: these protocols close no half.
        await asyncio.wait(tasks[1::2], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        writer.transport.abort()
        far_writer.transport.abort()

    async def _take(self, reader, pieces):
        piece = b"."
        while piece:
            try:
                piece = await reader.read(1 << 16)
            except OSError:
                piece = b""
            await pieces.put((self.loop.time() + self.delay, piece))

    async def _deliver(self, pieces, writer):
        with contextlib.suppress(OSError):
            while True:
                due, piece = await pieces.get()
                await asyncio.sleep(max(0.0, due - self.loop.time()))
                if not piece:
                    return
                writer.write(piece)
                await writer.drain()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
