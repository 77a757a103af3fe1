# SPDX-License-Identifier: BSD-3-Clause
"""Which kernel the machines boot, its uncompressed image and its modules."""

import glob
import lzma
import os
import re
import shutil
import struct
import subprocess
import zlib

from common import Missing, newer, replace

# Of a machine.
MODULES = ["veth", "sch_netem", "virtio_pci", "virtio_net"]
# Of soft-RoCE, where the kernel has it. rdma_rxe asks for "crc32" by name, so no dependency is recorded.
RXE_MODULES = ["crc32_generic", "rdma_rxe", "rdma_ucm"]
# Debian's kernels for clouds, which have no soft-RoCE: part of their versions.
CLOUD = "cloud"
# Of one that has its system on a disk, and the rest of the modules there.
DISK_MODULES = ["virtio_pci", "virtio_blk", "ext4", "crc32c_generic"]
# There for scripts that load them.
ON_DEMAND = ["brd"]
# Built into some kernels and not made as modules by others.
MAY_BE_ABSENT = {"crc32_generic", "crc32c_generic", "virtio_pci", "virtio_net", "virtio_blk", "ext4"}


class Kernel:
    """An image and the root below which lib/modules/VERSION lies."""

    def __init__(self, version, image, root):
        self.version, self.image, self.root = version, image, root

    def has_rxe(self):
        return bool(glob.glob(f"{self.root}/lib/modules/{self.version}/kernel/drivers/infiniband/"
                              "sw/rxe/rdma_rxe.ko*"))

    def vmlinux(self, cache):
        """The image as an ELF file, which boots several seconds faster than one that unpacks
        itself under emulation."""
        path = os.path.join(cache, f"vmlinux-{self.version}")
        if newer(path, [self.image]):
            return path
        with open(self.image, "rb") as image:
            replace(path, unpack(image.read(), self.image))
        return path

    def modules(self, names):
        """Their files and those of what they need, dependencies first."""
        if not os.path.exists(f"{self.root}/lib/modules/{self.version}/modules.dep"):
            subprocess.run(["depmod", "-b", self.root, self.version], check=True)
        files = []
        for module in names:
            run = subprocess.run(["modprobe", "-d", self.root, "-S", self.version,
                                  "--show-depends", module],
                                 capture_output=True, text=True, check=False)
            if run.returncode and module not in MAY_BE_ABSENT:
                raise Missing(f"kernel {self.version} has no module {module}")
            found = re.findall(r"^insmod (\S+)", run.stdout, re.M)
            files += [file for file in found if file not in files]
        return files


def unpack(image, name):
    """The ELF file inside a bzImage: payload_offset and payload_length of the boot protocol."""
    sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start:start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        elf = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        # Behind the frame lies its unpacked size.
        elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4], stdout=subprocess.PIPE,
                             check=False).stdout
    elif payload.startswith(b"\x02\x21\x4c\x18"):
        if not shutil.which("lz4"):
            raise Missing("lz4 is not installed (package lz4)")
        elf = subprocess.run(["lz4", "-dcq"], input=payload[:-4], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, check=False).stdout
    elif payload.startswith(b"\x1f\x8b"):
        elf = zlib.decompressobj(31).decompress(payload)
    else:
        raise Missing(f"{name}: compressed in a way that the lab does not know")
    if not elf.startswith(b"\x7fELF"):
        raise Missing(f"{name}: holds no ELF image")
    return elf


def numbers(version):
    return [int(n) for n in re.findall(r"\d+", version)]


def candidates(cache):
    """The machine's own kernels, newest first, then those unpacked below the cache."""
    for root in [""] + sorted(glob.glob(f"{cache}/kernels/*")):
        images = glob.glob(f"{root}/boot/vmlinuz-*")
        versions = [os.path.basename(image)[len("vmlinuz-"):] for image in images]
        for version in sorted(versions, key=numbers, reverse=True):
            yield Kernel(version, f"{root}/boot/vmlinuz-{version}", root or "/")


class Image(Kernel):
    """One that QEMU boots as it is, such as those for arm64."""

    def vmlinux(self, cache):
        return self.image


def is_wanted(version, wanted):
    """Whether it is of this series, such as "6.12", or one for clouds. All are of the series ""."""
    if wanted == CLOUD:
        return CLOUD in version.split("-")
    return not wanted or (version + ".").startswith(wanted + ".")


def of_sysroot(wanted, sysroot):
    """The newest kernel that is wanted of a Debian for another processor."""
    versions = [os.path.basename(image)[len("vmlinuz-"):] for image in glob.glob(f"{sysroot}/boot/vmlinuz-*")]
    versions = [version for version in versions if is_wanted(version, wanted)]
    if not versions:
        raise Missing(f"there is no kernel {wanted} in {sysroot} (./dev test arch makes it)")
    version = max(versions, key=numbers)
    return Image(version, f"{sysroot}/boot/vmlinuz-{version}", sysroot)


def choose(wanted, cache):
    """The kernel to boot: the first candidate that is wanted. All but those for clouds must have soft-RoCE."""
    refused = []
    for kernel in candidates(cache):
        if not is_wanted(kernel.version, wanted):
            continue
        if not os.access(kernel.image, os.R_OK):
            refused.append(f"{kernel.image} is not readable")
        elif wanted != CLOUD and not kernel.has_rxe():
            refused.append(f"kernel {kernel.version} has no module rdma_rxe")
        else:
            return kernel
    name = f"kernel {wanted}" if wanted else "kernel (package linux-image-amd64)"
    raise Missing("; ".join(refused) or f"there is no {name}; ./dev lab fetches one")
