"""Writes files as C++ constants; see bazel/embed.bzl."""

import argparse
import os
import tarfile
from collections.abc import Iterator


def literal(data: bytes) -> str:
    """The bytes as string literals, an octal escape for all that is not plain."""
    lines, line = [], []
    for byte in data:
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        line.append(char if plain else f"\\{byte:03o}")
        if byte == 10 or len(line) >= 400:
            lines.append('"' + "".join(line) + '"')
            line = []
    lines.append('"' + "".join(line) + '"')
    return "\n    ".join(lines)


def contents(path: str, strip_prefix: str) -> Iterator[tuple[str, bytes]]:
    """The file's name and bytes; of an archive (.tar), those of each of its files."""
    if path.endswith(".tar"):
        with tarfile.open(path) as archive:
            for member in archive:
                source = archive.extractfile(member)
                if source is not None:
                    yield os.path.normpath(member.name), source.read()
        return
    name = path.split(strip_prefix, 1)[-1] if strip_prefix else os.path.basename(path)
    with open(path, "rb") as source:
        yield name, source.read()


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag in ("--function", "--header", "--source", "--include", "--strip-prefix"):
        parser.add_argument(flag, required=True)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    space, function = options.function.rsplit("::", 1)
    with open(options.header, "w", encoding="ascii") as out:
        out.write(
            '#pragma once\n\n#include <vector>\n\n#include "common/embedded_file.h"\n\n'
            f"namespace {space} {{\n\n"
            f"const std::vector<::lockstep::common::EmbeddedFile>& {function}();\n\n}}\n"
        )
    with open(options.source, "w", encoding="ascii") as out:
        out.write(
            f'#include "{options.include}"\n\nnamespace {space} {{\n\n'
            f"const std::vector<::lockstep::common::EmbeddedFile>& {function}() {{\n"
            "  static const auto* files = new std::vector<::lockstep::common::EmbeddedFile>{\n"
        )
        for path in options.files:
            for name, data in contents(path, options.strip_prefix):
                out.write(f'    {{"{name}", std::string({literal(data)}, {len(data)})}},\n')
        out.write("  };\n  return *files;\n}\n\n}\n")


if __name__ == "__main__":
    main()
