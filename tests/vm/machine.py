# SPDX-License-Identifier: BSD-3-Clause
"""One virtual machine: its QEMU process, console, orders from inside, and verdict."""

import collections
import ctypes
import json
import os
import re
import signal
import socket
import subprocess
import time

from processor import STATUS

TAIL_LINES = 80
CLOCK_SLACK_S = 1
BOOT_S = 150  # of which a start takes ten, and on a busy host some tens; now and then a kernel stops there


def die_with_parent():
    """In the child, before QEMU: SIGKILL for it when this process goes, however it goes."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Machine:
    """Number 1 to 3. `interactive` gives the console to the terminal."""

    def __init__(self, number, options, nonce, directory, logs):
        self.number, self.nonce, self.directory = number, nonce, directory
        self.options, self.processor = options, options.processor
        self.tail = collections.deque(maxlen=TAIL_LINES)
        self.results = []     # what a test wants to be seen even if it succeeds
        self.partial = b""
        self.reported = None  # the status that the guest printed
        self.panicked = False
        self.fast = False     # its clock runs faster than time
        self.stuck = False    # its system does not come up
        self.began = False    # the system is up: what comes from here on may be the test's doing
        self.late = False     # still running when the time was over
        self.killed = False   # because a guest asked for it
        self.process = self.console = self.orders = None
        self.order_bytes = b""
        self.listens = False
        self.memory = None
        self.life = 0         # how often it was started
        self.log = open(os.path.join(logs, f"console.{number}.log"), "w", encoding="utf-8")

    def start(self, vmlinux, initramfs, append):
        reader, writer = os.pipe()
        serial = ["-chardev", f"file,id=console,path=/dev/fd/{writer}",
                  "-serial", "chardev:console"]
        if self.options.shell:
            serial = ["-serial", "mon:stdio"]
        command = [self.processor.qemu, "-name", f"rsm-lab-{self.number}",
                   "-accel", self.options.accel,
                   "-m", str(self.options.memory), "-smp", str(self.options.smp),
                   "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                   "-qmp", f"unix:{self.path('qmp')},server=on,wait=off",
                   "-kernel", vmlinux, "-initrd", initramfs,
                   "-append", f"console={self.processor.console} quiet panic=-1 oops=panic"
                              f" {self.processor.append}"
                              f" rcupdate.rcu_cpu_stall_suppress=1 lab.machine={self.number}"
                              f" lab.console={self.processor.console} lab.orders={self.processor.orders}"
                              f" lab.nonce={self.nonce} {append}"
                              f"{' intel_iommu=on' if self.options.iommu else ''}"]
        self.life += 1
        command += self.processor.qemu_options(self.options) + self.repeated_memory()
        command += serial + self.order_port() + self.network() + self.bridge() + self.edu() + self.disks()
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command, stdin=None if self.options.shell else subprocess.DEVNULL,
            pass_fds=[writer], preexec_fn=die_with_parent)
        os.close(writer)
        os.set_blocking(reader, False)
        self.console = reader

    def path(self, name):
        return os.path.join(self.directory, f"{name}.{self.number}")

    def order_port(self):
        """The guest's second serial port: a socket that this process made before QEMU starts."""
        listener = socket.socket(socket.AF_UNIX)
        if self.life > 1:
            os.unlink(self.path("orders"))
        listener.bind(self.path("orders"))
        listener.listen(1)
        self.listener = listener
        return ["-chardev", f"socket,id=orders,path={self.path('orders')}"] + \
            self.processor.serial("orders")

    def links(self):
        """To the neighbours: (number of the link, the neighbour's). Link N joins machines N + 1 and N + 2."""
        return [(link, link + 1 if self.number == link + 2 else link + 2)
                for link in (self.number - 2, self.number - 1)
                if 0 <= link < self.options.machines - 1]

    def network(self):
        """Datagrams between unix sockets. `-netdev socket` loses ping-pong traffic."""
        words = []
        for link, neighbour in self.links():
            name = "net" if link == 0 else f"net{link}"
            own, peer = (os.path.join(self.directory, f"{name}.{number}")
                         for number in (self.number, neighbour))
            words += ["-netdev", f"dgram,id={name},local.type=unix,local.path={own},"
                                 f"remote.type=unix,remote.path={peer}",
                      "-device", f"virtio-net-pci,netdev={name},"
                                 f"mac=52:54:00:00:{link:02}:0{self.number},romfile="]
        return words

    def bridge(self):
        """What tests/vm/kernel/ntb_hw_ivshmem drives. A machine alone has both ends."""
        if not self.options.bridge:
            return []
        ends = [link for link, _ in self.links()] or ([0] if self.options.peer else [0, 0])
        return [word for end, link in enumerate(ends)
                for word in ("-chardev", f"socket,id=bridge{end},"
                                         f"path={os.path.join(self.directory, f'bridge{link}')}",
                             "-device", f"ivshmem-doorbell,chardev=bridge{end},vectors=9")]

    def edu(self):
        """What tests/vm/kernel/ntb_hw_edu drives: a device with a DMA engine, and memory that a window can be. The
        IOMMU comes before the devices that it translates for."""
        words = ["-device", "intel-iommu"] if self.options.iommu else []
        if self.options.edu:
            words += ["-device", "edu,dma_mask=0xffffffffffffffff",
                      "-object", "memory-backend-ram,id=window,size=16M",
                      "-device", "ivshmem-plain,memdev=window"]
        return words

    def disks(self):
        """What a machine writes to a disk is lost with the machine."""
        return [word for disk in self.options.disk
                for word in ("-drive", f"file={os.path.realpath(disk)},format=raw,if=virtio,snapshot=on,cache=unsafe")]

    def repeated_memory(self):
        """The machine's memory a second time, as that of a device: what a bridge of hardware shows of the host's
        own pages. The descriptor ends with QEMU's own ones."""
        if not self.options.repeat_memory:
            return []
        if self.memory is not None:
            os.close(self.memory)
        self.memory = os.memfd_create("memory")
        os.ftruncate(self.memory, self.options.memory << 20)
        back_end = (f"size={self.options.memory}M,share=on,"
                    f"mem-path=/proc/{os.getpid()}/fd/{self.memory}")
        return ["-object", f"memory-backend-file,id=memory,{back_end}",
                "-object", f"memory-backend-file,id=again,{back_end}",
                "-device", "ivshmem-plain,memdev=again"]

    # --- console ---------------------------------------------------------------------------

    def read_console(self):
        """Take what the console has; the complete lines, or None at its end."""
        try:
            data = os.read(self.console, 65536)
        except BlockingIOError:
            return []
        if not data:
            return None
        *complete, self.partial = (self.partial + data).split(b"\n")
        lines = [line.rstrip(b"\r").decode(errors="replace") for line in complete]
        for line in lines:
            self.line(line)
        return lines

    def line(self, line):
        """The log has the seconds since the start before each line."""
        self.tail.append(line)
        self.log.write(f"{time.monotonic() - self.started:7.2f} {line}\n")
        self.log.flush()
        # Not at the start of a line: a program may have ended without a newline.
        report = re.search(rf"lab: status {self.nonce} (\d+)$", line)
        if report:
            self.reported = int(report.group(1))
        if line.startswith("result: "):
            self.results.append(line)
        if "Kernel panic" in line:
            self.panicked = True
        up = re.match(r"lab: \S+, \d+ processors, up after (\d+\.\d+) s", line)
        if up:
            self.began = True
            self.check_clock(float(up.group(1)))

    def check_clock(self, uptime):
        """A kernel that measures its processor's clock while the host has no time for it may find a tenth of
        its speed. All that waits in that machine then gives up too early, and two machines' times differ."""
        if uptime > time.monotonic() - self.started + CLOCK_SLACK_S:
            self.fast = True
            self.process.kill()

    def check_boot(self):
        """Under emulation a kernel may stop for good before it has said a word."""
        if not self.began and time.monotonic() > self.started + BOOT_S:
            self.stuck = True
            self.process.kill()

    # --- orders ----------------------------------------------------------------------------

    def accept_orders(self):
        self.orders, _ = self.listener.accept()
        self.orders.setblocking(False)

    def read_orders(self):
        """Complete lines that the guest wrote to that port; None when the port has gone."""
        try:
            data = self.orders.recv(4096)
        except BlockingIOError:
            return []
        except ConnectionError:
            data = b""
        if not data:
            return None
        *complete, self.order_bytes = (self.order_bytes + data).split(b"\n")
        return [line.strip().decode(errors="replace") for line in complete]

    def tell(self, text):
        """A line for the guest's port, which loses what comes before somebody listens. A machine
        that is dead or frozen need not get it."""
        if self.listens and self.orders and self.process.poll() is None:
            try:
                self.orders.send(text.encode() + b"\n")
            except OSError:
                pass

    def kill(self):
        """One that had ended by itself before was not killed, whatever the test thinks."""
        if self.process.poll() is None:
            self.killed = True
            self.process.kill()

    def end(self):
        """Before it is started once more: nothing of this life is left, and nothing of it counts."""
        self.process.kill()
        self.process.wait()
        os.close(self.console)
        self.listener.close()
        if self.orders:
            self.orders.close()
        self.console = self.orders = self.reported = None
        self.partial = self.order_bytes = b""
        self.listens = self.began = self.panicked = self.fast = self.stuck = False

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def set_link(self, up):
        """Plug or unplug the machine's network cable."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(30)
            monitor.connect(self.path("qmp"))
            stream = monitor.makefile("rw")
            stream.readline()  # greeting
            for command in ({"execute": "qmp_capabilities"},
                            {"execute": "set_link", "arguments": {"name": "net", "up": up}}):
                stream.write(json.dumps(command) + "\n")
                stream.flush()
                while True:
                    answer = json.loads(stream.readline())
                    if "error" in answer:
                        raise RuntimeError(f"QEMU refused {command}: {answer['error']}")
                    if "return" in answer:
                        break

    def failed_to_start(self):
        """Whether it came to grief before any program of the test could have a part in it."""
        return self.fast or self.stuck or (self.panicked and not self.began)

    def stop(self):
        """Nothing of it is left afterwards."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
        if self.partial:
            self.line(self.partial.decode(errors="replace"))
            self.partial = b""
        if self.memory is not None:
            os.close(self.memory)
            self.memory = None
        self.log.close()

    # --- verdict ---------------------------------------------------------------------------

    def verdict(self):
        """(outcome, text), for a machine whose process has ended. Success needs both: QEMU's exit
        status and the line with this run's nonce; they must agree."""
        status = self.process.returncode
        outcome = STATUS.get(status)
        if self.fast:
            return "failure", "its clock runs too fast"
        if self.stuck:
            return "failure", f"it was not up after {BOOT_S} s"
        if self.panicked:
            return "failure", "its kernel panicked"
        if self.killed:
            return "killed", "was killed, as the test wanted"
        if outcome is None and self.reported is None:
            return "failure", f"ended without a report (QEMU's status {status})"
        said = {0: "success", 77: "skipped"}.get(self.reported, "failure")
        if self.reported is None or outcome != said:
            return "failure", (f"contradicts itself: status {self.reported} on its console, "
                               f"QEMU's status {status}")
        if outcome == "failure":
            return outcome, f"the script ended with status {self.reported}"
        return outcome, outcome
