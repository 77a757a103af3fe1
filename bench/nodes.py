#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Many nodes on one host: what the links between their daemons cost.

Starts N daemons (default 256), each with a runtime directory and a loopback address of its own, as if
each were a host, and prints: the time until every link is up; memory and descriptors of each daemon;
processor time while nothing happens; how long a client waits for an answer meanwhile; and the time
until all others know that one was killed. Takes half a minute with 32 nodes, two minutes with 256, and
ends by itself. ./dev bench nodes builds what it needs.

With more than 256 nodes (--permanent) links are made on demand. Then it prints: the time until all
daemons listen; how long one node takes to reach all others, one after the other and all at once, each by a
request that goes through the other daemon; what a daemon costs with all links that were made so, and
when they have been closed again.

Compare two versions of rsmd by start_processor_s, the processor time of all daemons from their start until
every link is up: all_up_s depends on the number of processors and on what else they do.
"""
import argparse
import json
import os
import random
import re
import resource
import selectors
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

UP = re.compile(rb"link to node (\d+) at \S+ is up")
DOWN = re.compile(rb"link to node (\d+) is (?:down|closed)")
FAILED = re.compile(rb"link to node \d+ at \S+: ")
LISTENS = re.compile(rb"listens at ")
MAGIC, VERSION, HELLO, IMPORT_CONNECT, INTERRUPT_CONNECT, NOT_FOUND = 0x444D5352, 1, 1, 12, 25, 20


class Daemon:
    """One rsmd, and what its log has told of its links."""

    def __init__(self, node, directory, rsmd, config):
        self.node = node
        self.directory = os.path.join(directory, str(node))
        self.up = set()
        self.text = b""
        self.failed = 0 # attempts to make a link, as far as the log has them
        self.listens = False
        os.mkdir(self.directory, 0o700)
        self.process = subprocess.Popen(
            [rsmd, "--foreground", "--node", str(node), "--runtime-dir", self.directory, "--config", config,
             "--log-level", "info"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stderr.fileno(), False)

    def read(self):
        """Take what is in the log. False: it has ended."""
        more = self.process.stderr.read(1 << 20)
        if more == b"":
            return False
        lines = (self.text + (more or b"")).split(b"\n")
        self.text = lines.pop()
        for line in lines:
            found = UP.search(line)
            if found:
                self.up.add(int(found.group(1)))
                continue
            found = DOWN.search(line)
            if found:
                self.up.discard(int(found.group(1)))
            elif FAILED.search(line):
                self.failed += 1
            elif LISTENS.search(line):
                self.listens = True
        return True

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        """Resident and proportional KiB."""
        sizes = {}
        with open(f"/proc/{self.process.pid}/smaps_rollup", encoding="ascii") as rollup:
            for line in rollup:
                name, _, rest = line.partition(":")
                if name in ("Rss", "Pss"):
                    sizes[name] = int(rest.split()[0])
        return sizes["Rss"], sizes["Pss"]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


class Nodes:
    """All of them; the logs are read while one waits for something."""

    def __init__(self, count, directory, rsmd, config):
        self.selector = selectors.DefaultSelector()
        self.begun = time.monotonic()
        self.daemons = []
        for node in range(1, count + 1):
            daemon = Daemon(node, directory, rsmd, config)
            self.daemons.append(daemon)
            self.selector.register(daemon.process.stderr, selectors.EVENT_READ, daemon)

    def run(self, seconds, done=lambda: False):
        """Read logs for so long, or until done() says so. Whether it did."""
        until = time.monotonic() + seconds
        while not done():
            left = until - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self.selector.select(min(left, 0.05)):
                if not key.data.read():
                    self.selector.unregister(key.fileobj)
        return True

    def links(self):
        return sum(len(daemon.up) for daemon in self.daemons)

    def end(self):
        for daemon in self.daemons:
            daemon.process.kill()
        for daemon in self.daemons:
            daemon.process.wait()


def ask(connection, kind, body):
    connection.send(struct.pack("<5I", MAGIC, VERSION, kind, 1, 0) + body)
    reply = connection.recv(16384)
    return struct.unpack_from("<I", reply, 16)[0]


class Client(threading.Thread):
    """Asks node 1 again and again for a segment that is not there, as a new client each time: connect,
    greeting, request. The times are kept in milliseconds."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.path = os.path.join(daemon.directory, f"node-{daemon.node}.sock")
        self.node = daemon.node
        self.times = []
        self.failures = 0
        self.stopped = threading.Event()

    def once(self):
        name = b"sci0"
        body = struct.pack("<I", len(name)) + name + struct.pack("<7I", self.node, 0, 0x600000, 4, 0, 0, 0)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.settimeout(10)
            connection.connect(self.path)
            if ask(connection, HELLO, struct.pack("<I", self.node)) != 0:
                raise OSError("refused")
            ask(connection, IMPORT_CONNECT, body)

    def run(self):
        while not self.stopped.wait(0.05):
            begun = time.monotonic()
            try:
                self.once()
            except OSError:
                self.failures += 1
            self.times.append((time.monotonic() - begun) * 1000)

    def take(self):
        times, self.times = self.times, []
        return times


