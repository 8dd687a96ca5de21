"""A function that needs packages which this machine does not have: renders untrusted Markdown in sandboxes.

    PYTHONPATH=sdk/python python3 examples/packages.py     # from the repository
    python3 packages.py                                    # with the package `glovebox` installed

The server installs the packages once, in sandboxes of their own, and keeps them: the first call waits and shows the
steps. Later calls start with the packages imported. It needs a package index: that of the host's pip, or the
server's setting `deps.index_url`.
"""
import sys
import time

from glovebox import Dependencies, DependencyError, sandboxed

NEEDS = Dependencies(["markdown-it-py>=3", "linkify-it-py"], preload=["markdown_it"])
TEXTS = [
    "# Hello\n\nSee *www.example.org* today.",
    "- one\n- two",
    "<script>alert('gotcha')</script>",  # stays text
    "[click](javascript:alert(1))",  # becomes no link
]


def show(word):
    print(f"  {word}", file=sys.stderr)


@sandboxed(dependencies=NEEDS, timeout=20, on_build=show)
def render(text):
    from markdown_it import MarkdownIt  # in there, not here

    return MarkdownIt("js-default", {"linkify": True}).render(text)


def timed(call, *arguments):
    began = time.monotonic()
    return call(*arguments), (time.monotonic() - began) * 1000


def main():
    try:
        _, first = timed(render, TEXTS[0])
    except DependencyError as error:
        sys.exit(f"the packages cannot be installed: {error.message}")
    _, second = timed(render, TEXTS[0])
    print(f"the first call: {first:,.0f} ms, with what had to be done before it; the second: {second:.1f} ms")
    for text, html in zip(TEXTS, render.map(TEXTS)):
        print(f"{text!r}\n    {html.strip()!r}")


if __name__ == "__main__":
    main()
