"""A directory tree that becomes an archive: what is in it, and where each file comes from."""

import gzip
import os
import shutil
import tarfile

from facts import run


class Tree:
    def __init__(self, root):
        self.root = root
        self.origins = {}  # path in the tree: file of the machine that it was made from
        os.makedirs(root)

    def path(self, name):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def copy(self, source, name, mode=0o644):
        path = self.path(name)
        shutil.copyfile(source, path)
        os.chmod(path, mode)
        self.origins[name] = source
        return path

    def copy_program(self, source, name):
        """Without the symbols that only a debugger reads."""
        path = self.copy(source, name, 0o755)
        run("strip", "--strip-unneeded", "--enable-deterministic-archives", path)

    def copy_all(self, source, name):
        for directory, folders, files in os.walk(source):
            folders.sort()
            for file in sorted(files):
                path = os.path.join(directory, file)
                self.copy(path, os.path.join(name, os.path.relpath(path, source)))

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def write_gzipped(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(gzip.compress(text.encode(), 9, mtime=0))
        os.chmod(self.path(name), 0o644)

    def link(self, name, target):
        os.symlink(target, self.path(name))

    def even_out(self, epoch):
        """Gives everything the time of the commit, and directories one mode, whatever the mask."""
        for directory, folders, files in os.walk(self.root):
            os.chmod(directory, 0o755)
            for name in [*folders, *files]:
                os.utime(os.path.join(directory, name), (epoch, epoch), follow_symlinks=False)
        os.utime(self.root, (epoch, epoch))

    def names(self):
        """Returns all files, sorted: links, too, but no directories."""
        found = []
        for directory, _, files in os.walk(self.root):
            found += [os.path.relpath(os.path.join(directory, file), self.root) for file in files]
        return sorted(found)


def write_archive(tree, to, prefix, epoch):
    """A .tar.gz with the tree below `prefix`: sorted, of root, and all of one time, so that equal
    trees make equal archives. gzip is the compression that every tar of the last ten years reads.
    """
    entries = [""]
    for directory, folders, files in os.walk(tree.root):
        relative = os.path.relpath(directory, tree.root)
        entries += [os.path.normpath(os.path.join(relative, name)) for name in folders + files]
    with (
        open(to, "wb") as file,
        gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
    ):
        for name in sorted(entries):
            path = os.path.join(tree.root, name) if name else tree.root
            info = archive.gettarinfo(path, os.path.join(prefix, name) if name else prefix)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = epoch
            if info.islnk():  # the second name of a file that the tree has twice
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", os.path.getsize(path)
            if info.isdir():
                info.mode = 0o755
            if info.isreg():
                with open(path, "rb") as content:
                    archive.addfile(info, content)
            else:
                archive.addfile(info)
