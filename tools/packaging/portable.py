"""The portable archives: a program with its libraries and their loader, which run on any x86-64
Linux of the last ten years, whatever is installed there.
"""

import os
import tempfile

from facts import PROGRAMS
from native import compile_library, compile_starter, libraries_of
from postgres import add_postgres
from spdx import write_list
from tree import Tree, write_archive

LOADER = "ld-linux-x86-64.so.2"

README = """{title}, version {version} (commit {commit}).

Start bin/{program}. It brings its own libraries and needs nothing of this machine but an x86-64
Linux kernel, 3.2 or newer. The directory can be moved, and bin/{program} can be linked to from
elsewhere. The archives of the other programs can be unpacked into the same place.

share/doc/lockstep/{program}.spdx.json lists what this archive contains, and
share/doc/lockstep/copyright has the copyright notices.
"""


def build_tree(facts, program, root):
    tree = Tree(root)
    source = os.path.join(facts.binaries, program)
    tree.copy_program(source, f"lib/programs/{program}")
    compile_starter(tree.path(f"bin/{program}"), f"lib/programs/{program}", program, depth=1)
    tree.link(f"lib/start/{program}", f"../{LOADER}")
    compile_library("isolate.c", tree.path("lib/isolate.so"))
    libraries = libraries_of(source)
    if program == "lockstep-controller":
        libraries.update(add_postgres(tree, facts.epoch))
    for name, path in sorted(libraries.items()):
        tree.copy(path, f"lib/{name}", 0o755 if name == LOADER else 0o644)
    text = README.format(title=PROGRAMS[program], program=program, **vars(facts))
    tree.write(f"share/doc/lockstep/{program}.txt", text)
    write_list(tree, program, facts, f"share/doc/lockstep/{program}.spdx.json")
    return tree


def write_portable(facts, program, to):
    """Returns the path of the archive."""
    name = f"{program}-{facts.version}-linux-x86_64.tar.gz"
    path = os.path.join(to, name)
    with tempfile.TemporaryDirectory(prefix="lockstep-package-") as work:
        tree = build_tree(facts, program, os.path.join(work, "tree"))
        # Renamed into place: a reader never finds half an archive.
        write_archive(tree, path + ".new", facts.directory, facts.epoch)
    os.replace(path + ".new", path)
    return path
