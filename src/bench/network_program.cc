#include "bench/network_program.h"

#include <cstdlib>

namespace glovebox::bench {
namespace {

constexpr const char* kPythonPath = "/usr/bin/python3";

constexpr const char* kProgram = R"python(
import socket, struct, sys, time

def clock():
    return time.perf_counter() * 1000

def dial(to, first=b""):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    one.connect(to)
    if first:
        one.sendall(first)
    return one

def wait_for(one, size):
    got = one.recv(size, socket.MSG_WAITALL)
    if len(got) != size:
        sys.exit("the connection ended too early")
    return got

def send(to, megabytes, count):
    piece = bytes(1 << 20)
    took = []
    for _ in range(count):
        began = clock()
        with dial(to, b"s") as one:
            for _ in range(megabytes):
                one.sendall(piece)
            one.shutdown(socket.SHUT_WR)
            if struct.unpack("<Q", wait_for(one, 8))[0] != megabytes << 20:
                sys.exit("not everything arrived")
        took.append(clock() - began)
    return [took]

def receive(to, megabytes, count):
    piece = bytearray(1 << 20)
    took = []
    for _ in range(count):
        left = megabytes << 20
        began = clock()
        with dial(to, b"r" + struct.pack("<Q", left)) as one:
            while size := one.recv_into(piece):
                left -= size
        if left:
            sys.exit("not everything arrived")
        took.append(clock() - began)
    return [took]

def https(to, count, name, certificate, resolve):
    import ssl
    context = ssl.create_default_context(cadata=certificate)
    if resolve:
        found = socket.getaddrinfo(name, to[1], socket.AF_INET, socket.SOCK_STREAM)
        if to[0] not in [each[4][0] for each in found]:
            sys.exit("the name resolves to another address")
    took = []
    for _ in range(count + 1):
        began = clock()
        with context.wrap_socket(dial(to), server_hostname=name) as one:
            one.sendall(b"x")
            if one.recv(1) != b"x":
                sys.exit("no answer")
            took.append(clock() - began)
    return [took[1:]]

def echo(one):
    began = clock()
    one.sendall(b"x")
    wait_for(one, 1)
    return clock() - began

def relays(to, idle, connects, echoes):
    import resource
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held = [dial(to, b"e") for _ in range(idle)]
    for one in held:
        echo(one)
    took = []
    for _ in range(connects):
        began = clock()
        with dial(to, b"ex") as one:
            wait_for(one, 1)
            took.append(clock() - began)
    return [took, [echo(held[i % idle]) for i in range(echoes)]]

def echoes(to, for_ms):
    until = clock() + for_ms
    took = []
    with dial(to, b"e") as one:
        echo(one)
        while clock() < until:
            time.sleep(0.001)
            took.append(echo(one))
    return [took]

# A connection is reset when 256 more have been opened, so that the gateway finds it alive when it
# decides about it.
def flood(to, for_ms):
    at_once = struct.pack("ii", 1, 0)
    held = [None] * 256
    count = 0
    began = time.time()
    until = began + for_ms / 1000
    while time.time() < until:
        for at in range(len(held)):
            one = socket.socket(type=socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            one.connect_ex(to)
            held[at] = one
        count += len(held)
    ended = time.time()
    return [[began, ended, count]]

what, address, port, *numbers = sys.argv[1:]
to = (address, int(port))
if what == "https":
    groups = https(to, int(numbers[0]), numbers[1], numbers[2], numbers[3] == "resolve")
else:
    work = {"send": send, "receive": receive, "relays": relays, "echo": echoes, "flood": flood}
    groups = work[what](to, *map(int, numbers))
sys.stdout.write(";".join(" ".join("%.6f" % one for one in group) for group in groups))
)python";

std::vector<std::string> program(const char* what, const NetworkTarget& to,
                                 std::vector<std::string> more) {
  std::vector<std::string> argv = {
      kPythonPath, "-c", kProgram, what, to.address.text(), std::to_string(to.port)};
  argv.insert(argv.end(), more.begin(), more.end());
  return argv;
}

}  // namespace

std::vector<std::string> send_program(const NetworkTarget& to, unsigned megabytes, unsigned count) {
  return program("send", to, {std::to_string(megabytes), std::to_string(count)});
}

std::vector<std::string> receive_program(const NetworkTarget& to, unsigned megabytes,
                                         unsigned count) {
  return program("receive", to, {std::to_string(megabytes), std::to_string(count)});
}

std::vector<std::string> https_program(const NetworkTarget& to, const std::string& name,
                                       const std::string& certificate, unsigned count,
                                       FirstOf first) {
  return program("https", to,
                 {std::to_string(count), name, certificate,
                  first == FirstOf::kResolve ? "resolve" : "connect"});
}

std::vector<std::string> relays_program(const NetworkTarget& to, unsigned idle, unsigned connects,
                                        unsigned echoes) {
  return program("relays", to,
                 {std::to_string(idle), std::to_string(connects), std::to_string(echoes)});
}

std::vector<std::string> echo_program(const NetworkTarget& to, unsigned for_ms) {
  return program("echo", to, {std::to_string(for_ms)});
}

std::vector<std::string> flood_program(const NetworkTarget& to, unsigned for_ms) {
  return program("flood", to, {std::to_string(for_ms)});
}

Result<Groups> parse_groups(std::string_view text, std::size_t count) {
  Groups groups(1);
  const std::string all(text);
  const char* at = all.c_str();
  while (*at != '\0') {
    if (*at == ';') {
      groups.emplace_back();
      ++at;
      continue;
    }
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) return fail(Errc::kProtocol, "malformed figures: " + all.substr(0, 200));
    groups.back().push_back(number);
    at = end;
    while (*at == ' ') ++at;
  }
  if (groups.size() != count) {
    return fail(Errc::kProtocol, "unexpected number of figures: " + all.substr(0, 200));
  }
  return groups;
}

}  // namespace glovebox::bench
