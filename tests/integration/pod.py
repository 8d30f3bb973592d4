"""Starts a program as a container runtime starts a pod's container: `pod.py FILE PROGRAM…`, with a
JSON file of root, capabilities, bindings and seccomp profile. The mount namespace is the caller's
to make (unshare --mount).
"""

import ctypes
import json
import os
import subprocess
import sys

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
ACTIONS = {"SCMP_ACT_ALLOW": 0x7FFF0000, "SCMP_ACT_ERRNO": 0x00050000}
OPERATORS = {"SCMP_CMP_EQ": 4, "SCMP_CMP_MASKED_EQ": 7}
CAPABILITIES = {"SYS_ADMIN": 21, "IPC_LOCK": 14, "DAC_OVERRIDE": 1}


class Comparison(ctypes.Structure):
    """struct scmp_arg_cmp of seccomp.h."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("a", ctypes.c_uint64),
        ("b", ctypes.c_uint64),
    )


def require(condition, what):
    if not condition:
        sys.exit(f"pod.py: {what}")


def load_profile(profile):
    """A profile in the form of runtimes (OCI), by libseccomp as runc does it."""
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p

    def action(name, number):
        return ACTIONS[name] | (number if name == "SCMP_ACT_ERRNO" else 0)

    unlisted = action(profile["defaultAction"], profile["defaultErrnoRet"])
    filters = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(unlisted)))
    require(filters.value, "seccomp_init failed")
    for rule in profile["syscalls"]:
        arguments = [
            Comparison(each["index"], OPERATORS[each["op"]], each["value"], each.get("valueTwo", 0))
            for each in rule.get("args", [])
        ]
        compared = (Comparison * len(arguments))(*arguments)
        for name in rule["names"]:
            number = library.seccomp_syscall_resolve_name(name.encode())
            require(number >= 0, f"x86-64 has no system call {name}")
            kind = ctypes.c_uint32(action(rule["action"], rule.get("errnoRet", 1)))
            failed = library.seccomp_rule_add_array(filters, kind, number, len(arguments), compared)
            require(failed == 0, f"the rule for {name}: {os.strerror(-failed)}")
    require(library.seccomp_load(filters) == 0, "the filter could not be loaded")


def enter_root(root, bindings):
    for inside, outside in bindings.items():
        where = root + inside
        os.makedirs(where if os.path.isdir(outside) else os.path.dirname(where), exist_ok=True)
        if not os.path.isdir(outside):
            with open(where, "ab"):
                pass
        subprocess.run(["mount", "--bind", outside, where], check=True)
    for kind in ("proc", "sysfs"):
        where = f"{root}/{'sys' if kind == 'sysfs' else kind}"
        os.makedirs(where, exist_ok=True)
        subprocess.run(["mount", "-t", kind, kind, where], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", f"{root}/sys"], check=True)
    os.chroot(root)
    os.chdir("/")


def main():
    with open(sys.argv[1], encoding="utf-8") as text:
        pod = json.load(text)
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as last:
        known = int(last.read()) + 1
    library = ctypes.CDLL(None, use_errno=True)
    if pod.get("root"):
        # Neither libseccomp nor Python's modules are in the root.
        ctypes.CDLL("libseccomp.so.2")
        enter_root(pod["root"], pod["bindings"])
    kept = {CAPABILITIES[name] for name in pod["capabilities"]}
    for number in set(range(known)) - kept:
        require(library.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0, "PR_CAPBSET_DROP")
    require(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "PR_SET_NO_NEW_PRIVS")
    load_profile(pod["profile"])
    os.execve(sys.argv[2], sys.argv[2:], {"PATH": "/usr/bin:/bin"})


main()
