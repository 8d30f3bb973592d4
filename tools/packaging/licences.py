"""The licences of Debian packages, read from their copyright files, as SPDX expressions."""

import re

# Debian's short names that SPDX writes otherwise, in lower case. GNU's are made by a rule.
NAMES = {
    "apache-2": "Apache-2.0",
    "apache-2.0": "Apache-2.0",
    "artistic": "Artistic-1.0-Perl",
    "artistic-2.0": "Artistic-2.0",
    "bsd-2-clause": "BSD-2-Clause",
    "bsd-3-clause": "BSD-3-Clause",
    "bsd-4-clause": "BSD-4-Clause",
    "bsl-1.0": "BSL-1.0",
    "boost-1.0": "BSL-1.0",
    "cc0": "CC0-1.0",
    "cc0-1.0": "CC0-1.0",
    "expat": "MIT",
    "isc": "ISC",
    "mit": "MIT",
    "mpl-1.1": "MPL-1.1",
    "mpl-2.0": "MPL-2.0",
    "openssl": "OpenSSL",
    "postgresql": "PostgreSQL",
    "x11": "X11",
    "zlib": "Zlib",
}
EXCEPTIONS = {
    "linux-syscall-note exception": "Linux-syscall-note",
    "llvm exception": "LLVM-exception",
}
GNU = re.compile(r"(a?gpl|lgpl|gfdl)-?(\d)(?:\.(\d))?(?:\.0)?(\+?)", re.IGNORECASE)


def paragraphs(text):
    """Returns the fields of a machine-readable copyright file, by their names in lower case."""
    found = []
    for block in re.split(r"\n\s*\n(?=\S)", text):
        fields = re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t#].*)*)", block, re.MULTILINE)
        found.append({name.lower(): value for name, value in fields})
    return found


def known(name):
    """The SPDX name of one licence, or None."""
    gnu = GNU.fullmatch(name)
    if gnu:
        family, major, minor, later = gnu.groups()
        ending = "or-later" if later else "only"
        return f"{family.upper()}-{major}.{minor or 0}-{ending}"
    return NAMES.get(name.lower())


class Licences:
    """The licences of all packages of one list. `texts`: {SPDX reference: text}, of licences
    without a name in SPDX.
    """

    def __init__(self):
        self.texts = {}

    def refer(self, package, name, text):
        reference = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", f"{package}-{name}").strip("-")
        self.texts[reference] = text
        return reference

    def atom(self, package, name, bodies):
        base, _, exception = name.partition(" with ")
        if spdx := known(base.strip()):
            if not exception:
                return spdx
            if exception.strip().lower() in EXCEPTIONS:
                return f"{spdx} WITH {EXCEPTIONS[exception.strip().lower()]}"
        text = bodies.get(name.lower()) or "The copyright notice of the package has its terms."
        return self.refer(package, name, text)

    def expression(self, package, short, bodies):
        """Splits "LGPL-2.1+ or MIT, and Tcl": a comma binds less than its words."""
        groups = []
        for group in re.split(r",\s*", short):
            words = re.split(r"\s+(and|or|and/or)\s+", re.sub(r"^(and|or)\s+", "", group.strip()))
            parts = [
                {"and": "AND"}.get(word, "OR") if place % 2 else self.atom(package, word, bodies)
                for place, word in enumerate(words)
            ]
            groups.append(" ".join(parts))
        if len(groups) == 1:
            return groups[0]
        joint = " OR " if re.search(r",\s*or\s", short) else " AND "
        return joint.join(f"({group})" if " " in group else group for group in groups)

    def of(self, package, notice):
        """Returns the licences that the copyright file `notice` declares for a package's sources.
        These may be more than hold for one library of it.
        """
        with open(notice, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if not text.startswith("Format:"):
            return self.refer(package, "", text)
        bodies, shorts = {}, []
        for fields in paragraphs(text):
            if "license" not in fields:
                continue
            short, _, body = fields["license"].partition("\n")
            short = " ".join(short.split())
            if body.strip():
                bodies[short.lower()] = re.sub(r"(?m)^ (\.$)?", "", body)
            if "files" in fields and short:
                shorts.append(short)
        made = set()
        for short in shorts:
            expression = self.expression(package, short, bodies)
            made.update([expression] if " OR " in expression else expression.split(" AND "))
        if not made:
            return self.refer(package, "", text)
        if len(made) == 1:
            return made.pop()
        return " AND ".join(f"({each})" if " OR " in each else each for each in sorted(made))
