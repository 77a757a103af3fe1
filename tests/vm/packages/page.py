# SPDX-License-Identifier: BSD-3-Clause
"""page.py PAGE FOLDER: what a reader of doc/two-hosts.md types, for a test that does the same.

FOLDER/steps gets a line for each command of the page's blocks of sh: the host that it runs on (alpha, beta or
both), whether it is left running (wait or leave), what it prints (texts between bars, or -), and the command, separated
by tabs. FOLDER/rsm.conf gets the block of ini. A comment after a command has clauses, separated by semicolons: `on HOST`, `leave it running`, `prints TEXT`.
Anything else in a comment is an error: the test would not know what it means.
"""

import re
import sys


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def step(line):
    command, _, comment = line.partition(" # ")
    host, manner, prints = "both", "wait", []
    for clause in filter(None, (text.strip() for text in comment.split(";"))):
        word, _, rest = clause.partition(" ")
        if word == "on" and rest in ("alpha", "beta"):
            host = rest
        elif clause == "leave it running":
            manner = "leave"
        elif word == "prints" and rest:
            prints.append(rest)
        else:
            sys.exit(f"page.py: what is this comment: {line}")
    return "\t".join((host, manner, "|".join(prints) or "-", command.strip()))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    steps = [step(line) for block in blocks(page, "sh") for line in block.splitlines() if line.strip()]
    (configuration,) = blocks(page, "ini")
    if len(steps) < 10:
        sys.exit(f"page.py: only {len(steps)} commands in {sys.argv[1]}")
    with open(f"{sys.argv[2]}/steps", "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in steps))
    with open(f"{sys.argv[2]}/rsm.conf", "w", encoding="utf-8") as file:
        file.write(configuration)


if __name__ == "__main__":
    main()
