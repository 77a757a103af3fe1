# SPDX-License-Identifier: BSD-3-Clause
"""page.py PAGE SAMPLE WIREGUARD FOLDER: what a reader of doc/two-hosts.md and of doc/wireguard.md (WIREGUARD) types, for a
test that does the same.

FOLDER/wireguard gets the commands of that page, FOLDER/steps a line for each command of the page's blocks of sh above the heading that begins with "RDMA", FOLDER/rdma
for those below it: the host that it runs on (alpha, beta or both), whether it is left running (leave), gets what the
other host has printed last (paste) or neither (wait), what it prints (texts between bars, or -), and the command,
separated by tabs. A comment after a command has clauses, separated by semicolons: `on HOST`, `leave it running`,
`copy what it prints`, `paste that`, `prints TEXT`. Anything else in a comment is an error, as the test would not know what
it means, except behind values that readers replace by theirs. The page's block of ini must be the configuration SAMPLE
without its comments.
"""

import re
import sys


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def step(line):
    command, _, comment = line.partition(" # ")
    host, manner, prints = "both", "wait", []
    if re.match(r"(alpha|beta)=", command):
        comment = ""
    for clause in filter(None, (text.strip() for text in comment.split(";"))):
        word, _, rest = clause.partition(" ")
        if word == "on" and rest in ("alpha", "beta"):
            host = rest
        elif clause == "leave it running":
            manner = "leave"
        elif clause == "paste that":
            manner = "paste"
        elif word == "prints" and rest:
            prints.append(rest)
        elif clause != "copy what it prints":
            sys.exit(f"page.py: what is this comment: {line}")
    return "\t".join((host, manner, "|".join(prints) or "-", command.strip()))


def without_comments(text):
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def write_steps(path, text):
    steps = [step(line) for block in blocks(text, "sh") for line in block.splitlines() if line.strip()]
    if len(steps) < 10:
        sys.exit(f"page.py: only {len(steps)} commands for {path}")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in steps))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    page, sample, wireguard, folder = read(sys.argv[1]), read(sys.argv[2]), read(sys.argv[3]), sys.argv[4]
    above, heading, below = page.partition("\n## RDMA")
    if not heading:
        sys.exit(f"page.py: {sys.argv[1]} has no section RDMA")
    (configuration,) = blocks(page, "ini")
    if without_comments(configuration) != without_comments(sample):
        sys.exit(f"page.py: {sys.argv[1]} shows another configuration than {sys.argv[2]}")
    write_steps(f"{folder}/steps", above)
    write_steps(f"{folder}/rdma", below)
    write_steps(f"{folder}/wireguard", wireguard)


if __name__ == "__main__":
    main()
