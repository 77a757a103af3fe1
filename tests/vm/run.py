# SPDX-License-Identifier: BSD-3-Clause
"""Run a script in one to three virtual machines with soft-RoCE devices or a bridge.

Exit status: 0 success, 77 not run (the reason is printed), 1 anything else: the script failed, a
machine panicked, ended without a report or took longer than --timeout. doc/lab.md explains more.
"""

import argparse
import fcntl
import glob
import os
import re
import secrets
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import image
import kernel as kernels
from common import Missing
from machine import Machine, die_with_parent
from processor import choose as choose_processor

SKIPPED = 77
# Part of the time-out after which the machine's own watchdog speaks, which knows more.
WATCHDOG_PART = 2 / 3
# When one machine has failed, what the other may take to end by itself.
AFTER_FAILURE_S = 10
# A kernel that is being started may panic: code that it changes while another processor runs it is
# a race under emulation, and more so on a busy host. Or it stands still, or its clock runs wrong. Then all
# machines are started again.
STARTS = 3
# Of the bridge between two machines: memory and doorbells (tests/vm/kernel/ntb_hw_ivshmem).
BRIDGE_BYTES = 64 << 20
BRIDGE_VECTORS = 9


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default=os.environ.get("RSM_LAB_KERNEL", ""),
                        help='series to boot, e.g. "6.12", or "cloud": Debian\'s for clouds, without soft-RoCE; '
                             'default: the newest that is installed')
    parser.add_argument("--machines", type=int, choices=[1, 2, 3], default=1,
                        help="three: the middle one has a bridge and a network to each other one")
    parser.add_argument("--smp", type=int, default=2, help="processors of a machine")
    parser.add_argument("--memory", type=int, default=1024, help="MiB of a machine")
    parser.add_argument("--accel", default=os.environ.get("RSM_LAB_ACCEL", "tcg,thread=multi"),
                        help="QEMU's; emulation unless given, which is the same on every host")
    parser.add_argument("--append", default="", metavar="WORDS", help="parameters for the machines' kernels")
    parser.add_argument("--timeout", type=float, default=120, help="seconds, of everything")
    parser.add_argument("--program", action="append", default=[], metavar="PATH",
                        help="a program or shared object; it and its libraries keep their paths")
    parser.add_argument("--file", action="append", default=[], metavar="PATH[=GUEST]")
    parser.add_argument("--tree", action="append", default=[], metavar="FOLDER",
                        help="a folder with all that is in it but a compiler's files")
    parser.add_argument("--processor", choices=["x86-64", "arm64"], default="x86-64")
    parser.add_argument("--sysroot", default=os.path.join(image.HERE, "../../build/sysroot/arm64"),
                        help="Debian for another processor than x86-64")
    parser.add_argument("--modules", metavar="FOLDER",
                        help="kernel modules, in FOLDER/VERSION; they get to /lab/built")
    parser.add_argument("--bridge", action="store_true", help="a bridge: each machine has an end of it, one "
                        "machine alone has both")
    parser.add_argument("--repeat-memory", action="store_true", help="the machine's memory is that of a "
                        "device, too (ntb_hw_ivshmem's parameter pages)")
    parser.add_argument("--edu", action="store_true", help="QEMU's edu device, and memory for a window "
                        "(tests/vm/kernel/ntb_hw_edu)")
    parser.add_argument("--iommu", action="store_true", help="an IOMMU that translates for every device")
    parser.add_argument("--peer", metavar="PROGRAM", help="on the host, in place of the second "
                        "machine on the bridge: reads notes, writes notes")
    parser.add_argument("--disk", action="append", default=[], metavar="IMAGE",
                        help="a disk of each machine, whose contents stay as they are. The first one has a system with "
                        "systemd, which runs the script when it is up (tests/vm/packages)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--name", help="of the log folder; default: the script's")
    parser.add_argument("--verbose", action="store_true", default=sys.stdout.isatty(),
                        help="show the consoles while they run")
    parser.add_argument("--shell", action="store_true", help="a shell on the console of one machine")
    parser.add_argument("--check", action="store_true",
                        help="only say whether the lab can run here")
    parser.add_argument("--list-kernels", action="store_true",
                        help="only print the versions of the kernels that can be booted")
    parser.add_argument("--which-kernel", action="store_true",
                        help="only print the version that would be booted, and the root that has its lib/modules")
    parser.add_argument("script", nargs="?")
    parser.add_argument("argument", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if not (options.shell or options.check or options.list_kernels or options.which_kernel or options.script):
        parser.error("a script is needed, or --shell or --check")
    if options.shell and options.machines != 1:
        parser.error("--shell is for one machine")
    return options


def required(options):
    """Whether a lab that cannot run is a failure. A second kernel is so only where asked for."""
    if options.kernel:
        series = "".join(c for c in options.kernel.upper() if c.isalnum())
        return os.environ.get(f"RSM_LAB_KERNEL{series}_REQUIRED") == "1"
    return os.environ.get("RSM_LAB_REQUIRED") == "1"


def not_run(reason, failure):
    print(f"lab: not run: {reason}")
    return 1 if failure else SKIPPED


def cache_folder():
    """Where ./dev keeps what the lab makes, else the build's folder."""
    path = os.path.join(image.HERE, "../../build")
    if not os.path.isdir(path):
        path = os.environ.get("RSM_BUILD_DIR", path)
    path = os.path.realpath(os.environ.get("RSM_LAB_CACHE", os.path.join(path, "lab")))
    os.makedirs(path, exist_ok=True)
    return path


def extra(options, kernel):
    """The test's own part of the initramfs."""
    archive = image.Archive(options.processor)
    if options.modules:
        built = glob.glob(os.path.join(options.modules, glob.escape(kernel.version), "*.ko"))
        if not built:
            raise Missing(f"there are no modules for kernel {kernel.version} in {options.modules} "
                          "(./dev build kernel)")
        for module in built:
            archive.file(os.path.abspath(module), f"/lab/built/{os.path.basename(module)}")
    for program in options.program:
        archive.program(os.path.abspath(program))
    for entry in options.file:
        host, _, guest = entry.partition("=")
        archive.file(os.path.abspath(host), os.path.abspath(guest or host))
    lines = [f"export {name}={shlex.quote(value)}"
             for name, _, value in (entry.partition("=") for entry in options.env)]
    archive.text("/lab/environment", "".join(line + "\n" for line in lines))
    for folder in options.tree:
        archive.tree(os.path.abspath(folder), os.path.abspath(folder))
    if options.script:
        archive.file(os.path.abspath(options.script), "/lab/script")
    archive.text("/lab/arguments", " ".join(map(shlex.quote, options.argument)) + "\n")
    return archive


class Lab:
    """The machines of one run, and the loop that serves them."""

    def __init__(self, options, directory, logs):
        self.options, self.logs, self.directory = options, logs, directory
        self.deadline = time.monotonic() + options.timeout
        self.selector = selectors.DefaultSelector()
        self.machines = []
        nonce = secrets.token_hex(8)
        for number in range(1, options.machines + 1):
            self.machines.append(Machine(number, options, nonce, directory, logs))
        self.frozen = set()
        self.notes = []
        self.cut_short = False  # a machine failed, the others had no chance
        self.bridges = [self.start_bridge(number) for number in range(max(1, options.machines - 1))] \
            if options.bridge else []
        self.peer = None
        if options.peer:
            self.peer = subprocess.Popen(
                [sys.executable, "-B", options.peer, os.path.join(directory, "bridge0")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
            self.selector.register(self.peer.stdout, selectors.EVENT_READ, (None, self.peer_says))

    def start_bridge(self, number):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(self.directory, f"bridge{number}"))
            listener.listen(4)
            return subprocess.Popen(
                [sys.executable, "-B", os.path.join(image.HERE, "ivshmem.py"),
                 str(listener.fileno()), str(BRIDGE_BYTES), str(BRIDGE_VECTORS)],
                pass_fds=[listener.fileno()], preexec_fn=die_with_parent)

    def peer_says(self, _):
        line = self.peer.stdout.readline()
        if line:
            self.note(line.decode().strip())
        else:  # it failed; the guest will miss it
            self.selector.unregister(self.peer.stdout)

    def note(self, word):
        self.notes.append(word)
        for machine in self.machines:
            machine.tell(word)

    def start(self, vmlinux, initramfs):
        limit = int(self.options.timeout * WATCHDOG_PART)
        mode = "shell" if self.options.shell else "system" if self.options.disk else "script"
        self.append = f"lab.machines={self.options.machines} lab.mode={mode} lab.limit={limit} " \
            f"{self.options.append}"
        self.boot = (vmlinux, initramfs)
        for machine in self.machines:
            self.start_machine(machine, 1)

    def start_machine(self, machine, life):
        machine.start(*self.boot, f"{self.append} lab.life={life}")
        self.selector.register(machine.console, selectors.EVENT_READ, (machine, self.console))
        self.selector.register(machine.listener, selectors.EVENT_READ, (machine, self.connected))

    def restart(self, machine):
        """As if somebody had pressed the machine's reset button: its memory is lost."""
        self.selector.unregister(machine.console)
        for port in (machine.orders, machine.listener):
            if port and port.fileno() in self.selector.get_map():
                self.selector.unregister(port)
        machine.end()
        self.frozen.discard(machine)
        self.start_machine(machine, machine.life + 1)

    def console(self, machine):
        lines = machine.read_console()
        if lines is None:
            self.selector.unregister(machine.console)
            os.close(machine.console)
            machine.console = None
            machine.process.wait()
            if machine.verdict()[0] == "failure":
                self.deadline = min(self.deadline, time.monotonic() + AFTER_FAILURE_S)
                self.cut_short = len(self.machines) > 1
        elif self.options.verbose:
            for line in lines:
                print(f"{machine.number}| {line}", flush=True)

    def connected(self, machine):
        machine.accept_orders()
        self.selector.unregister(machine.listener)
        self.selector.register(machine.orders, selectors.EVENT_READ, (machine, self.ordered))

    def ordered(self, machine):
        lines = machine.read_orders()
        if lines is None:
            self.selector.unregister(machine.orders)
            machine.orders.close()
            machine.orders = None
            return
        for line in lines:
            self.obey(machine, line.split())

    def obey(self, sender, words):
        """What guest/lab.sh sends: `hello` when it listens, `note TEXT` for everybody, or VERB
        MACHINE."""
        if words == ["hello"]:
            sender.listens = True
            for note in self.notes:
                sender.tell(note)
            return
        print(f"lab: machine {sender.number} asks: {' '.join(words)}", flush=True)
        if len(words) == 2 and words[0] == "note":
            self.note(words[1])
            if self.peer:
                self.peer.stdin.write(words[1].encode() + b"\n")
                self.peer.stdin.flush()
            return
        verbs = {"kill": Machine.kill, "freeze": Machine.freeze, "thaw": Machine.thaw,
                 "restart": self.restart,
                 "unplug": lambda m: m.set_link(False), "plug": lambda m: m.set_link(True)}
        if len(words) != 2 or words[0] not in verbs or \
                words[1] not in [str(m.number) for m in self.machines]:
            raise RuntimeError(f"machine {sender.number} asks for nonsense: {words}")
        machine = self.machines[int(words[1]) - 1]
        verbs[words[0]](machine)
        if words[0] in ("freeze", "thaw"):
            (set.add if words[0] == "freeze" else set.discard)(self.frozen, machine)
        sender.tell(f"{words[0]}-{words[1]}")  # done

    def serve(self):
        """Until all have ended, or are frozen while the others have ended; False: time-out."""
        if self.options.shell:
            self.machines[0].process.wait()
            return True
        while True:
            running = [m for m in self.machines if m.console is not None]
            if not running:
                return True
            if all(machine in self.frozen for machine in running):
                for machine in running:
                    machine.kill()
            for machine in running:
                if machine not in self.frozen:
                    machine.check_boot()
            left = self.deadline - time.monotonic()
            if left <= 0:
                for machine in running:
                    machine.late = True
                return False
            for key, _ in self.selector.select(min(left, 5)):
                machine, handler = key.data
                if handler != self.console or key.fileobj == machine.console:
                    handler(machine)

    def stop(self):
        for machine in self.machines:
            machine.stop()
        for process in [self.peer] + self.bridges:
            if process:
                process.kill()
                process.wait()

    def judge(self, in_time):
        """The exit status; says why."""
        outcomes = []
        for machine in self.machines:
            outcome, text = machine.verdict()
            if not in_time and machine.late:
                outcome = "failure"
                text = "was ended because the other one had failed" if self.cut_short else \
                    f"was not done after {self.options.timeout:g} s"
            outcomes.append(outcome)
            for line in machine.results:
                print(f"{machine.number}| {line}")
            print(f"lab: machine {machine.number}: {text}")
            if outcome == "skipped":
                reasons = [line for line in machine.tail if line.startswith("lab: not run: ")]
                print("\n".join(reasons))
        if not in_time or "failure" in outcomes or set(outcomes) == {"killed"}:
            self.show()
            return 1
        if "skipped" in outcomes:
            return not_run("the script could not", required(self.options))
        return 0

    def show(self):
        for machine in self.machines:
            name = f"{self.logs}/console.{machine.number}.log"
            print(f"lab: machine {machine.number}: all of its console: {name}")
            if not self.options.verbose:
                print(f"lab: machine {machine.number}: end of its console:")
                for line in machine.tail:
                    print(f"{machine.number}| {line}")


def prepare(options, cache):
    """(vmlinux, initramfs) with everything in them."""
    options.processor = choose_processor(options.processor, options.sysroot)
    image.which(options.processor.qemu, options.processor.package)
    with open(os.path.join(cache, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sysroot = options.processor.sysroot
        kernel = kernels.of_sysroot(options.kernel, sysroot) if sysroot else kernels.choose(options.kernel, cache)
        print(f"lab: kernel {kernel.version}, {options.machines} machine(s)", flush=True)
        for old in glob.glob(os.path.join(cache, "run-*.cpio")):  # of runs that were killed
            if not os.path.exists(f"/proc/{re.findall(r'[0-9]+', os.path.basename(old))[0]}"):
                os.unlink(old)
        initramfs = os.path.join(cache, f"run-{os.getpid()}.cpio")
        image.make(kernel, extra(options, kernel), cache, initramfs, bool(options.disk))
        return kernel.vmlinux(cache), initramfs


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # by way of every finally
    options = arguments()
    cache = cache_folder()
    if options.list_kernels:
        print("\n".join(sorted({k.version for k in kernels.candidates(cache) if k.has_rxe()})))
        return 0
    name = options.name or os.path.basename(options.script or "shell").split(".")[0]
    logs = os.path.join(cache, "logs", name)
    try:
        if options.which_kernel:
            kernel = kernels.choose(options.kernel, cache)
            print(kernel.version, kernel.root)
            return 0
        vmlinux, initramfs = prepare(options, cache)
        if options.check:
            os.unlink(initramfs)
            return 0
    except Missing as missing:
        return not_run(missing, required(options))
    shutil.rmtree(logs, ignore_errors=True)
    try:
        for start in range(1, STARTS + 1):
            lab, in_time = run(options, logs, vmlinux, initramfs)
            failed = [machine for machine in lab.machines if machine.failed_to_start()]
            if not failed or start == STARTS:
                break
            print(f"lab: machine {failed[0].number}: {failed[0].verdict()[1]}, at the start, before the "
                  f"test began; starting again", flush=True)
            lab.show()
    finally:
        os.unlink(initramfs)
    return 0 if options.shell else lab.judge(in_time)


def run(options, logs, vmlinux, initramfs):
    """Start the machines and serve them to their end."""
    # Of the sockets: their paths must be short.
    directory = tempfile.mkdtemp(prefix="rsm-lab-")
    os.makedirs(logs, exist_ok=True)
    lab = Lab(options, directory, logs)
    try:
        lab.start(vmlinux, initramfs)
        in_time = lab.serve()
    finally:
        lab.stop()
        shutil.rmtree(directory)
    return lab, in_time


if __name__ == "__main__":
    sys.exit(main())
