"""Packs the console's files into a C++ include: pack.py BUILD_SCRIPT DIST FRAME OUT.

Runs BUILD_SCRIPT DIST first, which fetches and bundles what is new. Without a network at the first
build it fails; then the program is built without a console and says so at /console. OUT is written
only when it changes."""
import gzip
import hashlib
import pathlib
import re
import subprocess
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".json": "application/json",
         ".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon",
         ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
         ".webmanifest": "application/manifest+json"}
PACKED = {".woff2", ".png", ".ico"}  # compressed already
NAME = re.compile(r"(assets/)?[A-Za-z0-9][A-Za-z0-9._-]*")


def literal(data):
    """A C++ string literal of any bytes, in lines."""
    out = []
    for start in range(0, max(len(data), 1), 4096):
        text = []
        for byte in data[start:start + 4096]:
            char = chr(byte)
            plain = 32 <= byte < 127 and char not in "\"\\?"
            text.append(char if plain else f"\\{byte:03o}")
        out.append('"' + "".join(text) + '"')
    return "\n".join(out)


def view(data):
    return f"std::string_view({literal(data)}, {len(data)})"


def build(script, dist):
    """Why there is nothing to pack; empty: there is."""
    if not script.is_file():
        return "scripts/build-console is missing"
    done = subprocess.run([script, dist], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        said = done.stdout.decode(errors="replace").strip().splitlines()
        return f"{script.name} failed: {said[-1] if said else done.returncode}"
    return "" if (dist / "index.html").is_file() else f"{script.name} made no index.html"


def assets(dist):
    rows = []
    for file in sorted(path for path in dist.rglob("*") if path.is_file()):
        path = file.relative_to(dist).as_posix()
        if not NAME.fullmatch(path) or file.suffix not in TYPES:
            raise ValueError(f"{file}: not a name or type that the console has")
        raw = file.read_bytes()
        packs = file.suffix not in PACKED
        # Without a time in it: the same files make the same program.
        data = gzip.compress(raw, 9, mtime=0) if packs else raw
        etag = hashlib.sha256(raw).hexdigest()[:32]
        rows.append(f'{{"{path}", "{TYPES[file.suffix]}", "\\"{etag}\\"", '
                    f'{"true" if packs else "false"},\n{view(data)}}}')
    return rows


def main():
    script, dist, frame, out = map(pathlib.Path, sys.argv[1:])
    reason = build(script, dist)
    rows = [] if reason else assets(dist)
    if reason:
        print(f"warning: the server is built without its console: {reason}", file=sys.stderr)
    body = ",\n".join(rows) if rows else "{}"
    text = (f"constexpr ConsoleAsset console_assets[] = {{\n{body}}};\n"
            f"constexpr std::size_t console_asset_count = {len(rows)};\n"
            f"constexpr std::string_view console_reason = {view(reason.encode())};\n"
            f"constexpr std::string_view console_frame = {view(frame.read_bytes())};\n")
    if not out.is_file() or out.read_text() != text:
        out.write_text(text)


main()
