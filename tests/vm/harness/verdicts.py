# SPDX-License-Identifier: BSD-3-Clause
"""What a machine's end is taken for, for every combination of what can be seen of it."""

import io
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))

from machine import BOOT_S, Machine  # pylint: disable=wrong-import-position
from processor import FAILURE, SKIPPED, SUCCESS  # pylint: disable=wrong-import-position


class Process:
    """In the place of QEMU: has ended with this status, or None."""

    def __init__(self, status):
        self.returncode = status

    def poll(self):
        return self.returncode

    def kill(self):
        self.returncode = -9


def machine(status, reported=None, panicked=False):
    made = Machine.__new__(Machine)
    made.process, made.reported, made.panicked = Process(status), reported, panicked
    made.killed = made.fast = made.stuck = False
    return made


def check(wanted, made, kill=False):
    if kill:
        made.kill()
    outcome, text = made.verdict()
    if outcome != wanted:
        sys.exit(f"FAILED: {outcome} ({text}) instead of {wanted} of {vars(made)}, killed: {kill}")


def check_start():
    """A panic is the start's as long as the system is not up, and the test's from then on."""
    panic, up = "[ 1.0] Kernel panic - not syncing: no", "lab: 6.1.0, 2 processors, up after 3.1 s"
    for lines, wanted in (([panic], True), ([up, panic], False), ([up], False), ([], False)):
        made = machine(0)
        made.began, made.tail, made.log, made.started = False, [], io.StringIO(), 0
        made.nonce = "nonce"
        for line in lines:
            made.line(line)
        if made.failed_to_start() != wanted or made.panicked != (panic in lines):
            sys.exit(f"FAILED: after {lines}: {made.failed_to_start()}")


def check_clock():
    """A machine cannot have been up for longer than its QEMU has run."""
    for age, uptime, wanted in ((10, "9.2", False), (10, "10.5", False), (10, "60.0", True)):
        made = machine(None)
        made.began, made.tail, made.log, made.results = False, [], io.StringIO(), []
        made.started, made.nonce = time.monotonic() - age, "nonce"
        made.line(f"lab: 6.1.0, 2 processors, up after {uptime} s")
        if made.failed_to_start() != wanted or (made.verdict()[1] == "its clock runs too fast") != wanted:
            sys.exit(f"FAILED: up for {uptime} s after {age} s: {made.verdict()}")


def check_boot():
    """Who is not up in time has not started; who was up is the test's."""
    for age, began, wanted in ((BOOT_S - 5, False, False), (BOOT_S + 5, False, True), (BOOT_S + 5, True, False)):
        made = machine(None)
        made.began, made.started = began, time.monotonic() - age
        made.check_boot()
        if made.failed_to_start() != wanted:
            sys.exit(f"FAILED: after {age} s, up: {began}: {made.verdict()}")


def main():
    check_boot()
    check("success", machine(SUCCESS, 0))
    check("skipped", machine(SKIPPED, 77))
    check("failure", machine(FAILURE, 1))
    for status in (0, 1, -9, -15, 124, SUCCESS, SKIPPED, FAILURE):
        for reported in (None, 0, 1, 77):
            agree = (status, reported) in ((SUCCESS, 0), (SKIPPED, 77))
            if not agree:
                check("failure", machine(status, reported))
            check("failure", machine(status, reported, panicked=True))
            # It had ended already: the order to kill it changes nothing.
            check("failure", machine(status, reported, panicked=True), kill=True)
            if not agree:
                check("failure", machine(status, reported), kill=True)
    check("killed", machine(None), kill=True)
    check("failure", machine(None, panicked=True), kill=True)
    check_start()
    check_clock()
    print("ok: verdicts")


main()
