#include "sys/systemd_scope.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/hex.h"
#include "base/unique_fd.h"

namespace glovebox::sys {
namespace {

constexpr timeval kPatience{.tv_sec = 3, .tv_usec = 0};
constexpr std::size_t kMaxAnswer = 16384;

// D-Bus data, little-endian: every value begins at a multiple of its size.
class BusWriter {
 public:
  void align(std::size_t to) { bytes_.resize((bytes_.size() + to - 1) / to * to); }
  void byte(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  void number(std::uint32_t value) {
    align(4);
    for (unsigned shift = 0; shift < 32; shift += 8)
      byte(static_cast<std::uint8_t>(value >> shift));
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    characters(value);
  }
  void signature(std::string_view value) {
    byte(static_cast<std::uint8_t>(value.size()));
    characters(value);
  }
  // An array of structures, which begin at multiples of 8. Its length does not count the padding
  // before the first of them.
  std::size_t begin_array() {
    number(0);
    const std::size_t length_at = bytes_.size() - 4;
    align(8);
    return length_at;
  }
  void end_array(std::size_t length_at) {
    const std::size_t first = (length_at + 4 + 7) / 8 * 8;
    set_number(length_at, static_cast<std::uint32_t>(bytes_.size() - first));
  }
  void set_number(std::size_t at, std::uint32_t value) {
    for (unsigned i = 0; i < 4; ++i) bytes_[at + i] = std::byte((value >> (8 * i)) & 0xff);
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void characters(std::string_view value) {
    for (const char c : value) byte(static_cast<std::uint8_t>(c));
    byte(0);
  }
  std::vector<std::byte> bytes_;
};

void add_header_field(BusWriter& to, std::uint8_t code, std::string_view type,
                      std::string_view value) {
  to.align(8);
  to.byte(code);
  to.signature(type);
  if (type == "g") {
    to.signature(value);
  } else {
    to.text(value);
  }
}

void begin_property(BusWriter& to, std::string_view name, std::string_view type) {
  to.align(8);
  to.text(name);
  to.signature(type);
}

// A few hundred bytes, which a socket's buffer takes at once.
Result<> send_all(int socket, std::string_view bytes) {
  const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return {};
  return fail(Error::from_errno("send to the user's systemd"));
}

Result<std::string> read_some(int socket, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t got = ::recv(socket, text.data(), text.size(), 0);
  if (got < 0) return fail(Error::from_errno("wait for the user's systemd"));
  if (got == 0) return fail(Errc::kUnavailable, "the user's systemd closed the connection");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Result<> authenticate(int socket) {
  const std::string uid = std::to_string(::geteuid());
  std::string hello(1, '\0');
  hello += "AUTH EXTERNAL " + hex_encode(std::string_view(uid)) + "\r\n";
  TRY_OK(send_all(socket, hello));
  std::string answer;
  while (answer.find("\r\n") == std::string::npos) {
    TRY(const std::string more, read_some(socket, 1024));
    answer += more;
    if (answer.size() > kMaxAnswer) return fail(Errc::kProtocol, "systemd's greeting is too long");
  }
  if (!answer.starts_with("OK ")) {
    return fail(Errc::kUnavailable, "the user's systemd does not accept this user");
  }
  return send_all(socket, "BEGIN\r\n");
}

std::size_t bus_number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (unsigned i = 0; i < 4; ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// systemd also reports every change of its units on this socket; only the answer counts.
Result<> read_reply(int socket) {
  constexpr std::size_t kFixedHeader = 16;
  constexpr std::size_t kMaxMessage = 1u << 20;
  constexpr char kMethodReturn = 2;
  constexpr char kMethodError = 3;
  std::string bytes;
  std::size_t read_in_all = 0;
  while (read_in_all < kMaxMessage) {
    while (bytes.size() >= kFixedHeader) {
      if (bytes[0] != 'l') return fail(Errc::kProtocol, "systemd's answer is not little-endian");
      if (bytes[1] == kMethodReturn) return {};
      if (bytes[1] == kMethodError) {
        return fail(Errc::kUnavailable, "the user's systemd refused to start a scope");
      }
      const std::size_t fields = bus_number_at(bytes, 12);
      const std::size_t size = kFixedHeader + (fields + 7) / 8 * 8 + bus_number_at(bytes, 4);
      if (size > kMaxMessage) return fail(Errc::kProtocol, "systemd's message is too long");
      if (bytes.size() < size) break;
      bytes.erase(0, size);
    }
    TRY(const std::string more, read_some(socket, kMaxAnswer));
    bytes += more;
    read_in_all += more.size();
  }
  return fail(Errc::kProtocol, "the user's systemd did not answer");
}

}  // namespace

std::vector<std::byte> start_scope_message(const std::string& unit, pid_t pid) {
  BusWriter body;
  body.text(unit);
  body.text("fail");  // if there is one of this name
  const std::size_t properties = body.begin_array();
  begin_property(body, "Description", "s");
  body.text("Glovebox launcher and its sandboxes");
  begin_property(body, "PIDs", "au");
  body.number(4);
  body.number(static_cast<std::uint32_t>(pid));
  begin_property(body, "Delegate", "b");
  body.number(1);
  begin_property(body, "CollectMode", "s");
  body.text("inactive-or-failed");
  body.end_array(properties);
  body.end_array(body.begin_array());  // no other units
  const std::vector<std::byte> content = body.take();

  constexpr std::uint8_t kLittleEndian = 'l';
  constexpr std::uint8_t kMethodCall = 1;
  constexpr std::uint8_t kVersion = 1;
  BusWriter message;
  message.byte(kLittleEndian);
  message.byte(kMethodCall);
  message.byte(0);
  message.byte(kVersion);
  message.number(static_cast<std::uint32_t>(content.size()));
  message.number(1);  // its serial number
  const std::size_t fields = message.begin_array();
  add_header_field(message, 1, "o", "/org/freedesktop/systemd1");
  add_header_field(message, 2, "s", "org.freedesktop.systemd1.Manager");
  add_header_field(message, 3, "s", "StartTransientUnit");
  add_header_field(message, 6, "s", "org.freedesktop.systemd1");
  add_header_field(message, 8, "g", "ssa(sv)a(sa(sv))");
  message.end_array(fields);
  message.align(8);
  std::vector<std::byte> bytes = message.take();
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

Result<> start_scope(const std::string& socket_path, const std::string& unit, pid_t pid) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, "the path of systemd's socket is too long");
  }
  std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(Error::from_errno("connect to the user's systemd"));
  }
  TRY_OK(authenticate(socket.get()));
  const std::vector<std::byte> message = start_scope_message(unit, pid);
  TRY_OK(send_all(socket.get(),
                  std::string_view(reinterpret_cast<const char*>(message.data()), message.size())));
  return read_reply(socket.get());
}

}  // namespace glovebox::sys
