# SPDX-License-Identifier: BSD-3-Clause
"""What the parts of the lab share."""

import os


class Missing(Exception):
    """Something that the lab needs is not on this machine; the text says what."""


def newer(path, inputs):
    """Whether a made file is as young as all that it was made of."""
    try:
        made = os.stat(path).st_mtime_ns
        return all(os.stat(name).st_mtime_ns <= made for name in inputs)
    except FileNotFoundError:
        return False


def replace(path, content):
    """Write a file so that nobody ever sees half of it."""
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
    os.replace(temporary, path)
