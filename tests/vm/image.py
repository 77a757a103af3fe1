# SPDX-License-Identifier: BSD-3-Clause
"""The initramfs of a machine: everything it has lies at the path it has on the host.

Two archives follow each other, as the kernel allows: the system (tools, rdma providers, kernel
modules), which is kept until one of its files changes, and the programs of the test, made anew.
"""

import glob
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import tempfile

from common import Missing, replace
from kernel import DISK_MODULES, MODULES, ON_DEMAND, RXE_MODULES

HERE = os.path.dirname(os.path.abspath(__file__))

# Command and the Debian package that has it.
TOOLS = {
    "bash": "bash", "ip": "iproute2", "tc": "iproute2", "ss": "iproute2", "rdma": "iproute2",
    "ibv_devices": "ibverbs-utils", "ibv_devinfo": "ibverbs-utils",
    "ibv_rc_pingpong": "ibverbs-utils", "rping": "rdmacm-utils",
    "munged": "munge", "ib_write_lat": "perftest", "ib_read_lat": "perftest", "ib_write_bw": "perftest",
    "ib_read_bw": "perftest",
}
# Nice to have where the host has them.
OPTIONAL_TOOLS = ["munge", "unmunge", "strace"]
# A machine of another processor has no devices, and its tools are those of its sysroot.
SYSROOT_TOOLS = {"bash": "bash", "ip": "iproute2", "ss": "iproute2"}
SYSROOT_OPTIONAL_TOOLS = ["strace", "setpriv", "perl"]
HOST_TOOLS = {"cpio": "cpio", "modprobe": "kmod", "depmod": "kmod", "zstd": "zstd"}
SEARCH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


def which(command, package):
    path = shutil.which(command, path=SEARCH)
    if not path:
        raise Missing(f"{command} is not installed (package {package})")
    return path


def inside(processor, command, package):
    """A program of the machine."""
    if not processor.sysroot:
        return which(command, package)
    path = shutil.which(command, path=":".join(f"{processor.sysroot}/{folder}" for folder in
                                               ("usr/bin", "usr/sbin", "bin", "sbin")))
    if not path:
        raise Missing(f"{processor.sysroot} has no {command} (package {package})")
    return path


def busybox(processor):
    path = inside(processor, "busybox", "busybox-static")
    if processor.libraries(path):
        raise Missing(f"{path} is not a static program (package busybox-static)")
    return path


def providers():
    """The user-space drivers of soft-RoCE, which libibverbs loads by name."""
    found = glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
    if not found or not os.path.exists("/etc/libibverbs.d/rxe.driver"):
        raise Missing("there is no soft-RoCE provider (package ibverbs-providers)")
    return found


def loaded_by_libc(processor):
    """What pthread_exit() and pthread_cancel() load by name."""
    root = processor.sysroot
    found = glob.glob(f"{root}/usr/lib/*-linux-gnu/libgcc_s.so.1") or \
        glob.glob(f"{root}/lib/*-linux-gnu/libgcc_s.so.1")
    if not found:
        raise Missing("there is no libgcc_s.so.1 (package libgcc-s1)")
    return found


class Archive:
    """Files to pack: guest path to host path, or to bytes."""

    def __init__(self, processor):
        self.entries, self.processor = {}, processor

    def file(self, path, guest=None):
        self.entries[merged(guest or self.processor.guest(path))] = path

    def program(self, path, guest=None):
        """A program or shared object with all that it is linked to."""
        self.file(path, guest)
        for library in self.processor.libraries(path):
            self.file(library)

    def tree(self, path, guest):
        """A folder's files, but what only a compiler reads; with what its programs are linked to."""
        for folder, folders, names in os.walk(path):
            folders[:] = [name for name in folders if name != "CMakeFiles"]
            for name in names:
                host = os.path.join(folder, name)
                if not name.endswith((".a", ".o", ".cmake")):
                    self.file(host, os.path.join(guest, os.path.relpath(host, path)))
                    for library in self.processor.libraries(host) if is_elf(host) else []:
                        self.file(library)

    def text(self, guest, content):
        self.entries[merged(guest)] = content.encode()

    def key(self):
        """Changes when anything does that would change the archive."""
        digest = hashlib.sha256()
        for guest, host in sorted(self.entries.items()):
            if isinstance(host, bytes):
                digest.update(repr((guest, host)).encode())
            else:
                stat = os.stat(host)
                digest.update(repr((guest, host, stat.st_size, stat.st_mtime_ns,
                                    stat.st_mode)).encode())
        return digest.hexdigest()

    def pack(self):
        with tempfile.TemporaryDirectory(prefix="rsm-lab-") as root:
            for link in ["bin", "sbin", "lib", "lib64"]:
                os.makedirs(f"{root}/usr/{link}")
                os.symlink(f"usr/{link}", f"{root}/{link}")
            for guest, host in self.entries.items():
                place(root + guest, host)
            if self.processor.sysroot:  # programs that were linked there name their loader by this path
                os.makedirs(os.path.dirname(root + self.processor.sysroot), exist_ok=True)
                os.symlink("/", root + self.processor.sysroot)
            names = subprocess.run(["find", ".", "-mindepth", "1", "-print0"], cwd=root,
                                   stdout=subprocess.PIPE, check=True).stdout
            # -R: whoever packs it, in the machine the files are root's.
            return subprocess.run(["cpio", "--null", "-o", "-H", "newc", "-R", "0:0", "--quiet"],
                                  cwd=root, input=names, stdout=subprocess.PIPE, check=True).stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def merged(path):
    """/lib and its like are links into /usr in the machine, whatever they are on the host."""
    return re.sub(r"^/(bin|sbin|lib|lib64)/", r"/usr/\1/", os.path.normpath(path))


