"""Jobs on devices, what is on a device, and commands that talk to a person."""

import errno
import fcntl
import hashlib
import os
import pty
import struct
import subprocess
import termios
import zlib

# The load of a device job: it begins at the begin, where what is known by a signature has it.
GENTLY = "pattern: sequential, max_iops: 500"


def device_job(path, read=0, expendable="", extra=""):
    return f"""name: overwrite
hosts: {{count: 1}}
expendable: [{expendable}]
targets: [{{name: disk, device: {{path: {path}{extra}}}}}]
phases:
  - run:
      duration: 1s
      workloads: [{{block_size: 64KiB, read: {read}%, {GENTLY}, queue_depth: 4}}]
"""


def digest(path):
    """Returns a digest of length and bytes. Most of an image is a hole, which is not read."""
    found = hashlib.sha256()
    block, zeros, has_holes = 1 << 16, bytes(1 << 16), True
    with open(path, "rb", buffering=0) as data:
        end = data.seek(0, os.SEEK_END)
        found.update(f"{end} bytes".encode())
        at = 0
        while at < end:
            if has_holes:
                try:
                    at = os.lseek(data.fileno(), at, os.SEEK_DATA) // block * block
                except OSError as error:
                    if error.errno == errno.ENXIO:  # only a hole follows
                        break
                    has_holes = False  # a device
            content = os.pread(data.fileno(), block, at)
            # A written block of zeros is no other content than a hole.
            if content != zeros[: len(content)]:
                found.update(f"at {at}:".encode())
                found.update(content)
            at += len(content)
    return found.hexdigest()


def call(*words, **options):
    return subprocess.run(
        words, check=True, capture_output=True, text=True, **options
    ).stdout.strip()


def write_lvm_label(path):
    """The label that pvcreate writes: sector 1, checked by LVM's CRC."""
    body = struct.pack("<I8s", 32, b"LVM2 001") + b"A" * 32 + b"\0" * (512 - 20 - 4 - 8 - 32)
    crc = zlib.crc32(body, 0xF597A6CF ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    with open(path, "r+b") as disk:
        disk.seek(512)
        disk.write(b"LABELONE" + struct.pack("<Q", 1) + struct.pack("<I", crc) + body)


def terminal(words, columns, environment):
    """Returns a program's output on a terminal of so many columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    seen = b""
    try:
        while True:
            part = os.read(ours, 65536)
            if not part:
                break
            seen += part
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait()
    return seen.decode().replace("\r\n", "\n")


def converse(words, question, answer, environment):
    """Returns a program's output on a terminal, and how it ends, when it is answered once."""
    ours, its = pty.openpty()
    process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)
    seen = b""  # a read may end within a character
    try:
        while True:
            part = os.read(ours, 65536)
            if not part:
                break
            seen += part
            if answer is not None and question.encode() in seen:
                os.write(ours, answer.encode() + b"\n")
                answer = None
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
    return seen.decode(), process.wait()


def job_file(fleet, job):
    path = os.path.join(fleet.directory, "job.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("store_filesystem: true\n" + job)
    return path
