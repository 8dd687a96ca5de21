"""Files named *_child.cc run between clone and exec. Their name is a promise: no allocation, no
exceptions, no logging, only async-signal-safe calls."""
import re
import unittest

from repository import ROOT, code_of, relative, sources

# What would break the promise, and what to call it in a complaint.
SUSPECTS = {
    "allocation": r"\bnew\b|\bdelete\b|\b(?:malloc|calloc|realloc|strdup|free|make_unique|"
                  r"make_shared)\s*[(<]",
    "an exception": r"\bthrow\b|\btry\b|\bcatch\b",
    "a container or string": r"\bstd::(?:string|vector|map|set|list|deque|function|unique_ptr|"
                             r"shared_ptr|optional|variant|ostream|cout|cerr|format|to_string)\b",
    "printing": r"\b(?:f|s|sn|v|vf)?printf\s*\(|\bf?puts\s*\(|\bperror\s*\(|\bstrerror\s*\(",
    "logging": r"\blog::|\bsyslog\s*\(",
    "our Result": r"\bResult<|\bTRY(?:_OK)?\s*\(|\bfail\s*\(|\bError::",
    "an unsafe call": r"\b(?:exit|atexit|setenv|putenv|getenv|opendir|readdir|getpwnam|getpwuid|"
                      r"getgrnam|system|popen|dlopen|localtime|execvp|execlp|posix_spawnp?|"
                      r"fopen|fdopen|initgroups)\s*\(",
    "a glibc call that signals threads": r"::set(?:res)?[ug]id\s*\(|::setgroups\s*\(",
    "a lock": r"\bstd::(?:mutex|lock_guard|thread|call_once)\b|\bpthread_",
}
# Headers that bring such things in.
HEADERS = ("string", "vector", "iostream", "sstream", "memory", "functional", "cstdio", "stdio.h",
           "stdexcept", "exception", "map", "mutex", "thread", "base/log.h", "base/result.h",
           "base/error.h")
# strerror and friends are caught above; `errno` and `_exit` are fine.


def broken_promises(text):
    """[(line, what)] of a *_child.cc file."""
    code = code_of(text)
    found = []
    for number, line in enumerate(code.splitlines(), 1):
        if line.lstrip().startswith("#include"):
            name = re.search(r'[<"]([^>"]+)[>"]', line)
            if name and name.group(1) in HEADERS:
                found.append((number, "includes " + name.group(1)))
            continue
        found += [(number, what) for what, pattern in SUSPECTS.items() if re.search(pattern, line)]
    return found


def child_files():
    return sources("_child.cc")


class ChildFiles(unittest.TestCase):
    def test_there_are_some(self):
        self.assertGreaterEqual(len(child_files()), 2)

    def test_promises_are_kept(self):
        broken = [f"{relative(path)}:{line}: {what}" for path in child_files()
                  for line, what in broken_promises(path.read_text())]
        self.assertEqual([], broken)

    def test_each_says_what_it_promises(self):
        silent = [relative(path) for path in child_files()
                  if "async-signal-safe" not in path.read_text().split("#include")[0]]
        self.assertEqual([], silent)

    def test_functions_are_noexcept(self):
        # A step is `int name(const Plan& plan) noexcept {`.
        plain = [f"{relative(path)}: {line}" for path in child_files()
                 for line in code_of(path.read_text()).splitlines()
                 if re.match(r"(?:int|void|bool) \w+\(.*\) \{", line)]
        self.assertEqual([], plain)


class BadSamplesAreCaught(unittest.TestCase):
    def caught(self, text):
        return [what for _, what in broken_promises(text)]

    def test_each_suspect(self):
        samples = {
            "allocation": "int* a = new int;",
            "an exception": "throw 1;",
            "a container or string": "std::vector<int> v;",
            "printing": 'fprintf(stderr, "x");',
            "logging": 'log::warn("x");',
            "our Result": 'TRY_OK(step());',
            "an unsafe call": "exit(1);",
            "a glibc call that signals threads": "::setresuid(0, 0, 0);",
            "a lock": "std::mutex m;",
        }
        self.assertEqual(set(SUSPECTS), set(samples))
        for what, sample in samples.items():
            self.assertIn(what, self.caught(sample), sample)

    def test_a_header(self):
        self.assertEqual(["includes string"], self.caught("#include <string>\n"))

    def test_comments_and_strings_are_no_code(self):
        self.assertEqual([], self.caught('// throw new printf( things\nconst char* a = "new";\n'))

    def test_safe_calls_pass(self):
        self.assertEqual([], self.caught("::_exit(127);\n(void)!::write(fd, &a, sizeof a);\n"
                                         "::syscall(SYS_setresuid, 0, 0, 0);\n"))


if __name__ == "__main__":
    assert ROOT.is_dir()
    unittest.main()
