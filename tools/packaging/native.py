"""The small C programs of the archives, and which libraries a program needs."""

import os
import re

from facts import Problem, run

HERE = os.path.dirname(os.path.abspath(__file__))
# Nothing of the machine that compiles: no path, no build id.
COMMON = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none", "-s"]
STARTER = [
    *["-Os", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fcf-protection=none"],
    *["-fno-asynchronous-unwind-tables", "-static", "-nostdlib", "-fno-pie", "-no-pie"],
    *["-Wl,-z,noexecstack"],
]


def compile_c(name, to, *flags):
    run("gcc", *COMMON, *flags, os.path.join(HERE, name), "-o", to)


def compile_starter(to, program, title, depth, locales=False):
    """The program that is found in the archive's bin/ (starter.c)."""
    defines = [f'-DPROGRAM="{program}"', f'-DTITLE="{title}"', f"-DDEPTH={depth}"]
    compile_c("starter.c", to, *STARTER, *defines, *(["-DLOCALES"] if locales else []))


def compile_library(name, to):
    compile_c(name, to, "-O2", "-fPIC", "-shared")


def libraries_of(*paths):
    """{name: path} of all shared libraries, and of the loader, that these programs and libraries
    load.
    """
    found = {}
    for path in paths:
        for line in run("ldd", path).splitlines():
            match = re.match(r"\s*(?:(\S+) => )?(/\S+|not found)", line)
            if match is None:
                continue
            name, where = match.group(1) or os.path.basename(match.group(2)), match.group(2)
            if where == "not found":
                raise Problem(f"{path} needs {name}, which is not installed")
            found[name] = os.path.realpath(where)
    # pthread_cancel(3) and backtrace(3) load it by its name.
    if "libgcc_s.so.1" not in found:
        found["libgcc_s.so.1"] = os.path.realpath("/lib/x86_64-linux-gnu/libgcc_s.so.1")
    return found
