"""The release build compiles a dozen sources of a library as one (a unity build), so what is in an
unnamed namespace meets that of other files. A clash is mostly a compiler's error, but late, in a
batch that changes with every new file; sometimes it is another function than was meant. Here it is
found at once and with both places."""
import collections
import re
import unittest

from repository import SRC, code_of, relative, sources

NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s*([\w:]*)")
TYPE = re.compile(r"(?:template\s*<.*>\s*)?(?:struct|class|union|enum(?:\s+class)?)\s+(\w+)\s*(?:final\s*)?(?::[^:].*)?")
ALIAS = re.compile(r"(?:template\s*<.*>\s*)?(?:using|namespace)\s+(\w+)\s*=")
OTHER = re.compile(r"(using\s|static_assert\b|extern\s+\"|friend\b|TEST(_[FP])?\b|asm\b)")
# The first name that a parameter list, a value, an array's bound or nothing follows. What is before
# it is its type; without one it is a macro's call or a constructor.
NAMED = re.compile(r"^(?P<type>.*?[\s*&>])(?P<name>[\w:~]+)\s*(?:\(|=|\[|$)", re.S)
# Only tests include these.
FOR_TESTS = re.compile(r"(^|/)(fake_|test_)[^/]*$|_fixture\.h$|/testing/")


def statements(text):
    """(namespaces, line, declaration up to its body or value) at namespace scope."""
    spaces, depth, line, start, gathered, bodied = [], 0, 1, 1, "", False
    code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", lambda m: "\n" * m.group(0).count("\n"), code_of(text),
                  flags=re.M)
    for char in code:
        line += char == "\n"
        outside = depth == len(spaces)
        if char == "{":
            if outside and not bodied:
                namespace = NAMESPACE.fullmatch(gathered.strip())
                if namespace:
                    spaces.append(namespace.group(1))
                else:
                    yield tuple(spaces), start, " ".join(gathered.split())
                    # Behind a function's body begins the next; behind a type's or a value's comes
                    # a semicolon first.
                    bodied = not gathered.rstrip().endswith((")", "noexcept", "const"))
                gathered = ""
            depth += 1
        elif char == "}":
            depth -= 1
            if depth < len(spaces):
                spaces.pop()
                gathered, bodied = "", False
        elif outside:
            if char == ";":
                if gathered.strip() and not bodied:
                    yield tuple(spaces), start, " ".join(gathered.split())
                gathered, bodied = "", False
            else:
                if not gathered.strip():
                    start = line
                gathered += char


def declared(statement):
    """The name that a declaration brings, or None."""
    for form in (TYPE, ALIAS):
        match = form.match(statement) if form is ALIAS else form.fullmatch(statement)
        if match:
            return match.group(1)
    if OTHER.match(statement) or NAMESPACE.fullmatch(statement):
        return None
    statement = re.sub(r"^template\s*<[^()]*?>\s+(?=[\w:])", "", statement)
    statement = re.sub(r"\[\[.*?\]\]\s*", "", statement)
    match = NAMED.match(statement)
    return match.group("name") if match and "::" not in match.group("name") else None


def whole_space(spaces):
    return tuple(part for space in spaces for part in space.split("::") if part)


def clashes(files, headers):
    """files: {path: (library, text)}, headers: {path: text}. One line for each clash."""
    public = collections.defaultdict(list)
    for path, text in sorted(headers.items()):
        for spaces, line, statement in statements(text):
            if name := declared(statement):
                public[whole_space(spaces), name].append(f"{path}:{line}")
    local = collections.defaultdict(dict)
    for path, (library, text) in sorted(files.items()):
        for spaces, line, statement in statements(text):
            name = declared(statement) if "" in spaces else None
            if name:
                places = local[library, whole_space(spaces), name]
                places.setdefault(path, (f"{path}:{line}", statement))
    wrong = []
    for (_, space, name), places in sorted(local.items()):
        here = [place for place, _ in places.values()]
        # The same alias may be declared twice.
        alias = all(ALIAS.match(statement) for _, statement in places.values())
        if len(places) > 1 and not (alias and same_alias(places)):
            wrong.append(f"{name} is in unnamed namespaces of: " + ", ".join(here))
        for length in range(len(space), 0, -1):
            for header in public.get((space[:length], name), []):
                if not alias:
                    wrong.append(f"{name} of {here[0]} is also in {header}")
    return wrong


def same_alias(places):
    return len({statement for _, statement in places.values()}) == 1


def libraries():
    """{folder: its CMakeLists.txt makes a library of it}."""
    return {path.parent for path in sources("CMakeLists.txt") if "gbx_library(" in path.read_text()}


class UnityNames(unittest.TestCase):
    def test_names_are_distinct_within_a_library(self):
        folders = libraries()
        self.assertIn(SRC / "base", folders)
        files = {}
        for path in sources(".cc"):
            library = next((above for above in path.parents if above in folders), None)
            if library and not path.name.endswith("_test.cc") and not FOR_TESTS.search(path.name):
                files[relative(path)] = (library, path.read_text())
        headers = {relative(path): path.read_text() for path in sources(".h")
                   if not FOR_TESTS.search(relative(path))}
        wrong = clashes(files, headers)
        self.assertFalse(wrong, "\n".join(wrong))

    def test_a_clash_is_found(self):
        one = "namespace a::b {\nnamespace {\nconstexpr int kMost = 1;\nint sum(int x) { return x; }\n}\n}\n"
        two = "namespace a::b {\nnamespace {\nstruct kMost {};\nResult<> sum() {\n}\n}\n}\n"
        self.assertEqual(len(clashes({"1": ("l", one), "2": ("l", two)}, {})), 2)
        self.assertEqual(clashes({"1": ("l", one), "2": ("other", two)}, {}), [])
        elsewhere = two.replace("a::b", "a::c")
        self.assertEqual(clashes({"1": ("l", one), "2": ("l", elsewhere)}, {}), [])

    def test_a_header_s_name_is_found(self):
        one = "namespace a::b {\nnamespace {\nstd::string sum(int x) { return {x, '{'}; }\n}\n}\n"
        for header in ("namespace a::b {\nint sum(std::string);\n}", "namespace a {\nclass sum {\n};\n}"):
            self.assertEqual(len(clashes({"1": ("l", one)}, {"h": header})), 1, header)
        self.assertEqual(clashes({"1": ("l", one)}, {"h": "namespace a {\nstruct S { int sum; };\n}"}), [])

    def test_what_is_declared(self):
        for statement, name in (("constexpr int kMost", "kMost"), ("Result<std::string> read(int fd)", "read"),
                                ("const char* const kNames[] =", "kNames"), ("enum Kind : std::uint8_t", "Kind"),
                                ("template <class T, class U> void put(T value)", "put"),
                                ("class Reader final : public Base", "Reader"), ("using Clock = std::chrono::x", "Clock"),
                                ("namespace json = boost::json", "json"), ("void Class::method()", None),
                                ("static_assert(sizeof(int) == 4)", None), ("using std::chrono::seconds", None)):
            self.assertEqual(declared(statement), name, statement)


if __name__ == "__main__":
    unittest.main()
