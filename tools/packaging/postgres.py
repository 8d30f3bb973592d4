"""PostgreSQL in the controller's archive: the server, and a cluster that was made here."""

import glob
import os
import pwd
import shutil
import tempfile

from facts import Problem, run
from native import compile_c, compile_library, compile_starter, libraries_of

MAJOR = "15"
SERVER = f"/usr/lib/postgresql/{MAJOR}"
SHARED = f"/usr/share/postgresql/{MAJOR}"
USER = "postgres"
# Modules that sessions load: the language of functions, text search, and other encodings than
# UTF-8.
MODULES = ["plpgsql.so", "dict_snowball.so", "utf8_and_*.so", "*_and_*.so"]
LOCALE = "C.utf8"


def add_postgres(tree, epoch):
    """Returns the shared libraries that the server and its modules need."""
    if not os.path.exists(f"{SERVER}/bin/postgres"):
        raise Problem(f"{SERVER} is missing; run tools/install-deps")
    home = f"lib/postgresql/{MAJOR}"
    tree.copy_program(f"{SERVER}/bin/postgres", "lib/programs/postgres")
    compile_c("cluster.c", tree.path("lib/programs/initdb"), "-O2", "-fPIE", "-pie")
    for title in ("postgres", "initdb"):
        starter = tree.path(f"{home}/bin/{title}")
        # PostgreSQL finds its modules and tables from where this file lies.
        compile_starter(starter, f"lib/programs/{title}", title, depth=4, locales=True)
        tree.link(f"lib/start/{title}", "../ld-linux-x86-64.so.2")
    modules = sorted({path for name in MODULES for path in glob.glob(f"{SERVER}/lib/{name}")})
    for path in modules:
        tree.copy_program(path, f"{home}/lib/{os.path.basename(path)}")
    for name in ("timezonesets", "tsearch_data"):
        tree.copy_all(f"{SHARED}/{name}", f"share/postgresql/{MAJOR}/{name}")
    for path in sorted(glob.glob(f"{SHARED}/extension/plpgsql*")):
        tree.copy(path, f"share/postgresql/{MAJOR}/extension/{os.path.basename(path)}")
    tree.copy_all(f"/usr/lib/locale/{LOCALE}", f"share/locale/{LOCALE}")
    add_template(tree, epoch)
    return libraries_of(f"{SERVER}/bin/postgres", *modules)


def server_words():
    """PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


def add_template(tree, epoch):
    """The cluster that the archive's initdb copies: the same one at each packaging of a commit."""
    with tempfile.TemporaryDirectory(prefix="lockstep-template-") as work:
        if os.geteuid() == 0:
            os.chown(work, pwd.getpwnam(USER).pw_uid, -1)
        still = f"{work}/still.so"
        compile_library("still.c", still)
        os.chmod(still, 0o755)
        made = f"{work}/made"
        environment = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "LD_PRELOAD": still,
            "SOURCE_DATE_EPOCH": str(epoch),
        }
        options = ["-U", "lockstep", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"]
        words = server_words()
        run(
            *[*words, f"{SERVER}/bin/initdb", "--no-sync", "-D", made, *options],
            env=environment,
            cwd=work,
        )
        # The log of the making differs each time; a checkpoint of a clean cluster does not.
        run(*words, f"{SERVER}/bin/pg_resetwal", "--force", made, env=environment, cwd=work)
        template = tree.path("share/postgresql/template")
        run(
            *[tree.path("lib/programs/initdb"), "--template", made, "-D", template],
            *["--identifier", "1"],
        )
        settle(template)
    # If root unpacks the archive, the server runs as another user, who copies these files.
    for directory, folders, files in os.walk(template):
        for name in [*folders, *files]:
            path = os.path.join(directory, name)
            os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    os.chmod(template, 0o755)


# Settings for a root directory without a database of time zones and without /dev/shm.
SETTINGS = {
    "timezone": "'GMT'",
    "log_timezone": "'GMT'",
    "dynamic_shared_memory_type": "sysv",
}


def settle(template):
    """The template's settings need nothing of the machine that it will be copied on."""
    path = f"{template}/postgresql.conf"
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    kept = [line for line in lines if line.split(" = ")[0] not in SETTINGS]
    kept += [f"{name} = {value}" for name, value in SETTINGS.items()]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(kept) + "\n")
    # Caches with addresses of the process that wrote them; the server makes them anew.
    for path in glob.glob(f"{template}/**/pg_internal.init", recursive=True):
        os.unlink(path)
    shutil.rmtree(f"{template}/pg_stat")
    os.mkdir(f"{template}/pg_stat")
