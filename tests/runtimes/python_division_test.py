"""last_expression.compile_job(): what it finds without a tree of the whole source is what such a tree says."""
import ast
import sys
import unittest
import warnings

import harness

sys.path.insert(0, str(harness.ROOT / "src/guest/python"))
sys.dont_write_bytecode = True
import last_expression  # noqa: E402

AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
SOURCES = [
    "print(1+1)", "1", "x=1", "x = 1\nx", "x=1;x", "x=1;x;", "", " ", "\n\n", "# c", "1 # c", "x # c\n# d\n", "print(1);", "1;2", "1;\n", "a; b",
    "x = 1\n\n\n  # hi\nx\n\n", "not x", "...", "x == 1", "x <= 1", "lambda x=1: x", "*[1],2", "x if True else 2", 'print("a;b")', '"a"; 2', "é = 1\né",
    # Without a value, at first sight or not.
    "import os", "import os; os.getpid()", "from os import path", "x: int = 3", "x += 1", "del x", "pass", "class A: pass", "for i in [1]: print(i)",
    "for i in range(3):\n    i", "async def f(): pass", "@d\ndef f(): pass", "try:\n  pass\nfinally:\n  1", "if 1:\n  2\nelse: 3", "match x:\n  case 1: 2",
    "def f(): pass\nf", "class A:\n  b=1\nA.b", "match = 1\nmatch", "if True:\n  x=1\nx",
    # Lines that look like statements, in strings and brackets of earlier lines.
    '"""\nimport x\n"""', 'a=1\n"""\nx = 5\n"""', "print(\nx=1)", "dict(\nx = 5)", "dict(\nx = (5))", "f = [1,\n2]\nf", "(1,\n2)", '{\n"a": 1\n}', "x = {1:\n2}",
    "print(x\nfor x in y)", "[x\nfor x in [1]]", 'foo(\nx = "(" )', "foo(\nx = 1) # (", "dict(a=1,\nb=2)", '"a\\\nx = 1"',
    # Lines that go on.
    "z = \\\nx = 5", "y = 1 + \\\n2", "1 + \\\n2", '"a" \\\n"b"', "print(1), \\\nx",
    "from __future__ import annotations", "from __future__ import annotations\nx: int = 1\nx", "from __future__ import annotations\n'__future__'",
    "await x", "f(await x)", "x = await y",
]
BROKEN = ["`", "(1", "1)", '"""a', "\tx", "  x=1", "x=1\n  y", "(yield)", "1 +", "import", "x = ", "print 1", "x = 1\n)"]


def reference(text, flags):
    """With a tree of all of it."""
    tree = compile(text, "main.py", "exec", ast.PyCF_ONLY_AST | flags, True)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return compile(text, "main.py", "exec", flags, True), None
    lines = text.split("\n")
    rest = "\n".join([lines[last.end_lineno - 1].encode()[last.end_col_offset:].decode(), *lines[last.end_lineno:]])
    if rest.lstrip(" \t\n)").startswith(";"):
        return compile(text, "main.py", "exec", flags, True), None
    body = ast.Module(tree.body[:-1], [])
    head = compile(body, "main.py", "exec", flags, True)
    futures = head.co_flags & last_expression.FUTURE_FLAGS
    return head if body.body else None, compile(ast.Expression(last.value), "main.py", "eval", flags | futures, True)


def facts(code):
    if code is None:
        return None
    constants = [facts(one) if hasattr(one, "co_code") else one for one in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_flags


class Division(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def test_it_divides_as_a_tree_says(self):
        for flags in (0, AWAIT):
            for text in SOURCES:
                with self.subTest(text=text, flags=flags):
                    try:
                        expected = reference(text, flags)
                    except SyntaxError:  # await, without the flag
                        with self.assertRaises(SyntaxError):
                            last_expression.compile_job(text, "main.py", flags)
                        continue
                    head, tail = last_expression.compile_job(text, "main.py", flags)
                    self.assertEqual(facts(tail), facts(expected[1]))
                    if expected[0] is not None:
                        self.assertEqual(facts(head), facts(expected[0]))

    def test_what_is_wrong_is_said_as_without_a_division(self):
        for text in BROKEN:
            with self.subTest(text=text):
                with self.assertRaises(SyntaxError) as plain:
                    compile(text, "main.py", "exec", 0, True)
                with self.assertRaises(SyntaxError) as ours:
                    last_expression.compile_job(text, "main.py")
                self.assertEqual((str(ours.exception), ours.exception.text), (str(plain.exception), plain.exception.text))

    def test_neither_an_expression_nor_a_plain_statement_takes_a_tree(self):
        trees = []
        self.addCleanup(setattr, last_expression, "_tree_of", last_expression._tree_of)
        last_expression._tree_of = lambda *args: trees.append(args)
        for text in ("print(1+1)", "x = 1\nprint('a', x)", "import os", "x = [1]", "for i in [1]: print(i)", "def f():\n    pass\nf()"):
            last_expression.compile_job(text, "main.py")
        self.assertEqual(trees, [])


if __name__ == "__main__":
    unittest.main()
