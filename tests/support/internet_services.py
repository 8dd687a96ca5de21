# The program that is the test internet: it runs in a network namespace where every address is its
# own, and serves by port. What was reached, by which address and name, is kept for the test to ask.
# Started by test_internet.py; ends when its control socket closes.
import asyncio
import json
import os
import re
import resource
import socket
import ssl
import struct
import subprocess
import sys

import internet_dns
import package_index

# What a port does. A TLS port looks at the name the client says and has a certificate for it.
HTTP, TLS, SMTP, SSH, ECHO, SINK, SOURCE, COUNT, RESET, SILENT, METADATA = (
    "http", "tls", "smtp", "ssh", "echo", "sink", "source", "count", "reset", "silent", "metadata")
PORTS = {80: HTTP, 443: TLS, 8443: TLS, 8080: HTTP, 25: SMTP, 22: SSH, 7: ECHO, 9: SINK, 19: SOURCE,
         4444: COUNT, 4445: RESET, 4446: SILENT, 5432: ECHO, 3128: HTTP}
UDP_PORTS = (123, 443, 9999)
SECRET = "instance-credentials"


class Internet:
    def __init__(self, certificates):
        self.zone = internet_dns.Zone()
        self.reached = []  # every connection, in the order they came
        self.datagrams = []
        self.contexts = {}
        self.certificates = certificates
        self.plain = self.context(os.path.join(certificates, "default.pem"))
        self.plain.sni_callback = self.choose
        self.packages = package_index.PackageIndex()

    def context(self, path):
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(path)
        made.set_alpn_protocols(["http/1.1"])
        return made

    def choose(self, connection, name, _):
        """The certificate of the name that the client says."""
        connection.asked_name = name
        path = os.path.join(self.certificates, f"{name}.pem")
        if name and re.fullmatch(r"[a-z0-9.-]+", name) and os.path.exists(path):
            if name not in self.contexts:
                self.contexts[name] = self.context(path)
            connection.context = self.contexts[name]

    # --- one connection --------------------------------------------------------------------------

    async def accept(self, service, reader, writer):
        address, port = writer.get_extra_info("sockname")[:2]
        entry = {"address": plain(address), "port": port, "from": plain(writer.get_extra_info("peername")[0]),
                 "bytes": 0, "open": True, "ended": None}
        self.reached.append(entry)
        try:
            if service == TLS:
                await writer.start_tls(self.plain, ssl_handshake_timeout=30)
                connection = writer.get_extra_info("ssl_object")
                entry["name"] = getattr(connection, "asked_name", None)
                await self.http(entry, reader, writer)
            else:
                await getattr(self, service)(entry, reader, writer)
            entry["ended"] = entry["ended"] or "closed"
        except (ssl.SSLError, asyncio.IncompleteReadError, ConnectionError, TimeoutError) as error:
            entry["ended"] = type(error).__name__
        finally:
            entry["open"] = False
            try:
                writer.close()
            except RuntimeError:
                pass

    async def http(self, entry, reader, writer):
        """GET tells what was reached; GET /bytes/N gives N bytes; POST counts what came."""
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            entry["bytes"] += len(head)
            lines = head.decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ")
            headers = {name.lower(): value.strip() for name, _, value in
                       (line.partition(":") for line in lines[1:] if line)}
            entry.setdefault("requests", []).append({"method": method, "path": path, "host": headers.get("host")})
            left = int(headers.get("content-length", 0))
            while left > 0:
                data = await reader.read(min(left, 1 << 18))
                if not data:
                    return
                left -= len(data)
                entry["bytes"] += len(data)
            if headers.get("host", "").partition(":")[0] in (package_index.INDEX, package_index.FILES):
                if not await self.package_answer(method, path, headers, writer):
                    return
                continue
            if path.startswith("/bytes/"):
                count = int(path.rsplit("/", 1)[1])
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {count}\r\n\r\n".encode())
                await pour(writer, count)
                continue
            body = json.dumps({key: entry.get(key) for key in ("address", "port", "name", "bytes")}
                              | ({"secret": SECRET} if is_metadata(entry["address"]) else {})).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                         % len(body) + body)
            await writer.drain()

    async def package_answer(self, method, path, headers, writer):
        """The package index's; some are large and take their time to make. False: that was all."""
        answer = await asyncio.to_thread(self.packages.answer, method, headers["host"], path, headers)
        await asyncio.sleep(answer.delay)
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        writer.write(f"HTTP/1.1 {answer.status} Answer\r\n{head}\r\n".encode())
        if method != "HEAD":
            writer.write(answer.sent)
        await writer.drain()
        return answer.cut is None

    async def smtp(self, entry, reader, writer):
        writer.write(b"220 mail ESMTP speaks first\r\n")
        while line := await reader.readline():
            entry["bytes"] += len(line)
            writer.write(b"250 " + line)
            await writer.drain()

    async def ssh(self, entry, reader, writer):
        writer.write(b"SSH-2.0-test\r\n")
        await self.sink(entry, reader, writer)

    async def echo(self, entry, reader, writer):
        while data := await reader.read(1 << 16):
            entry["bytes"] += len(data)
            writer.write(data)
            await writer.drain()

    async def sink(self, entry, reader, writer):
        while data := await reader.read(1 << 18):
            entry["bytes"] += len(data)

    async def source(self, entry, reader, writer):
        await pour(writer, int(await reader.readline()))

    async def count(self, entry, reader, writer):
        """Says how much came, when the other side has said that this is all."""
        await self.sink(entry, reader, writer)
        entry["ended"] = "end of file"
        writer.write(b"%d bytes\n" % entry["bytes"])
        await writer.drain()

    async def reset(self, entry, reader, writer):
        await reader.read(1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        entry["ended"] = "reset"

    async def silent(self, entry, reader, writer):
        await self.sink(entry, reader, writer)

    # --- control ---------------------------------------------------------------------------------

    def do(self, command):
        what = command["do"]
        if what == "zone":
            for name, script in command["names"].items():
                self.zone.put(name, script)
        elif what == "queries":
            return self.zone.asked
        elif what == "reached":
            return self.reached
        elif what == "datagrams":
            return self.datagrams
        elif what == "packages":
            return self.packages.control(command)
        elif what == "forget":
            self.zone.asked.clear()
            self.reached.clear()
            self.datagrams.clear()
        return None

    async def obey(self, control):
        reader, writer = await asyncio.open_unix_connection(sock=control, limit=1 << 26)
        writer.write(b'"ready"\n')
        while line := await reader.readline():
            writer.write(json.dumps(self.do(json.loads(line))).encode() + b"\n")
            await writer.drain()


class Datagrams(asyncio.DatagramProtocol):
    """Nothing should ever come here from a sandbox."""

    def __init__(self, internet, port):
        self.internet, self.port = internet, port

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        self.internet.datagrams.append({"port": self.port, "bytes": len(data), "from": plain(sender[0])})
        self.transport.sendto(data, sender)


async def pour(writer, count):
    block = bytes(1 << 18)
    while count > 0:
        size = min(count, len(block))
        writer.write(block[:size])
        await writer.drain()
        count -= size


def plain(address):
    return address.removeprefix("::ffff:")


def is_metadata(address):
    return address in ("169.254.169.254", "fd00:ec2::254")


async def main(control, certificates, resolver):
    internet = Internet(certificates)
    # Before anything binds: in a namespace without any route an address counts as a broadcast's.
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    await internet_dns.serve(internet.zone, resolver)
    for port, service in PORTS.items():
        listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=4096)
        await asyncio.start_server(lambda r, w, s=service: internet.accept(s, r, w), sock=listener, limit=1 << 18)
    for port in UDP_PORTS:
        await asyncio.get_running_loop().create_datagram_endpoint(
            lambda p=port: Datagrams(internet, p), local_addr=("0.0.0.0", port))
    await internet.obey(control)


if __name__ == "__main__":
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], sys.argv[3]))
