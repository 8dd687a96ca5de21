"""Where the repository's files are, and how to read C++ without its comments and strings."""
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
# Where the programs are; tests that need them are skipped where nothing is built.
BIN = pathlib.Path(os.environ.get("GBX_BIN_DIR", ROOT / "build" / "bin"))

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.S)


def sources(*suffixes, below=SRC):
    """The files below a folder whose names end so, as paths."""
    return sorted(path for path in below.rglob("*")
                  if path.is_file() and path.name.endswith(suffixes))


def relative(path):
    return path.relative_to(ROOT).as_posix()


def code_of(text):
    """C++ with comments and the insides of literals blanked out; lines keep their numbers."""
    def blank(match):
        found = match.group(0)
        newlines = "\n" * found.count("\n")
        return newlines if found.startswith("/") else '""' + newlines
    # An #include's name is no string literal to us.
    return _TOKEN.sub(lambda m: m.group(0) if _is_include(text, m.start()) else blank(m), text)


def _is_include(text, at):
    line_start = text.rfind("\n", 0, at) + 1
    return text[line_start:at].lstrip().startswith("#include")


def documents():
    """Every Markdown file of the repository."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in (".git", "build", "node_modules")]
        found += [pathlib.Path(folder) / name for name in files if name.endswith(".md")]
    return sorted(found)


_ROW = re.compile(r'''\{(?:http::)?Method::k(\w+),\s*("[^"]+"|k\w+),\s*(?:routing::)?Access::k(\w+),\s*'''
                  r'''(?:&[\w:]+|nullptr),\s*((?:"[^"]*"\s*)+|k\w+)''')
_CONSTANT = re.compile(r'constexpr std::string_view (k\w+) =\s*"([^"]+)";')


def route_rows(text):
    """The rows of a source's tables of routes: [{"method", "path", "access", "summary"}]. A row
    that cannot be read is an error, so that none is overlooked."""
    constants = dict(_CONSTANT.findall(text))

    def value(found):
        return "".join(re.findall(r'"([^"]*)"', found)) if found.startswith('"') else constants[found]
    rows = [{"method": method.upper(), "path": value(path), "access": access.lower(),
             "summary": value(summary)} for method, path, access, summary in _ROW.findall(text)]
    if len(rows) != len(re.findall(r"\{(?:http::)?Method::k\w+,", text)):
        raise ValueError("a row of a table of routes cannot be read")
    return rows


def routes_below(*folders):
    """The rows of all tables of routes in these folders under src/; tests have none."""
    texts = [path.read_text() for folder in folders for path in sources(".cc", below=SRC / folder)
             if not path.name.endswith("_test.cc")]
    return [row for text in texts if "RouteRow<" in text for row in route_rows(text)]
