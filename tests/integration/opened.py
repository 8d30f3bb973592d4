"""Counts how often a path is opened (inotify)."""

import ctypes
import ctypes.util
import os
import select
import struct


class Opened:
    """Counts how often a path is opened by anybody (inotify; O_PATH is not counted)."""

    IN_OPEN = 0x20

    def __init__(self, path):
        self.libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.libc.inotify_add_watch(self.fd, path.encode(), self.IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch", path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def times(self):
        count = 0
        while select.select([self.fd], [], [], 0)[0]:
            data = os.read(self.fd, 4096)
            while data:
                (length,) = struct.unpack_from("I", data, 12)
                count += 1
                data = data[16 + length :]
        return count
