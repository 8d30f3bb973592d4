"""Manual pages, made from what the programs say to --help."""

import os
import re
import time

from facts import PROGRAMS, run

SECTIONS = {"lockstep": 1, "lockstep-controller": 8, "lockstep-worker": 8}
ALSO = {
    "lockstep": "lockstep-controller(8), lockstep-worker(8)",
    "lockstep-controller": "lockstep(1), lockstep-worker(8)",
    "lockstep-worker": "lockstep(1), lockstep-controller(8)",
}
# Wider lines do not fit a terminal of 80 columns behind the indentation of a manual page.
COLUMNS = 72
# The defaults of the page are those of the service, not those of who packages.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LOCKSTEP_STATE_DIR": "/var/lib/lockstep"}


def help_of(facts, *words):
    path = os.path.join(facts.binaries, words[0])
    text = run(path, *words[1:], "--help", env=ENVIRONMENT)
    return text.replace(path, words[0]).strip("\n")


def escaped(line):
    line = line.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + line if line.startswith((".", "'")) else line


def wrapped(line):
    """Lines of at most COLUMNS, which go on below where their last column begins."""
    if len(line) <= COLUMNS:
        return [line]
    indent = re.match(r"\s*(-\S.*?\s{2,}|\S+\s{2,})?", line).end()
    if indent > COLUMNS // 2:
        indent = len(line) - len(line.lstrip()) + 4
        head, rest = line[: len(line) - len(line.lstrip())], line.lstrip()
    else:
        head, rest = line[:indent], line[indent:]
    lines, current = [], head
    for word in re.findall(r"\S+\s*", rest):
        if len((current + word).rstrip()) > COLUMNS and current.strip():
            lines.append(current.rstrip())
            current = " " * indent
        current += word
    return [*lines, current.rstrip()]


def verbatim(text):
    lines = [escaped(part) for line in text.split("\n") for part in wrapped(line.rstrip())]
    return ".nf\n" + "\n".join(lines) + "\n.fi\n"


def commands_in(text):
    """The commands that a text of --help lists."""
    listed = re.search(r"(?m)^Subcommands:\n((?:  .*\n?)*)", text)
    return re.findall(r"(?m)^  ([a-z][a-z-]*)(?: |$)", listed.group(1)) if listed else []


def page(facts, program):
    text = help_of(facts, program)
    description, rest = text.split("\n", 1)
    date = time.strftime("%Y-%m-%d", time.gmtime(facts.epoch))
    section = SECTIONS[program]
    made = [
        f'.TH {program.upper()} {section} "{date}" "Lockstep {facts.version}" "Lockstep"\n',
        f".SH NAME\n{escaped(program)} \\- {PROGRAMS[program]}\n",
        f".SH DESCRIPTION\n{escaped(description.strip())}\n.PP\n{verbatim(rest.strip(chr(10)))}",
    ]
    if listed := commands_in(text):
        made.append(".SH COMMANDS\n")
    for command in listed:
        said = help_of(facts, program, command)
        made.append(f".SS {escaped(command)}\n{verbatim(said)}")
        for part in commands_in(said):
            title = escaped(f"{command} {part}")
            made.append(f".SS {title}\n{verbatim(help_of(facts, program, command, part))}")
    made.append(f".SH SEE ALSO\n{escaped(ALSO[program])}\n")
    return "".join(made)
