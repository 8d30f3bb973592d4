"""Debian packages: the programs with the distribution's libraries, their services and manuals."""

import email.utils
import os
import re
import tempfile

from facts import PROGRAMS, Problem, run
from manual import SECTIONS, page
from native import HERE
from tree import Tree

MAINTAINER = "Lockstep developers <maintainers@users.noreply.a-seed-35f2cd99.example>"
DESCRIPTIONS = {
    "lockstep": (
        "storage benchmark of many hosts, command line",
        "Lockstep measures shared storage as it is used: by many hosts at once.",
        "This package has the command line, with which people and CI submit jobs,",
        "watch them, and read, compare and query what was measured.",
    ),
    "lockstep-controller": (
        "storage benchmark of many hosts, controller",
        "Lockstep measures shared storage as it is used: by many hosts at once.",
        "This package has the controller, which moves a fleet of workers through the",
        "phases of a test and stores in PostgreSQL what they measured.",
    ),
    "lockstep-worker": (
        "storage benchmark of many hosts, worker",
        "Lockstep measures shared storage as it is used: by many hosts at once.",
        "This package has the worker, which runs the load on each host, on the files",
        "and devices that its configuration allows.",
    ),
}
RECOMMENDS = {
    "lockstep": "iproute2, postgresql-client",
    "lockstep-controller": "postgresql-15 | postgresql-16 | postgresql-17 | postgresql-18",
    "lockstep-worker": "",
}
SUGGESTS = {"lockstep": "lockstep-controller, lockstep-worker"}
# The store has years of results: only a person removes them.
PURGE = {
    "lockstep-controller": 'echo "The results are left in /var/lib/lockstep." >&2',
    "lockstep-worker": "rm -rf /var/lib/lockstep-worker",
}
EXAMPLES = {"lockstep-worker": ["devices.conf", "settings.conf"]}


def template(name, package=""):
    with open(os.path.join(HERE, "debian", name), encoding="utf-8") as file:
        text = file.read()
    purge = PURGE.get(package, "")
    if package == "lockstep-controller":
        purge = f"if [ -d /var/lib/lockstep ]; then\n      {purge}\n    fi"
    return text.replace("@PACKAGE@", package).replace("@PURGE@", purge)


def dependencies(program):
    """Returns the dependencies that dpkg-shlibdeps finds; it wants a source package around it."""
    with tempfile.TemporaryDirectory(prefix="lockstep-package-") as work:
        os.mkdir(f"{work}/debian")
        with open(f"{work}/debian/control", "w", encoding="utf-8") as file:
            file.write("Source: lockstep\n\nPackage: lockstep\nArchitecture: amd64\n")
        said = run("dpkg-shlibdeps", "-O", "-e", program, cwd=work)
    match = re.search(r"shlibs:Depends=(.*)", said)
    if match is None:
        raise Problem(f"dpkg-shlibdeps found no libraries of {program}:\n{said}")
    return match.group(1)


def add_files(tree, facts, package, revision):
    program = os.path.join(facts.binaries, package)
    tree.copy_program(program, f"usr/bin/{package}")
    section = SECTIONS[package]
    manual = page(facts, package)
    tree.write_gzipped(f"usr/share/man/man{section}/{package}.{section}.gz", manual)
    documents = f"usr/share/doc/{package}"
    tree.write(f"{documents}/copyright", template("copyright"))
    changes = (
        f"lockstep ({facts.version}-{revision}) unstable; urgency=medium\n\n"
        f"  * Built from commit {facts.commit}.\n\n"
        f" -- {MAINTAINER}  {email.utils.formatdate(facts.epoch)}\n"
    )
    tree.write_gzipped(f"{documents}/changelog.Debian.gz", changes)
    for name in EXAMPLES.get(package, []):
        tree.write(f"{documents}/examples/{name}", template(name))
    if package == "lockstep":
        completion = run(program, "completion", "bash")
        tree.write("usr/share/bash-completion/completions/lockstep", completion)
    else:
        tree.write(f"lib/systemd/system/{package}.service", template(f"{package}.service"))
        tree.write(f"usr/lib/sysusers.d/{package}.conf", template(f"{package}.sysusers"))
        tree.write(f"etc/default/{package}", template(f"{package}.default"))
    # This is no upload to Debian, whose first one closes the bug that asks for the package.
    overrides = f"{package}: initial-upload-closes-no-bugs [*]\n"
    tree.write(f"usr/share/lintian/overrides/{package}", overrides)
    # Certificates and keys, which the options name.
    os.makedirs(os.path.join(tree.root, "etc/lockstep"), exist_ok=True)


def add_control(tree, facts, package, revision):
    depends = dependencies(os.path.join(facts.binaries, package))
    is_service = package != "lockstep"
    if is_service:
        depends += ", systemd | systemd-standalone-sysusers | systemd-sysusers"
    bytes_ = sum(os.lstat(os.path.join(tree.root, name)).st_size for name in tree.names())
    short, *long = DESCRIPTIONS[package]
    fields = {
        "Package": package,
        "Source": "lockstep",
        "Version": f"{facts.version}-{revision}",
        "Architecture": "amd64",
        "Maintainer": MAINTAINER,
        "Installed-Size": (bytes_ + 1023) // 1024,
        "Depends": depends,
        "Recommends": RECOMMENDS[package],
        "Suggests": SUGGESTS.get(package, ""),
        "Section": "admin",
        "Priority": "optional",
        "Description": "\n ".join([short, *long]),
    }
    if package == "lockstep":
        del fields["Source"]
    lines = [f"{name}: {value}\n" for name, value in fields.items() if value]
    sums = [
        f"{run('md5sum', name, cwd=tree.root)}"
        for name in tree.names()
        if not name.startswith(("DEBIAN/", "etc/"))
    ]
    tree.write("DEBIAN/control", "".join(lines))
    tree.write("DEBIAN/md5sums", "".join(sums))
    if is_service:
        tree.write("DEBIAN/conffiles", f"/etc/default/{package}\n")
        for name in ("postinst", "prerm", "postrm"):
            tree.write(f"DEBIAN/{name}", template(name, package), 0o755)


def build(tree, path, epoch):
    # dpkg-deb gives the time of SOURCE_DATE_EPOCH to newer files only. Older ones, and where that
    # time lies in the future all, would keep their own.
    tree.even_out(epoch)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    run(
        *["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zxz", "--build"],
        *[tree.root, path + ".new"],
        env=environment,
    )
    os.replace(path + ".new", path)
    return path


def write_debian(facts, package, to, revision):
    """Returns the path of the package."""
    path = os.path.join(to, f"{package}_{facts.version}-{revision}_amd64.deb")
    with tempfile.TemporaryDirectory(prefix="lockstep-package-") as work:
        tree = Tree(os.path.join(work, "tree"))
        add_files(tree, facts, package, revision)
        add_control(tree, facts, package, revision)
        return build(tree, path, facts.epoch)


assert set(DESCRIPTIONS) == set(PROGRAMS)
