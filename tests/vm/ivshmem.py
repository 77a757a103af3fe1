# SPDX-License-Identifier: BSD-3-Clause
"""A server for QEMU's ivshmem-doorbell devices: memory and doorbells that two machines share.

    ivshmem.py LISTENER BYTES VECTORS

LISTENER is the number of a descriptor, of a socket that listens. Two clients at most; the lowest bit of a client's id is its place, 0 or 1, which ntb_hw_ivshmem takes
for its port. An id is never used again: QEMU frees what it has of an id that went, and would use it
again. Protocol: little-endian 64-bit numbers, each with a descriptor or without.
"""

import os
import selectors
import socket
import struct
import sys


class Server:
    """The clients by their ids: (connection, event descriptors)."""

    def __init__(self, listener, size, vectors):
        self.memory = os.memfd_create("ivshmem")
        os.ftruncate(self.memory, size)
        self.vectors = vectors
        self.clients = {}
        self.lives = [0, 0]
        self.selector = selectors.DefaultSelector()
        self.selector.register(socket.socket(fileno=listener), selectors.EVENT_READ)

    def new_id(self):
        """None if both places are taken."""
        for place in (0, 1):
            if not any(client & 1 == place for client in self.clients):
                self.lives[place] += 1
                return place + 2 * (self.lives[place] - 1)
        return None

    def accept(self, listener):
        connection, _ = listener.accept()
        own = self.new_id()
        if own is None:
            print("ivshmem: a third client is refused", file=sys.stderr)
            connection.close()
            return
        bells = [os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC) for _ in range(self.vectors)]
        send(connection, 0)  # version
        send(connection, own)
        send(connection, -1, self.memory)
        for other, (theirs, their_bells) in self.clients.items():
            for bell in their_bells:
                send(connection, other, bell)
            for bell in bells:
                send(theirs, own, bell)
        for bell in bells:
            send(connection, own, bell)
        self.clients[own] = (connection, bells)
        self.selector.register(connection, selectors.EVENT_READ, own)

    def gone(self, client):
        connection, bells = self.clients.pop(client)
        self.selector.unregister(connection)
        connection.close()
        for bell in bells:
            os.close(bell)
        for other, _ in self.clients.values():
            send(other, client)

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    self.accept(key.fileobj)
                elif key.data in self.clients and not received(key.fileobj):
                    self.gone(key.data)


def received(connection):
    """Clients have nothing to say but that they end."""
    try:
        return bool(connection.recv(64))
    except OSError:
        return False


def send(connection, number, descriptor=None):
    """To one that has gone: the loop will notice."""
    data = struct.pack("<q", number)
    try:
        if descriptor is None:
            connection.sendall(data)
        else:
            socket.send_fds(connection, [data], [descriptor])
    except OSError:
        pass


if __name__ == "__main__":
    Server(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])).serve()
