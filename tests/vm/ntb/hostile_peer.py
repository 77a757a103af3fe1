# SPDX-License-Identifier: BSD-3-Clause
"""A host that lies: a process on the lab's bridge, in the place of the second machine.

    hostile_peer.py SOCKET

It does what tests/vm/kernel/ntb_hw_ivshmem and rsm_ntb do between hosts (rsm_ntb.h, "Between hosts"), each
time with something wrong. A line `play-NAME` on standard input begins an act; `played-NAME` on
standard output says that it goes on.
"""

import mmap
import os
import selectors
import socket
import struct
import sys
import zlib

BLOCK, IV_MAGIC, SPADS = 4096, 0x4E545649, 16  # of ntb_hw_ivshmem
MAGIC, WIRE = 0x4E4D5352, 1
HEARTBEAT, POSTS = 0x10000, 0x1C000
CONNECTIONS = 2048
GENERATION = 0x600DF00D
BEAT_S = 0.03


class Bridge:
    """The device: shared memory and the guest's doorbells."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.number()  # version
        self.own = self.number()
        size = os.fstat(self.descriptor()[1]).st_size
        self.memory = mmap.mmap(self.last, size)
        self.slot = size // 8
        self.port = self.own & 1
        self.bells = {}
        self.put(self.block(self.port), IV_MAGIC, self.own, 1, 0)

    def number(self):
        return struct.unpack("<q", self.socket.recv(8, socket.MSG_WAITALL))[0]

    def descriptor(self):
        data, descriptors, _, _ = socket.recv_fds(self.socket, 8, 1)
        self.last = descriptors[0] if descriptors else None
        return struct.unpack("<q", data)[0], self.last

    def event(self):
        """A client comes, vector by vector, or goes."""
        client, bell = self.descriptor()
        if bell is None:
            self.bells.pop(client, None)
        else:
            self.bells.setdefault(client, []).append(bell)

    def ring(self, bit):
        for client, bells in self.bells.items():
            if client != self.own and len(bells) > 1 + bit:
                os.write(bells[1 + bit], struct.pack("<Q", 1))

    def block(self, port):
        return port * BLOCK

    def pool(self, port):
        return 4 * self.slot + port * 2 * self.slot

    def put(self, offset, *words):
        for index, word in enumerate(words):
            struct.pack_into("<I", self.memory, offset + 4 * index, word & 0xFFFFFFFF)

    def get(self, offset, count=1):
        return struct.unpack_from(f"<{count}I", self.memory, offset)


class Peer:
    """What rsm_ntb would be here, and the acts."""

    def __init__(self, bridge):
        self.bridge = bridge
        self.sequence = 0
        self.act = None
        self.count = 0
        self.stale = None

    def hello(self, magic=MAGIC, wire=WIRE, pool=None, granule=4096):
        pool = self.bridge.slot if pool is None else pool
        at = self.bridge.pool(self.bridge.port)
        self.bridge.put(at, magic, wire, GENERATION, self.sequence, self.sequence, GENERATION,
                        pool & 0xFFFFFFFF, pool >> 32, granule, 0, 0, 66, 0, 0)

    def greeting(self, wire=WIRE, ack=None):
        guest = self.bridge.get(self.bridge.block(self.bridge.port) + SPADS + 8, 2)
        words = [wire, GENERATION, self.sequence, *(ack or guest)]
        return words + [zlib.crc32(struct.pack("<5I", *words)) ^ 0xFFFFFFFF]

    def greet(self, words, magic=MAGIC):
        at = self.bridge.block(1 - self.bridge.port) + SPADS
        self.bridge.put(at, 0)
        self.bridge.put(at + 4, *words)
        self.bridge.put(at, magic)
        self.bridge.ring(1)

    def heart(self):
        self.count += 1
        self.bridge.put(self.bridge.pool(1 - self.bridge.port) + HEARTBEAT, self.count)

    def begin(self, act):
        if act not in ("flood", "canary", "silent", "ends"):
            self.sequence += 1
        self.act = act
        if act == "canary":
            self.bridge.put(self.bridge.pool(self.bridge.port) + 16, ~0, ~0)

    def tick(self):
        """Every BEAT_S. The hardware's link stays up, whatever is wrong above it."""
        bridge = self.bridge
        block = bridge.block(bridge.port)
        bridge.put(block + 12, bridge.get(block + 12)[0] + 1)
        good = {"magic": lambda: self.greet(self.greeting(), magic=0x12345678),
                "version": lambda: self.greet(self.greeting(wire=2)),
                "check": lambda: self.greet(self.greeting()[:-1] + [0]),
                "stale": lambda: self.greet(self.greeting(ack=self.stale)),
                "ends": lambda: self.greet([0] * 6, magic=0)}
        hellos = {"hello": {"magic": 0xFFFFFFFF}, "empty": {"pool": 0}, "odd": {"granule": 3},
                  "huge": {"pool": 1 << 60}, "good": {}, "again": {}}
        if self.act in good:
            self.hello()
            good[self.act]()
        elif self.act in hellos:
            self.hello(**hellos[self.act])
            self.greet(self.greeting())
            self.heart()
            self.stale = self.stale or tuple(self.greeting()[3:5])
        elif self.act == "flood":
            posts = bridge.pool(1 - bridge.port) + POSTS
            for connection in range(CONNECTIONS):
                bridge.put(posts + 8 * connection, 0x7FFFFFFF * self.count + connection,
                           ~(self.count * connection))
            for _ in range(200):
                bridge.ring(0)
                bridge.ring(1)
            self.heart()
        elif self.act == "canary":
            self.heart()


def obey(peer, line):
    if line.startswith("play-"):
        peer.begin(line.strip()[5:])
        peer.tick()
        print(f"played-{peer.act}", flush=True)


def main():
    # It connects with its first act: the machine has connected before, so that port 0 is always the machine's.
    line = sys.stdin.readline()
    if not line:
        return
    bridge = Bridge(sys.argv[1])
    peer = Peer(bridge)
    obey(peer, line)
    selector = selectors.DefaultSelector()
    selector.register(bridge.socket, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    while True:
        ready = selector.select(BEAT_S)
        for key, _ in ready:
            if key.fileobj is bridge.socket:
                bridge.event()
                continue
            line = sys.stdin.readline()
            if not line:
                return
            obey(peer, line)
        if not ready:
            peer.tick()


if __name__ == "__main__":
    main()
