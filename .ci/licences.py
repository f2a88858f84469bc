#!/usr/bin/env python3
"""Checks that every dependency of the workspace may be used in an Apache-2.0 product.

Reads `cargo metadata`; evaluates each package's SPDX expression against the list below. A package without a licence, or
with one that the list does not allow, fails the check. Needs nothing but Python's standard library.
"""

import json
import re
import subprocess
import sys

ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}


def allowed(expression):
    """Whether an SPDX expression can be satisfied with allowed licences only."""
    tokens = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))

    def alternatives():
        result = conjunction()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            result = conjunction() or result
        return result

    def conjunction():
        result = term()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            result = term() and result
        return result

    def term():
        token = tokens.pop(0)
        if token == "(":
            result = alternatives()
            tokens.pop(0)
            return result
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            token = f"{token} WITH {tokens.pop(0)}"
        return token in ALLOWED

    result = alternatives()
    if tokens:
        raise ValueError(f"cannot read {expression!r}")
    return result


def main():
    # The check itself: it must be able to fail.
    assert allowed("MIT OR GPL-3.0-only") and not allowed("MIT AND GPL-3.0-only") and not allowed("AGPL-3.0-only")
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--format-version", "1", "--locked"], check=True, capture_output=True, text=True
        ).stdout
    )
    refused = []
    for package in metadata["packages"]:
        licence = package["license"]
        if not licence or not allowed(licence):
            refused.append(f"{package['name']} {package['version']}: {licence or 'no licence'}")
    for line in sorted(refused):
        print(line, file=sys.stderr)
    if refused:
        sys.exit(f"{len(refused)} packages with licences that are not allowed")
    print(f"{len(metadata['packages'])} packages, all with allowed licences")


main()
