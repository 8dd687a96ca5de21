"""HTTPS: names and authorities are checked, and everything works over it, WebSockets too."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator, Tuple

import pytest
from both_clients import KINDS, Caller

import glovebox


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not pytest's own, which only its owner may enter: the server runs as another user."""
    with tempfile.TemporaryDirectory(prefix="gbx-test-") as made:
        os.chmod(made, 0o755)
        yield Path(made)


@pytest.fixture(scope="module")
def tls_server(bin_dir: Path, folder: Path) -> "Iterator[Tuple[str, str, Path]]":
    """A live server with a certificate of an unknown authority: (url, key, certificate)."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    made = subprocess.run([*words.split(), *names], capture_output=True)
    if made.returncode != 0:
        pytest.skip(f"no certificate can be made: {made.stderr.decode()[-300:]}")
    data = folder / "data"
    data.mkdir(mode=0o755)
    serve = [str(bin_dir / "glovebox"), "serve", "--data-dir", str(data), "--listen", "127.0.0.1:0"]
    settings = ["--set", f"server.tls_cert={cert}", "--set", f"server.tls_key={key}", "--set", "log.requests=false"]
    with subprocess.Popen(
        [*serve, *settings], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            # It prints its address when it is ready; after that, an unread pipe does no harm.
            for line in process.stdout:
                if line.startswith(b"Glovebox serves at "):
                    break
            url = json.loads((data / "serve.json").read_text())["url"]
            assert url.startswith("https://")
            yield url, (data / "admin.key").read_text().strip(), cert
        finally:
            process.terminate()
            process.communicate(timeout=60)


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_certificate_is_refused(kind: str, tls_server: "Tuple[str, str, Path]") -> None:
    url, key, _ = tls_server
    with Caller(kind, url, key, retries=0) as call:
        with pytest.raises(glovebox.ConnectionFailed, match="TLS certificate was not accepted"):
            call(lambda client: client.run("1"))


@pytest.mark.parametrize("kind", KINDS)
def test_requests_streams_and_websockets_work_over_tls(
    kind: str, tls_server: "Tuple[str, str, Path]", monkeypatch: pytest.MonkeyPatch
) -> None:
    url, key, cert = tls_server
    monkeypatch.setenv("SSL_CERT_FILE", os.fspath(cert))
    with Caller(kind, url, key) as call:
        assert [call(lambda client: client.run("6 * 7")).value for _ in range(3)] == [42, 42, 42]
        sandbox = call(lambda client: call.Sandbox.create(client=client))
        assert call.wait(sandbox.files.write("big", b"x" * 3_000_000)).size == 3_000_000
        assert len(call.wait(sandbox.files.read("big"))) == 3_000_000
        process = call.wait(sandbox.start(["cat"]))
        call.wait(process.write("x" * 2_000_000))
        call.wait(process.close_stdin())
        assert len(call.wait(process.wait(60)).stdout) == 2_000_000
        call.wait(sandbox.kill())
