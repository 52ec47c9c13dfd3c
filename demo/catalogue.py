"""Reads the package catalogue of this machine's apt: one row a package.

The synopsis and the section come from `apt-cache dumpavail`.  The long
descriptions are in a second file, Translation-en, which many images do not
download; then both are fetched into a folder of the demo's own, as an ordinary
user and without touching the system's lists.
"""
import os
import subprocess
from collections import namedtuple

Package = namedtuple(
    "Package", "name section installed_size priority synopsis description")

APT_HELPER = "/usr/lib/apt/apt-helper"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          errors="replace").stdout


def stanzas(text):
    """Yields each paragraph of a Debian control file as a dictionary."""
    for block in text.split("\n\n"):
        fields, key = {}, None
        for line in block.split("\n"):
            if line[:1] in (" ", "\t"):
                if key:
                    fields[key] += "\n" + line[1:]
            elif ":" in line:
                key, value = line.split(":", 1)
                fields[key] = value.strip()
        if fields:
            yield fields


def translations(options):
    """Long English descriptions by the MD5 of the description."""
    files = run("apt-get", *options, "indextargets", "--format", "$(FILENAME)",
                "Created-By: Translations").split()
    found = {}
    for name in files:
        if "_Translation-en" not in name:
            continue
        for fields in stanzas(run(APT_HELPER, *options, "cat-file", name)):
            text = fields.get("Description-en", "")
            found[fields.get("Description-md5")] = text
    return found


def private_options(folder):
    """apt options for lists of our own, with the English descriptions."""
    lists, cache = f"{folder}/apt/lists", f"{folder}/apt/cache"
    os.makedirs(f"{lists}/partial", exist_ok=True)
    os.makedirs(f"{cache}/archives/partial", exist_ok=True)
    return ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={cache}",
            "-o", "Acquire::Languages=en", "-o", "APT::Sandbox::User="]


def plain(text):
    """A long description as one line: ' .' separates paragraphs."""
    lines = [line.strip() for line in text.split("\n")]
    return " ".join(line for line in lines if line and line != ".")


def read(folder, say):
    """The packages, sorted by name, each name once."""
    options = []
    long_text = translations(options)
    if not long_text:
        say("fetching the descriptions (Translation-en) with apt")
        options = private_options(folder)
        subprocess.run(["apt-get", *options, "-qq", "update"],
                       stderr=subprocess.DEVNULL)
        long_text = translations(options)
    dump = run("apt-cache", *options, "dumpavail") if long_text else ""
    if dump.count("\nPackage: ") < 1000:
        dump = run("apt-cache", "dumpavail")
    rows = {}
    for fields in stanzas(dump):
        name = fields.get("Package")
        if not name or name in rows or "Description-md5" not in fields:
            continue
        text = long_text.get(fields["Description-md5"], "")
        rows[name] = Package(
            name, fields.get("Section", "").split("/")[-1],
            int(fields.get("Installed-Size", 0)), fields.get("Priority", ""),
            fields.get("Description", "").split("\n")[0],
            plain(text.partition("\n")[2]))
    if len(rows) < 1000:
        raise SystemExit("apt knows fewer than 1,000 packages here: "
                         "run `apt-get update` and try again")
    if not long_text:
        say("no long descriptions to be had: going on with the one-line ones")
    return [rows[name] for name in sorted(rows)]
