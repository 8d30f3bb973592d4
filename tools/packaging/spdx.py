"""The list of what an archive contains (SPDX 2.3, JSON): each file with its checksums, and the
Debian package that it comes from.
"""

import hashlib
import json
import os
import re
import time

from facts import Problem, run

OWN = "Lockstep"


def owner_of(source, cache={}):  # noqa: B006: one dpkg for each file of the machine
    """(package, version, source package, copyright file) of a file of the machine."""
    if source in cache:
        return cache[source]
    # dpkg knows a file by the name in its package, from before or after the merge of /usr.
    other = source.removeprefix("/usr") if source.startswith("/usr/") else "/usr" + source
    said = None
    for path in (source, other):
        try:
            said = run("dpkg-query", "-S", path)
            break
        except Problem:  # it may be known by the other name
            continue
    if said is None:
        cache[source] = None
        return None
    package = said.split(": ")[0].split(", ")[0]
    shown = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${source:Package}", package)
    name, version, origin = shown.split()
    cache[source] = (name, version, origin, f"/usr/share/doc/{name}/copyright")
    return cache[source]


def identifier(text):
    return re.sub(r"[^A-Za-z0-9.-]", "-", text)


def digests(path):
    with open(path, "rb") as file:
        content = file.read()
    return hashlib.sha1(content).hexdigest(), hashlib.sha256(content).hexdigest()


def package_entry(name, version, supplier):
    entry = {
        "SPDXID": f"SPDXRef-Package-{identifier(name)}",
        "name": name,
        "versionInfo": version,
        "supplier": supplier,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
    }
    if supplier != f"Organization: {OWN}":
        entry["externalRefs"] = [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}?arch=amd64",
            }
        ]
    return entry


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def write_list(tree, program, facts, to):
    """Writes the list, and the copyright notices of the packages beside it."""
    own = package_entry(program, facts.version, f"Organization: {OWN}")
    packages, files, relations = {program: own}, [], []
    relations.append(relation("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"]))
    for number, name in enumerate(tree.names()):
        path = os.path.join(tree.root, name)
        if os.path.islink(path):
            continue
        sha1, sha256 = digests(path)
        entry = {
            "SPDXID": f"SPDXRef-File-{number}",
            "fileName": f"./{name}",
            "checksums": [
                {"algorithm": "SHA1", "checksumValue": sha1},
                {"algorithm": "SHA256", "checksumValue": sha256},
            ],
            "licenseConcluded": "NOASSERTION",
            "licenseInfoInFiles": ["NOASSERTION"],
            "copyrightText": "NOASSERTION",
        }
        files.append(entry)
        owner = owner_of(tree.origins[name]) if name in tree.origins else None
        package = program
        if owner is not None:
            package, version, _, notice = owner
            if package not in packages:
                packages[package] = package_entry(package, version, "Organization: Debian")
                relations.append(relation(own["SPDXID"], "CONTAINS", packages[package]["SPDXID"]))
                if os.path.exists(notice):
                    tree.copy(notice, f"share/doc/lockstep/copyright/{package}")
        relations.append(relation(packages[package]["SPDXID"], "CONTAINS", entry["SPDXID"]))
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{program}-{facts.version}",
        "documentNamespace": f"urn:lockstep:spdx:{program}:{facts.version}:{facts.commit}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.epoch)),
            "creators": ["Tool: tools/package"],
        },
        "packages": [packages[name] for name in sorted(packages)],
        "files": files,
        "relationships": relations,
    }
    tree.write(to, json.dumps(document, indent=1) + "\n")
