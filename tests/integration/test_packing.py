"""The steps of tools/package, without building anything: equal trees make equal archives, whatever
the machine, and the list of what is inside is one of SPDX.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import spdx_schema
from fleet import ROOT

sys.path.insert(0, f"{ROOT}/tools/packaging")

import debian
import licences
import manual
import spdx
from facts import Facts, Problem
from tree import Tree, write_archive

EPOCH = 1700000000
NOTICE = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: sample

Files: *
Copyright: 2020 A. Person
License: GPL-2+

Files: a/*
Copyright: 2020 A. Person
License: LGPL-2.1+ or Expat

Files: b/*
Copyright: 2020 A. Person
License: own words
 Do as you like.
 .
 Really.

License: GPL-2+
 On Debian systems, see elsewhere.
"""


class Scratch(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="lspacking")
        self.addCleanup(subprocess.run, ["rm", "-rf", self.directory], check=True)

    def write(self, name, text):
        with open(f"{self.directory}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        return f"{self.directory}/{name}"


class SameBytes(Scratch):
    NAMES = ("bin/a", "lib/b.so", "share/doc/c.txt", "share/d")

    def make(self, title, names, mode, times):
        """A tree whose files were made in this order, under this mask, at this time."""
        before = os.umask(mode)
        try:
            tree = Tree(f"{self.directory}/{title}")
            for name in names:
                tree.write(name, f"content of {name}\n", 0o755 if name == "bin/a" else 0o644)
            tree.write_gzipped("share/man/m.gz", "manual\n")
            tree.link("lib/start/a", "../b.so")
            os.link(tree.path("share/d"), tree.path("share/e"))
        finally:
            os.umask(before)
        for directory, _, files in os.walk(tree.root):
            for name in files:
                os.utime(os.path.join(directory, name), (times, times), follow_symlinks=False)
                if os.geteuid() == 0 and title == "two":
                    os.chown(os.path.join(directory, name), 1234, 1234, follow_symlinks=False)
        return tree

    def trees(self):
        one = self.make("one", self.NAMES, 0o022, EPOCH - 5000)
        return one, self.make("two", self.NAMES[::-1], 0o077, EPOCH + 5000)

    def test_archives_do_not_depend_on_the_machine(self):
        sums = []
        for tree in self.trees():
            path = f"{tree.root}.tar.gz"
            write_archive(tree, path, "lockstep-1.0", EPOCH)
            with open(path, "rb") as file:
                content = file.read()
            sums.append(hashlib.sha256(content).hexdigest())
            # The header of gzip: no name (flags 0), no time.
            self.assertEqual(content[3:8], bytes(5))
        self.assertEqual(sums[0], sums[1])

    def test_debian_packages_do_not_depend_on_the_machine(self):
        sums = set()
        for tree in self.trees():
            control = "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: A <a@example.org>\n"
            tree.write("DEBIAN/control", control + "Description: x\n")
            made = debian.build(tree, f"{tree.root}.deb", EPOCH)
            with open(made, "rb") as file:
                sums.add(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(len(sums), 1)

    def test_one_byte_more_is_another_archive(self):
        sums = set()
        for tree in self.trees():
            path = f"{tree.root}.tar.gz"
            if tree.root.endswith("two"):
                tree.write("share/d", "content of share/d\n\n")
            write_archive(tree, path, "lockstep-1.0", EPOCH)
            with open(path, "rb") as file:
                sums.add(hashlib.sha256(file.read()).hexdigest())
        self.assertEqual(len(sums), 2)


class Listing(Scratch):
    """The list of an archive with one library of this machine."""

    def setUp(self):
        super().setUp()
        self.facts = Facts(f"{self.directory}/bin", "1.0", "0123456789ab", EPOCH)
        self.tree = Tree(f"{self.directory}/tree")
        os.mkdir(self.facts.binaries)
        self.write("bin/lockstep", "program\n")
        self.tree.copy(f"{self.facts.binaries}/lockstep", "lib/programs/lockstep", 0o755)
        for name in ("libc.so.6", "libstdc++.so.6"):
            source = os.path.realpath(f"/usr/lib/x86_64-linux-gnu/{name}")
            self.tree.copy(source, f"lib/{name}")

    def listed(self):
        spdx.write_list(self.tree, "lockstep", self.facts, "share/doc/list.json")
        with open(f"{self.tree.root}/share/doc/list.json", encoding="utf-8") as text:
            return json.load(text)

    def test_packages_have_versions_and_licences(self):
        document = self.listed()
        spdx_schema.check(document)
        packages = {entry["name"]: entry for entry in document["packages"]}
        self.assertEqual(set(packages), {"lockstep", "libc6", "libstdc++6"})
        version = subprocess.run(
            ["dpkg-query", "-W", "-f", "${Version}", "libc6"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        self.assertEqual(packages["libc6"]["versionInfo"], version)
        self.assertEqual(packages["libc6"]["licenseDeclared"], "LicenseRef-libc6")
        # The notices are files of the archive, too.
        names = {entry["fileName"] for entry in document["files"]}
        self.assertIn("./share/doc/lockstep/copyright/libc6", names)
        self.assertNotIn("./share/doc/list.json", names)

    def test_the_check_finds_what_is_wrong(self):
        def without(document, key):
            return {name: value for name, value in document.items() if name != key}

        good = self.listed()
        spdx_schema.check(good)
        for wrong in (
            without(good, "files"),
            {**good, "spdxVersion": "SPDX-2.2"},
            {**good, "packages": [without(good["packages"][0], "versionInfo")]},
            {**good, "relationships": good["relationships"][1:]},
            {**good, "relationships": good["relationships"][:-1]},
            {**good, "hasExtractedLicensingInfos": []},
            {**good, "files": good["files"] + good["files"][:1]},
        ):
            with self.assertRaises((AssertionError, ValueError, jsonschema.ValidationError)):
                spdx_schema.check(wrong)
        for wrong in ("MIT AND", "AND MIT", "(MIT", "MIT OR (X11))", "MIT X11", "MIT WITH care"):
            with self.assertRaises(AssertionError, msg=wrong):
                spdx_schema.licences_of(wrong)

    def test_a_library_of_no_package_is_refused(self):
        self.tree.copy(self.write("libown.so", "ours?"), "lib/libown.so")
        with self.assertRaisesRegex(Problem, "libown.so belongs to no Debian package"):
            self.listed()

    def test_licences_of_a_copyright_file(self):
        found = licences.Licences()
        expression = found.of("sample", self.write("copyright", NOTICE))
        self.assertEqual(
            expression,
            "GPL-2.0-or-later AND (LGPL-2.1-or-later OR MIT) AND LicenseRef-sample-own-words",
        )
        texts = {"LicenseRef-sample-own-words": "Do as you like.\n\nReally."}
        self.assertEqual(found.texts, texts)
        plain = found.of("old", self.write("plain", "This package was debianized by hand.\n"))
        self.assertEqual(plain, "LicenseRef-old")
        self.assertIn("by hand", found.texts[plain])


class ManualPages(unittest.TestCase):
    def test_commands_of_a_help_text(self):
        text = (
            "Usage\n\nSubcommands:\n  up      Start\n  support-bundle  Write\n\nExamples:\n  x y\n"
        )
        self.assertEqual(manual.commands_in(text), ["up", "support-bundle"])
        self.assertEqual(manual.commands_in("Usage\n\nOptions:\n  -h  Help\n"), [])


if __name__ == "__main__":
    unittest.main()
