"""The rules for a list of SPDX 2.3: a JSON schema of the part that tools/package writes, which is
stricter than the standard's, and checks that a schema cannot express.
"""

import re

import jsonschema

# Those of the licences' short names at SPDX that Debian's copyright files of our libraries use.
LICENCES = {
    *("Apache-2.0", "Artistic-1.0-Perl", "Artistic-2.0", "BSD-2-Clause", "BSD-3-Clause"),
    *("BSD-4-Clause", "BSL-1.0", "CC0-1.0", "ISC", "MIT", "MPL-1.1", "MPL-2.0", "OpenSSL"),
    *("PostgreSQL", "X11", "Zlib"),
    *(f"GPL-{n}.0-{end}" for n in (1, 2, 3) for end in ("only", "or-later")),
    *(f"LGPL-{n}-{end}" for n in ("2.0", "2.1", "3.0") for end in ("only", "or-later")),
    *(f"AGPL-3.0-{end}" for end in ("only", "or-later")),
    *(f"GFDL-1.{n}-{end}" for n in (1, 2, 3) for end in ("only", "or-later")),
}
EXCEPTIONS = {"LLVM-exception", "Linux-syscall-note"}

IDENTIFIER = {"type": "string", "pattern": r"^SPDXRef-[A-Za-z0-9.-]+$"}
TEXT = {"type": "string", "minLength": 1}
UNKNOWN = {"const": "NOASSERTION"}


def sum_of(algorithm, digits):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["algorithm", "checksumValue"],
        "properties": {
            "algorithm": {"const": algorithm},
            "checksumValue": {"type": "string", "pattern": f"^[0-9a-f]{{{digits}}}$"},
        },
    }


def closed(required, **optional):
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": {**required, **optional},
    }


FILE = closed(
    {
        "SPDXID": IDENTIFIER,
        "fileName": {"type": "string", "pattern": r"^\./[^/]"},
        "checksums": {
            "type": "array",
            "prefixItems": [sum_of("SHA1", 40), sum_of("SHA256", 64)],
            "minItems": 2,
            "maxItems": 2,
        },
        "licenseConcluded": UNKNOWN,
        "licenseInfoInFiles": {"type": "array", "minItems": 1},
        "copyrightText": UNKNOWN,
    }
)
REFERENCE = closed(
    {
        "referenceCategory": {"const": "PACKAGE-MANAGER"},
        "referenceType": {"const": "purl"},
        "referenceLocator": {
            "type": "string",
            "pattern": r"^pkg:deb/debian/[a-z0-9.%A-F-]+@[A-Za-z0-9._~%-]+\?arch=amd64$",
        },
    }
)
PACKAGE = closed(
    {
        "SPDXID": IDENTIFIER,
        "name": TEXT,
        "versionInfo": TEXT,
        "supplier": {"type": "string", "pattern": "^Organization: "},
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": {"type": "boolean"},
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": TEXT,
        "copyrightText": UNKNOWN,
    },
    sourceInfo=TEXT,
    licenseComments=TEXT,
    licenseInfoFromFiles={"type": "array", "minItems": 1},
    externalRefs={"type": "array", "items": REFERENCE, "minItems": 1},
    packageVerificationCode=closed(
        {
            "packageVerificationCodeValue": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
            "packageVerificationCodeExcludedFiles": {"type": "array", "items": TEXT},
        }
    ),
)
RELATION = closed(
    {
        "spdxElementId": IDENTIFIER,
        "relationshipType": {"enum": ["DESCRIBES", "CONTAINS", "GENERATED_FROM"]},
        "relatedSpdxElement": IDENTIFIER,
    }
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **closed(
        {
            "spdxVersion": {"const": "SPDX-2.3"},
            "dataLicense": {"const": "CC0-1.0"},
            "SPDXID": {"const": "SPDXRef-DOCUMENT"},
            "name": TEXT,
            "documentNamespace": {"type": "string", "pattern": r"^urn:lockstep:spdx:[^#\s]+$"},
            "creationInfo": closed(
                {
                    "created": {
                        "type": "string",
                        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$",
                    },
                    "creators": {"type": "array", "items": TEXT, "minItems": 1},
                }
            ),
            "packages": {"type": "array", "items": PACKAGE, "minItems": 1},
            "files": {"type": "array", "items": FILE, "minItems": 1},
            "relationships": {"type": "array", "items": RELATION, "minItems": 1},
            "hasExtractedLicensingInfos": {
                "type": "array",
                "items": closed(
                    {
                        "licenseId": {
                            "type": "string",
                            "pattern": r"^LicenseRef-[A-Za-z0-9.-]+$",
                        },
                        "extractedText": TEXT,
                    }
                ),
            },
        }
    ),
}


def licences_of(expression):
    """The licences of an expression. Fails if it is none."""
    tokens = re.findall(r"[()]|[^\s()]+", expression)
    found, depth, wants_name = set(), 0, True
    for place, token in enumerate(tokens):
        if token in "()":
            assert wants_name == (token == "("), expression
            depth += 1 if token == "(" else -1
            assert depth >= 0, expression
        elif wants_name:
            if place > 0 and tokens[place - 1] == "WITH":
                assert token in EXCEPTIONS, token
            else:
                found.add(token)
            wants_name = False
        else:
            assert token in ("AND", "OR", "WITH"), expression
            wants_name = True
    assert depth == 0 and not wants_name, expression
    return found


def check(document):
    """Fails unless it is a list, complete in itself."""
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    packages, files = document["packages"], document["files"]
    ids = ["SPDXRef-DOCUMENT", *(entry["SPDXID"] for entry in packages + files)]
    assert len(ids) == len(set(ids)), "two elements have one id"
    relations = {
        (each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"])
        for each in document["relationships"]
    }
    assert {name for one, _, other in relations for name in (one, other)} == set(ids)
    (own,) = (other for _, kind, other in relations if kind == "DESCRIBES")
    assert {other for one, kind, other in relations if kind == "CONTAINS"} == set(ids[1:]) - {own}
    texts = {each["licenseId"] for each in document["hasExtractedLicensingInfos"]}
    used = set()
    for entry in packages:
        # A package whose files were not looked at has neither a code nor files.
        is_own = entry["SPDXID"] == own
        assert entry["filesAnalyzed"] is is_own, entry["name"]
        assert ("packageVerificationCode" in entry) is is_own, entry["name"]
        assert ("externalRefs" in entry) is not is_own, entry["name"]
        if entry["licenseDeclared"] != "NOASSERTION":
            used |= licences_of(entry["licenseDeclared"])
        else:
            assert is_own, f"{entry['name']} has no licence"
    assert {name for name in used if name.startswith("LicenseRef-")} == texts
    assert used - texts <= LICENCES, used - texts - LICENCES
