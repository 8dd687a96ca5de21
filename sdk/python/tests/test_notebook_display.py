"""Notebooks show results, and nothing a guest says gets into the notebook's own page."""

from __future__ import annotations

import html
import re
import time

from glovebox import Mime, RunResult
from glovebox.models.from_json import from_json

RUN = {"id": "rn1", "exit_code": 0}
EVIL = '<script>alert(1)</script><img src=x onerror="alert(2)">"\'>'


def shown(**said: object) -> str:
    return from_json(RunResult, {**RUN, **said})._repr_html_()


def test_text_is_escaped_everywhere() -> None:
    page = shown(
        stdout=EVIL,
        stderr=EVIL,
        result={"text/plain": EVIL},
        results=[{"text/plain": EVIL}],
        error={"code": "exception", "name": EVIL, "message": EVIL, "traceback": ["at", EVIL]},
    )
    assert "<script" not in page and "<img" not in page
    assert page.count(html.escape(EVIL)) == 5


def test_a_traceback_is_shown_once() -> None:
    error = {"code": "exception", "name": "E", "message": "m", "traceback": ["Traceback", "E: m"]}
    page = shown(stderr="before\nTraceback\nE: m\n", error=error)
    assert page.count("E: m") == 1 and page.count("before") == 1
    assert shown(stderr="Traceback\nE: m\n", error=error).count("<pre") == 1
    assert shown(stderr="other\n", error=error).count("<pre") == 2


def test_html_is_in_a_frame_without_permissions() -> None:
    page = shown(result={"text/html": f"<table><tr><td>{EVIL}</td></tr></table>", "text/plain": "a table"})
    frame = re.fullmatch(r'<div><iframe sandbox="" [^<>]*srcdoc="([^"<>]*)"[^<>]*></iframe></div>', page)
    assert frame is not None  # nothing of it is outside of the attribute
    inside = html.unescape(frame.group(1))
    assert EVIL in inside and "default-src 'none'" in inside
    assert inside.index("Content-Security-Policy") < inside.index(EVIL)


def test_svg_is_framed_too() -> None:
    page = shown(result={"image/svg+xml": "<svg onload=alert(1)></svg>"})
    assert '<iframe sandbox=""' in page and "<svg" not in page


def test_figures_are_images_and_only_base64_is_let_through() -> None:
    assert 'src="data:image/png;base64,iVBORw=="' in shown(results=[{"image/png": "iVBO\nRw=="}])
    page = shown(result={"image/png": 'x" onerror="alert(1)', "text/plain": "fig"})
    assert "onerror" not in page and "fig" in page


def test_invalid_images_are_refused_quickly() -> None:
    began = time.process_time()
    for evil in (" " * 300_000 + "!", "A" * 300_000 + "!", "A " * 150_000 + "!", "A" * 300_000 + "=" * 100_000):
        assert "<img" not in shown(result={"image/png": evil, "text/plain": "p"})
    assert time.process_time() - began < 5  # it was minutes: every space was tried with every other


def test_a_figure_is_preferred_and_what_fails_is_last() -> None:
    page = shown(stdout="out", result={"image/png": "iVBORw==", "text/plain": "fig"}, exit_code=1)
    assert page.index("out") < page.index("<img") < page.index("exit code 1")
    result = from_json(RunResult, {**RUN, "results": [{"image/png": "iVBORw=="}]})
    assert result._repr_png_() == b"\x89PNG"
    assert from_json(RunResult, RUN)._repr_png_() is None


def test_bundles_have_text_and_safe_html() -> None:
    bundle = Mime({"text/plain": "t", "text/html": EVIL, "application/javascript": "alert(1)"})._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and "<script" not in bundle["text/html"]
    assert set(from_json(RunResult, {**RUN, "stdout": "x"})._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_long_text_is_truncated() -> None:
    assert len(shown(stdout="x" * 10_000_000)) < 200_000
    assert "<iframe" not in shown(result={"text/html": "x" * 10_000_000, "text/plain": "big"})
