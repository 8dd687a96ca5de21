# The DNS of the test internet: one server that knows a scripted zone, answers honestly or as badly
# as a name's script says, and keeps a list of every question it saw.
import asyncio
import ipaddress
import socket
import struct

A, NS, CNAME, SOA, TXT, AAAA, SVCB, HTTPS = 1, 2, 5, 6, 16, 28, 64, 65
TYPE_NAMES = {A: "A", NS: "NS", CNAME: "CNAME", SOA: "SOA", TXT: "TXT", AAAA: "AAAA", SVCB: "SVCB",
              HTTPS: "HTTPS"}
NXDOMAIN, SERVFAIL, REFUSED = 3, 2, 5
UDP_SIZE = 1232


def encode_name(name):
    if name in ("", "."):
        return b"\0"
    return b"".join(bytes([len(label)]) + label for label in name.rstrip(".").encode().split(b".")) + b"\0"


def decode_name(data, at):
    labels = []
    while data[at] != 0:
        size = data[at]
        if size >= 64:
            raise ValueError("compressed")
        labels.append(data[at + 1:at + 1 + size].decode("latin-1"))
        at += 1 + size
    return ".".join(labels), at + 1


def record(name, kind, ttl, data):
    return encode_name(name) + struct.pack(">HHIH", kind, 1, ttl, len(data)) + data


def address_record(name, address, ttl):
    address = ipaddress.ip_address(address)
    return record(name, A if address.version == 4 else AAAA, ttl, address.packed)


class Zone:
    """Scripts by name. A script is a dict with any of:
      a, aaaa     lists of addresses; a list of lists is a list for each question in turn
      cname       another name; answered with all that follows from it, unless lone is set
      txt, https  a text record; an HTTPS record that hints at addresses
      code        an error in place of an answer
      ttl         60 unless said
      delay       seconds before the answer, or None: there is none
      truncated   by UDP only a header that says so
      faults      of: wrong-id, wrong-name, wrong-port, garbage, pointer-loop, poison, huge
    """

    def __init__(self):
        self.scripts, self.asked = {}, []

    def put(self, name, script):
        self.scripts[name.lower()] = dict(script, turn=0)

    def addresses(self, script, key):
        found = script.get(key) or []
        if found and isinstance(found[0], list):
            chosen = found[min(script["turn"], len(found) - 1)]
            script["turn"] += 1
            return chosen
        return found

    def answer(self, query, over_tcp):
        """(bytes, delay): what to send, and after how long; (None, 0): nothing ever."""
        identity, flags = struct.unpack_from(">HH", query)
        name, at = decode_name(query, 12)
        kind, = struct.unpack_from(">H", query, at)
        question = query[12:at + 4]
        self.asked.append({"name": name, "type": TYPE_NAMES.get(kind, str(kind)),
                           "over": "tcp" if over_tcp else "udp"})
        script = self.scripts.get(name.lower())
        if script is None:
            return struct.pack(">HHHHHH", identity, 0x8180 | NXDOMAIN, 1, 0, 0, 0) + question, 0
        faults = script.get("faults", [])
        delay = script.get("delay", 0)
        if delay is None:
            return None, 0
        if script.get("truncated") and not over_tcp:
            return struct.pack(">HHHHHH", identity, 0x8380, 1, 0, 0, 0) + question, delay
        if "garbage" in faults:
            return struct.pack(">H", identity) + b"\xff" * 60, delay
        records = self.records(name, kind, script)
        if "wrong-id" in faults:
            identity ^= 0x5555
        if "wrong-name" in faults:
            question = encode_name("other.example.org") + question[-4:]
        if "poison" in faults:
            records.append(address_record("victim.example.org", "203.0.115.66", 3600))
        if "pointer-loop" in faults:
            here = 12 + len(question)
            loop = struct.pack(">H", 0xC000 | here) + struct.pack(">HHIH", A, 1, 60, 4) + b"\1\2\3\4"
            return struct.pack(">HHHHHH", identity, 0x8180, 1, 1, 0, 0) + question + loop, delay
        code = script.get("code", 0)
        body = question + b"".join(records)
        head = struct.pack(">HHHHHH", identity, 0x8180 | code, 1, len(records), 0, 0)
        if not over_tcp and len(head + body) > UDP_SIZE and "huge" not in faults:
            return struct.pack(">HHHHHH", identity, 0x8380, 1, 0, 0, 0) + question, delay
        return head + body, delay

    def records(self, name, kind, script, depth=0):
        ttl = script.get("ttl", 60)
        if "cname" in script:
            made = [record(name, CNAME, ttl, encode_name(script["cname"]))]
            beyond = self.scripts.get(script["cname"].lower())
            if beyond is not None and depth < 40 and not script.get("lone"):
                made += self.records(script["cname"], kind, beyond, depth + 1)
            return made
        if kind == A:
            return [address_record(name, address, ttl) for address in self.addresses(script, "a")]
        if kind == AAAA:
            return [address_record(name, address, ttl) for address in self.addresses(script, "aaaa")]
        if kind == TXT and "txt" in script:
            return [record(name, TXT, ttl, bytes([len(script["txt"])]) + script["txt"].encode())]
        if kind == HTTPS and "https" in script:
            hints = b"".join(ipaddress.ip_address(one).packed for one in script["https"])
            return [record(name, HTTPS, ttl, struct.pack(">H", 1) + b"\0" + struct.pack(">HH", 4, len(hints)) + hints)]
        return []


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, zone):
        self.zone = zone

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, sender):
        try:
            answer, delay = self.zone.answer(data, over_tcp=False)
        except (ValueError, IndexError, struct.error):
            return
        if answer is not None:
            asyncio.get_running_loop().call_later(delay, self.transport.sendto, answer, sender)


async def _stream(zone, reader, writer):
    try:
        while True:
            size, = struct.unpack(">H", await reader.readexactly(2))
            answer, delay = zone.answer(await reader.readexactly(size), over_tcp=True)
            if answer is None:
                continue
            await asyncio.sleep(delay)
            writer.write(struct.pack(">H", len(answer)) + answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError, ValueError, IndexError):
        pass
    finally:
        writer.close()


async def serve(zone, address, port=53):
    """At an address of the internet's; everything it says comes from there."""
    IP_TRANSPARENT = 19
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sockets = []
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        made = socket.socket(family, kind)
        made.setsockopt(socket.IPPROTO_IP, IP_TRANSPARENT, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.setblocking(False)
        sockets.append(made)
    await asyncio.get_running_loop().create_datagram_endpoint(lambda: _Datagrams(zone), sock=sockets[0])
    await asyncio.start_server(lambda r, w: _stream(zone, r, w), sock=sockets[1])