def place(target, host):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if isinstance(host, bytes):
        with open(target, "wb") as file:
            file.write(host)
    elif target.endswith(".ko") and host.endswith(".xz"):
        with lzma.open(host) as source, open(target, "wb") as file:
            shutil.copyfileobj(source, file)
    elif target.endswith(".ko") and host.endswith(".zst"):
        subprocess.run(["zstd", "-dcq", host, "-o", target], check=True)
    else:
        shutil.copy(host, target)


def devices(archive):
    """Of a machine with soft-RoCE: tools, and what libibverbs loads."""
    for command, package in TOOLS.items():
        archive.program(which(command, package))
    for command in OPTIONAL_TOOLS:
        path = shutil.which(command, path=SEARCH)
        if path:
            archive.program(path)
    for provider in providers():
        archive.program(provider)
    archive.file("/etc/libibverbs.d/rxe.driver")


def sysroot_tools(archive):
    for command, package in SYSROOT_TOOLS.items():
        archive.program(inside(archive.processor, command, package))
    for command in SYSROOT_OPTIONAL_TOOLS:
        try:
            archive.program(inside(archive.processor, command, command))
        except Missing:
            pass
    for folder in glob.glob(f"{archive.processor.sysroot}/usr/lib/*/perl-base"):
        archive.tree(folder, archive.processor.guest(folder))


def system(kernel, processor):
    """The part that all machines with this kernel have in common."""
    archive = Archive(processor)
    for command, package in HOST_TOOLS.items():
        which(command, package)
    archive.file(busybox(processor), "/usr/bin/busybox")
    if processor.sysroot:
        sysroot_tools(archive)
    else:
        devices(archive)
    for library in loaded_by_libc(processor):
        archive.program(library)
    archive.text("/etc/passwd", "root:x:0:0:root:/:/bin/bash\n"
                                "daemon:x:1:1:daemon:/:/bin/false\n"
                                "rsm-tcpd:x:100:100:rsm-tcpd:/:/bin/false\n"
                                "nobody:x:65534:65534:nobody:/:/bin/false\n")
    archive.text("/etc/group", "root:x:0:\ndaemon:x:1:\nrsm-tcpd:x:100:\nnogroup:x:65534:\n")
    archive.text("/etc/hosts", "127.0.0.1 localhost\n10.9.0.1 node1\n10.9.0.2 node2\n")
    archive.text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")
    if processor.sysroot: # no modules are needed there
        archive.text("/lab/modules/order", "")
        return archive
    loaded = add_modules(archive, kernel.modules(MODULES + (RXE_MODULES if kernel.has_rxe() else [])))
    add_modules(archive, kernel.modules(ON_DEMAND))
    archive.text("/lab/modules/order", "".join(name + "\n" for name in loaded))
    return archive


def add_modules(archive, files):
    """Their names in /lab/modules, in the order in which they are loaded."""
    names = [os.path.basename(file).split(".ko")[0] + ".ko" for file in files]
    for file, name in zip(files, names):
        archive.file(file, f"/lab/modules/{name}")
    return names


def boot(kernel, processor):
    """The part of machines that have their system on a disk."""
    archive = Archive(processor)
    for command, package in HOST_TOOLS.items():
        which(command, package)
    archive.file(busybox(processor), "/usr/bin/busybox")
    names = add_modules(archive, kernel.modules(DISK_MODULES))
    archive.text("/lab/modules/order", "".join(name + "\n" for name in names))
    return archive


def make(kernel, extra, cache, target, disk=False):
    """Write the initramfs: the system part out of the cache, and `extra` (an Archive)."""
    name, part = ("boot", boot(kernel, extra.processor)) if disk else ("system", system(kernel, extra.processor))
    key = part.key()
    kept = os.path.join(cache, f"{name}-{kernel.version}-{key[:16]}.cpio")
    if not os.path.exists(kept):
        for old in glob.glob(os.path.join(cache, f"{name}-{glob.escape(kernel.version)}-*.cpio")):
            os.unlink(old)
        replace(kept, part.pack())
    extra.tree(os.path.join(HERE, "guest"), "/lab/guest")
    extra.file(os.path.join(HERE, "guest", "init"), "/init")
    with open(kept, "rb") as file:
        replace(target, file.read() + extra.pack())