def reach(nodes, begin, at_once):
    """Have node `begin` ask every other one for an interrupt that is not there, so many requests at
    once. The time of each in seconds, or None where something else was answered."""
    daemon = nodes.daemons[begin - 1]
    waiting = [other.node for other in nodes.daemons if other.node != begin]
    asked, times = {}, []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(60)
        connection.connect(os.path.join(daemon.directory, f"node-{begin}.sock"))
        ask(connection, HELLO, struct.pack("<I", begin))
        while waiting or asked:
            while waiting and len(asked) < at_once:
                node = waiting.pop()
                asked[node] = time.monotonic()
                connection.send(struct.pack("<5I", MAGIC, VERSION, INTERRUPT_CONNECT, node, 0) +
                                struct.pack("<4I", node, 1, 1, 0))
            node, status = struct.unpack_from("<2I", connection.recv(16384), 12)
            begun = asked.pop(node)
            times.append(time.monotonic() - begun if status == NOT_FOUND else None)
    return times


def measure_reach(nodes, begin, at_once):
    """The same, as a result; the logs are read meanwhile."""
    times = []
    thread = threading.Thread(target=lambda: times.extend(reach(nodes, begin, at_once)))
    begun = time.monotonic()
    thread.start()
    nodes.run(60, lambda: not thread.is_alive())
    thread.join()
    taken = [1000 * t for t in times if t is not None]
    return {"all_s": round(time.monotonic() - begun, 2), "reached": len(taken),
            "one_ms": spread(taken or [0])}


def costs(nodes, seconds):
    """What a daemon takes while nothing happens."""
    before = [daemon.processor_seconds() for daemon in nodes.daemons]
    begun = time.monotonic()
    nodes.run(seconds)
    elapsed = time.monotonic() - begun
    shares = [100 * (daemon.processor_seconds() - was) / elapsed
              for daemon, was in zip(nodes.daemons, before)]
    return {"links": nodes.links(), "seconds": round(elapsed, 1), "processor_percent": spread(shares),
            "first_processor_percent": round(shares[0], 3), # of node 1, which has most links
            "rss_kib": spread([daemon.memory()[0] for daemon in nodes.daemons]),
            "pss_kib": spread([daemon.memory()[1] for daemon in nodes.daemons]),
            "descriptors": spread([daemon.descriptors() for daemon in nodes.daemons])}


