"""The list of what an archive contains (SPDX 2.3, JSON): each file with its checksums, and the
Debian packages that its files come from, with their versions and licences.
"""

import hashlib
import json
import os
import re
import time
import urllib.parse

from facts import Problem, run
from licences import Licences

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


def own_entry(program, facts, files, to):
    """The archive as a package. Its code is a digest of its files' digests, without the list."""
    sums = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return {
        "SPDXID": f"SPDXRef-Package-{identifier(program)}",
        "name": program,
        "versionInfo": facts.version,
        "supplier": f"Organization: {OWN}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": True,
        "packageVerificationCode": {
            "packageVerificationCodeValue": hashlib.sha1("".join(sums).encode()).hexdigest(),
            "packageVerificationCodeExcludedFiles": [f"./{to}"],
        },
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "licenseInfoFromFiles": ["NOASSERTION"],
        "copyrightText": "NOASSERTION",
    }


def debian_entry(owner, licences):
    name, version, source, notice = owner
    place = urllib.parse.quote(f"{name}@{version}", safe="@.-_~")
    return {
        "SPDXID": f"SPDXRef-Package-{identifier(name)}",
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"built from the Debian source package {source}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licences.of(name, notice),
        "licenseComments": "The licences of all files of the source package.",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{place}?arch=amd64",
            }
        ],
    }


def file_entry(number, name, path):
    sha1, sha256 = digests(path)
    return {
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


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def add_owners(tree, facts):
    """{name in the tree: owner}, of the files that come from Debian packages. Puts the copyright
    notices of these packages into the tree.
    """
    owners = {}
    for name, source in sorted(tree.origins.items()):
        owner = owner_of(source)
        if owner is not None:
            owners[name] = owner
        elif os.path.dirname(source) != facts.binaries:
            # A list that names no origin of a library would look like our own work.
            raise Problem(f"{source} belongs to no Debian package; it cannot be listed")
    for package, _, _, notice in sorted(set(owners.values())):
        tree.copy(notice, f"share/doc/lockstep/copyright/{package}")
    return owners


def write_list(tree, program, facts, to):
    """Writes the list, and the copyright notices of the packages beside it."""
    owners = add_owners(tree, facts)
    names = [name for name in tree.names() if not os.path.islink(os.path.join(tree.root, name))]
    files = [
        file_entry(number, name, os.path.join(tree.root, name)) for number, name in enumerate(names)
    ]
    licences = Licences()
    own = own_entry(program, facts, files, to)
    packages = {owner[0]: debian_entry(owner, licences) for owner in sorted(set(owners.values()))}
    relations = [relation("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    for package in packages.values():
        relations.append(relation(own["SPDXID"], "CONTAINS", package["SPDXID"]))
    for name, file in zip(names, files, strict=True):
        relations.append(relation(own["SPDXID"], "CONTAINS", file["SPDXID"]))
        if name in owners:
            origin = packages[owners[name][0]]["SPDXID"]
            relations.append(relation(file["SPDXID"], "GENERATED_FROM", origin))
    # Another machine's libraries make another document, which needs another name.
    code = own["packageVerificationCode"]["packageVerificationCodeValue"]
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{program}-{facts.version}",
        "documentNamespace": f"urn:lockstep:spdx:{program}:{facts.version}:{facts.commit}:{code}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.epoch)),
            "creators": ["Tool: tools/package"],
        },
        "packages": [own, *packages.values()],
        "files": files,
        "relationships": relations,
        "hasExtractedLicensingInfos": [
            {"licenseId": reference, "extractedText": text}
            for reference, text in sorted(licences.texts.items())
        ],
    }
    tree.write(to, json.dumps(document, indent=1) + "\n")
