"""A relay between a client and its controller, which a test can make keep the answers to itself."""

import contextlib
import select
import socket
import threading


class Relay:
    """Listens on loopback and passes everything on to `target()`, HOST:PORT, both ways."""

    def __init__(self, target):
        self.target = target
        self.holding = False  # what the controller says stays here
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.pairs = []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.cut()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                host, port = self.target().rsplit(":", 1)
                server = socket.create_connection((host, int(port)))
            except OSError:
                client.close()
                continue
            with self.lock:
                self.pairs.append((client, server))
            threading.Thread(target=self.carry, args=(client, server), daemon=True).start()

    def carry(self, client, server):
        with contextlib.suppress(OSError, ValueError):
            while True:
                heard = [client] if self.holding else [client, server]
                readable = select.select(heard, [], [], 0.05)[0]
                if client in readable:
                    data = client.recv(65536)
                    if not data:
                        break
                    server.sendall(data)
                if server in readable and not self.holding:
                    data = server.recv(65536)
                    if not data:
                        break
                    client.sendall(data)
        self.close(client, server)

    @staticmethod
    def close(*sockets):
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self):
        """Ends all connections."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