def measure_on_demand(nodes, arguments):
    result = {"nodes": arguments.nodes, "peer_timeout_ms": arguments.timeout_ms}
    up = nodes.run(arguments.limit, lambda: all(daemon.listens for daemon in nodes.daemons))
    result["all_listen_s"] = round(time.monotonic() - nodes.begun, 2) if up else None
    nodes.run(2)
    result["not_linked"] = costs(nodes, arguments.idle)
    result["one_by_one"] = measure_reach(nodes, 1, 1)
    result["at_once"] = measure_reach(nodes, arguments.nodes // 2, 64) # lower and higher nodes
    result["linked"] = costs(nodes, min(arguments.idle, 10))
    begun = time.monotonic()
    closed = nodes.run(arguments.limit + 60, lambda: nodes.links() == 0)
    result["closed_s"] = round(time.monotonic() - begun, 1) if closed else None
    return result


def write_config(directory, arguments):
    count = arguments.nodes
    network = random.randrange(1, 250)
    path = os.path.join(directory, "rsm.conf")
    with open(path, "w", encoding="ascii") as config:
        config.write("[cluster]\nauth = none\ninsecure = yes\n"
                     f"[limits]\npeer-timeout-ms = {arguments.timeout_ms}\n"
                     f"permanent-links = {arguments.permanent}\nlink-idle-ms = 20000\n"
                     "[controller sci0]\ntransport = shm\n")
        for node in range(1, count + 1):
            config.write(f"[node {node}]\nhost = h{node}\n"
                         f"address = 127.{network}.{node // 250}.{node % 250 + 1}\n")
    os.chmod(path, 0o644)
    return path


def spread(values):
    return {"median": round(statistics.median(values), 3), "most": round(max(values), 3)}


def measure(nodes, arguments):
    count, all_links = arguments.nodes, arguments.nodes * (arguments.nodes - 1)
    result = {"nodes": count, "links": all_links // 2, "peer_timeout_ms": arguments.timeout_ms}
    begun = time.monotonic()
    up = nodes.run(arguments.limit, lambda: nodes.links() == all_links)
    result["all_up_s"] = round(time.monotonic() - begun, 2) if up else None
    result["start_processor_s"] = round(sum(daemon.processor_seconds() for daemon in nodes.daemons), 2)
    own = resource.getrusage(resource.RUSAGE_SELF)
    result["start_benchmark_processor_s"] = round(own.ru_utime + own.ru_stime, 2)
    result["start_failed_attempts"] = sum(daemon.failed for daemon in nodes.daemons)
    if not up:
        result["links_up_percent"] = round(100 * nodes.links() / all_links, 1)

    nodes.run(5) # until what belongs to the start is over
    client = Client(nodes.daemons[0])
    client.start()
    before = [daemon.processor_seconds() for daemon in nodes.daemons]
    begun = time.monotonic()
    nodes.run(arguments.idle)
    seconds = time.monotonic() - begun
    shares = [100 * (daemon.processor_seconds() - was) / seconds
              for daemon, was in zip(nodes.daemons, before)]
    result["idle_s"] = round(seconds, 1)
    result["idle_processor_percent"] = spread(shares[1:]) # the first one has the client
    result["links_up_after_idle_percent"] = round(100 * nodes.links() / all_links, 1)
    result["rss_kib"] = spread([daemon.memory()[0] for daemon in nodes.daemons])
    result["pss_kib"] = spread([daemon.memory()[1] for daemon in nodes.daemons])
    result["descriptors"] = spread([daemon.descriptors() for daemon in nodes.daemons])
    result["client_idle_ms"] = spread(client.take())

    # Stopped, not killed: the kernel would tell the others at once.
    victim = nodes.daemons[-1]
    others = nodes.daemons[:-1]
    for name, number in (("stop", signal.SIGSTOP), ("kill", signal.SIGKILL)):
        if name == "kill":
            victim = others.pop()
        begun = time.monotonic()
        victim.process.send_signal(number)
        known = nodes.run(arguments.limit,
                          lambda: not any(victim.node in daemon.up for daemon in others))
        result[f"{name}_known_by_all_s"] = round(time.monotonic() - begun, 3) if known else None
    client.stopped.set()
    client.join()
    result["client_deaths_ms"] = spread(client.take() or [0])
    result["client_failures"] = client.failures
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("-n", "--nodes", type=int, default=256, help="how many (2 to 2000)")
    parser.add_argument("-i", "--idle", type=float, default=60, help="idle time measured, in seconds")
    parser.add_argument("-t", "--timeout-ms", type=int, default=3000, help="peer-timeout-ms")
    parser.add_argument("-p", "--permanent", type=int, default=256,
                        help="permanent-links: with more nodes, links are made on demand")
    parser.add_argument("-l", "--limit", type=float, default=60,
                        help="seconds after which links or news are no longer waited for")
    parser.add_argument("--rsmd", default=os.environ.get("RSM_RSMD", "build/release/bin/rsmd"))
    arguments = parser.parse_args()
    if not 2 <= arguments.nodes <= 2000:
        parser.error("expected 2 to 2000 nodes")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1)) # so that the daemons end, too
    directory = tempfile.mkdtemp(prefix="rsm-nodes.")
    nodes = None
    try:
        config = write_config(directory, arguments)
        nodes = Nodes(arguments.nodes, directory, arguments.rsmd, config)
        measured = measure if arguments.nodes <= arguments.permanent else measure_on_demand
        print(json.dumps(measured(nodes, arguments), indent=2))
    finally:
        if nodes is not None:
            nodes.end()
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
