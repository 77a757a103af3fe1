# SPDX-License-Identifier: BSD-3-Clause
"""What the machines of one processor have that those of another have not.

A machine of the host's own processor takes its programs from the host. One of another processor takes
them from a sysroot, a folder with Debian for that processor (cmake/toolchains/sysroot.sh makes it):
what lies below it on the host lies at / in the machine.
"""

import functools
import glob
import os
import re
import subprocess

from common import Missing

# What guest/init tells the host; QEMU exits with the status. No value is one that QEMU exits with by
# itself (0: powered off, 1: could not start), `timeout` (124) or a shell (128 + n).
SUCCESS, SKIPPED, FAILURE = 43, 45, 47
STATUS = {SUCCESS: "success", SKIPPED: "skipped", FAILURE: "failure"}


class X86:
    """The host's own."""

    name, machine = "x86-64", "x86_64"
    qemu, package = "qemu-system-x86_64", "qemu-system-x86"
    console, orders = "ttyS0", "ttyS1"
    # Under load the processors' clocks seem apart, and the kernel then takes one that costs microseconds to
    # read. They are the host's. It also panics at the start if the timer does not tick in time.
    append = "mitigations=off nowatchdog tsc=reliable no_timer_check net.ifnames=0"
    sysroot = ""

    @staticmethod
    def qemu_options(options):
        """The machine: q35 has the IOMMU. QEMU exits with 2 * value + 1 when a value is written to the port."""
        machine = ("q35" if options.iommu else "pc") + (",memory-backend=memory" if options.repeat_memory else "")
        return ["-machine", machine, "-cpu", "max", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"]

    @staticmethod
    def serial(chardev):
        """The second serial port."""
        return ["-serial", f"chardev:{chardev}"]

    def guest(self, path):
        """Where a file of the host is in the machine."""
        return path

    def libraries(self, program):
        """The files that the dynamic loader would open, and the loader itself; none of a script."""
        run = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
        lost = re.findall(r"^\s*(\S+) => not found", run.stdout, re.M)
        if lost:
            raise Missing(f"{program} needs {', '.join(lost)}, which is not installed")
        return re.findall(r"(?:^\s*|=> )(/\S+)", run.stdout, re.M)


class Arm64:
    """QEMU's `virt`, which has one serial port of its own; a second one is on the bus."""

    name, machine = "arm64", "aarch64"
    qemu, package = "qemu-system-aarch64", "qemu-system-arm"
    # Emulated pointer authentication would cost more than all else. QEMU ends by a semihosting call, with
    # the status that the program lab-exit gives (tests/arch/exit.c).
    qemu_fixed = ["-machine", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on,sve=off,sme=off",
                  "-semihosting-config", "enable=on,target=native,userspace=on"]
    console, orders = "ttyAMA0", "ttyS0"
    append = "mitigations=off nowatchdog"

    def __init__(self, sysroot):
        self.sysroot = os.path.abspath(sysroot)

    def qemu_options(self, options):
        """The same for each machine."""
        if options.iommu or options.repeat_memory:
            raise Missing("machines for arm64 have neither an IOMMU nor a second view of their memory")
        return self.qemu_fixed

    @staticmethod
    def serial(chardev):
        return ["-device", f"pci-serial,chardev={chardev}"]

    def guest(self, path):
        if path.startswith(self.sysroot + "/"):
            return path[len(self.sysroot):]
        return path

    def libraries(self, program):
        """The same from the dynamic section: the host's loader knows nothing of such a program. What is not
        found is left out: modules of a test may need what that test sets up."""
        found, left = [], [program]
        while left:
            dynamic = self.dynamic(left.pop())
            folders = [folder for entry in re.findall(r"\(RU?N?PATH\).*\[(.*)\]", dynamic)
                       for folder in entry.split(":")]
            folders += [f"{self.sysroot}{folder}/aarch64-linux-gnu" for folder in ("/lib", "/usr/lib")]
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
                path = next((f"{folder}/{name}" for folder in folders
                             if os.path.exists(f"{folder}/{name}")), None)
                if path and path not in found:
                    found.append(path)
                    left.append(path)
        if found:
            found.append(f"{self.sysroot}/lib/ld-linux-aarch64.so.1")
        return found

    @staticmethod
    @functools.lru_cache(maxsize=None)
    def dynamic(program):
        run = subprocess.run(["readelf", "-dW", program], capture_output=True, text=True, check=False)
        return run.stdout


def choose(name, sysroot):
    """The processor called `name`, of --processor."""
    if name == "x86-64":
        if os.uname().machine != "x86_64":
            raise Missing(f"machines for x86-64 need a host of that processor, this is {os.uname().machine}")
        return X86()
    if not glob.glob(f"{sysroot}/boot/vmlinuz-*"):
        raise Missing(f"there is no Debian for arm64 in {sysroot} (./dev test arch makes it)")
    return Arm64(sysroot)
