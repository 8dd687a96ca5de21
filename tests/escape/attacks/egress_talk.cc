// How a guest talks to the little internet: connections, questions for names, and TLS ClientHellos
// made by hand, also such as no library would make.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "egress.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr int kPatienceMs = 4000;

void put16(std::string& out, std::size_t value) {
  out += static_cast<char>(value >> 8);
  out += static_cast<char>(value & 255);
}

std::string with_length16(const std::string& text) {
  std::string out;
  put16(out, text.size());
  return out + text;
}

unsigned get16(const std::string& text, std::size_t at) {
  if (at + 2 > text.size()) return 0;
  return static_cast<unsigned>(static_cast<unsigned char>(text[at])) << 8 |
         static_cast<unsigned char>(text[at + 1]);
}

// A socket connected to it, or -1 with errno.
int connected(const std::string& address, std::uint16_t port, int type) {
  sockaddr_storage place{};
  socklen_t size = 0;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&place);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&place);
  if (inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    size = sizeof *v4;
  } else if (inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    size = sizeof *v6;
  }
  const int fd = socket(place.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int err = connect(fd, reinterpret_cast<sockaddr*>(&place), size) == 0 ? 0 : errno;
  if (err == EINPROGRESS) {
    pollfd poller{fd, POLLOUT, 0};
    socklen_t length = sizeof err;
    if (poll(&poller, 1, kPatienceMs) != 1) {
      err = ETIMEDOUT;
    } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &length) != 0) {
      err = errno;
    }
  }
  if (err == 0) return fd;
  close(fd);
  errno = err;
  return -1;
}

// Some bytes of it; empty at its end, an error (errno) or when nothing comes (ETIMEDOUT).
std::string receive(int fd) {
  pollfd poller{fd, POLLIN, 0};
  errno = ETIMEDOUT;
  if (poll(&poller, 1, kPatienceMs) != 1) return "";
  char buffer[4096];
  errno = 0;
  const ssize_t count = recv(fd, buffer, sizeof buffer, 0);
  return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : "";
}

// A name in an answer, also a compressed one, is passed over.
std::size_t after_name(const std::string& answer, std::size_t at) {
  while (at < answer.size()) {
    const auto size = static_cast<unsigned char>(answer[at]);
    if (size == 0) return at + 1;
    if (size >= 0xc0) return at + 2;
    at += 1u + size;
  }
  return answer.size();
}

Names read_names(const std::string& answer) {
  Names names{.answered = answer.size() >= 12};
  if (!names.answered) return names;
  names.code = answer[3] & 15;
  std::size_t at = after_name(answer, 12) + 4;
  for (unsigned left = get16(answer, 6); left > 0 && at < answer.size(); --left) {
    at = after_name(answer, at);
    const unsigned type = get16(answer, at);
    const unsigned size = get16(answer, at + 8);
    if (at + 10 + size > answer.size()) break;
    const std::string data = answer.substr(at + 10, size);
    at += 10 + size;
    char text[INET6_ADDRSTRLEN] = {};
    if (type == kTypeA && size == 4) {
      names.addresses.push_back(inet_ntop(AF_INET, data.data(), text, sizeof text));
    } else if (type == kTypeAaaa && size == 16) {
      names.addresses.push_back(inet_ntop(AF_INET6, data.data(), text, sizeof text));
    } else {
      names.texts.push_back(data);
    }
  }
  return names;
}

}  // namespace

Verdict reach(const std::string& address, std::uint16_t port, const std::string& first) {
  const std::string what = address + " port " + std::to_string(port);
  const int fd = connected(address, port, SOCK_STREAM);
  if (fd < 0) return denied_by_errno("connect " + what, errno);
  if (!first.empty() && send(fd, first.data(), first.size(), MSG_NOSIGNAL) < 0) {
    const int err = errno;
    close(fd);
    return denied_by_errno("send to " + what, err);
  }
  const std::string line = receive(fd);
  const int err = errno;
  close(fd);
  if (line.rfind("reached ", 0) == 0) return succeeded(line.substr(0, line.find('\n')));
  return denied(what + ": " + (err != 0 ? strerror(err) : "closed without a word"), err);
}

std::vector<std::string> labels_of(const std::string& name) {
  std::vector<std::string> labels;
  std::istringstream words(name);
  for (std::string label; std::getline(words, label, '.');) labels.push_back(label);
  return labels;
}

std::string dns_name(const std::vector<std::string>& labels) {
  std::string out;
  for (const std::string& label : labels) out += static_cast<char>(label.size()) + label;
  return out + '\0';
}

Names ask(const Question& question) {
  const int fd = connected(question.server, kDnsPort, question.over_tcp ? SOCK_STREAM : SOCK_DGRAM);
  if (fd < 0) return {};
  std::string query;
  put16(query, 0x4242);
  query += std::string("\1\0\0\1\0\0\0\0\0\0", 10);
  query += dns_name(question.labels.empty() ? labels_of(question.name) : question.labels);
  put16(query, question.type);
  put16(query, 1);
  if (question.over_tcp) query = with_length16(query);
  std::string answer;
  if (send(fd, query.data(), query.size(), MSG_NOSIGNAL) >= 0) answer = receive(fd);
  close(fd);
  if (question.over_tcp && answer.size() > 2) answer.erase(0, 2);
  return read_names(answer);
}

std::string client_hello(const Hello& hello) {
  std::string extensions;
  std::string list;
  for (const std::string& name : hello.names) {
    const std::string entry = std::string(1, '\0') + with_length16(name);
    list += entry;
    if (!hello.one_list) {
      put16(extensions, 0);  // server_name
      extensions += with_length16(with_length16(entry));
    }
  }
  if (hello.one_list) {
    put16(extensions, 0);
    extensions += with_length16(with_length16(list));
  }
  put16(extensions, 43);  // supported_versions: TLS 1.3
  extensions += with_length16(std::string("\2\3\4", 3));
  std::string body = std::string("\3\3", 2) + std::string(32, 'r') + std::string(1, '\0');
  body += with_length16(std::string("\x13\1", 2)) + std::string("\1\0", 2);
  body += with_length16(extensions);
  const std::string handshake = std::string("\1\0", 2) + with_length16(body);
  std::string records;
  const std::size_t step = hello.record == 0 ? handshake.size() : hello.record;
  for (std::size_t at = 0; at < handshake.size(); at += step) {
    records += std::string("\x16") + hello.version + with_length16(handshake.substr(at, step));
  }
  return records;
}

std::string way_is_closed() {
  const Names names = ask({.name = "good.example"});
  if (names.addresses.empty()) {
    return "good.example: " +
           (names.answered ? "code " + std::to_string(names.code) : std::string("no answer"));
  }
  const Verdict verdict = reach(names.addresses[0], 443, client_hello("good.example"));
  return verdict.code == kSucceeded ? "" : verdict.text;
}

Verdict resolve_and_reach(const Question& question, std::uint16_t port, const std::string& first) {
  const Names names = ask(question);
  Verdict verdict = denied(question.name + " is not resolved (code " + std::to_string(names.code) +
                           (names.answered ? ")" : ", no answer)"));
  for (const std::string& address : names.addresses) {
    verdict = reach(address, port, first);
    if (verdict.code == kSucceeded) return verdict;
  }
  return verdict;
}

}  // namespace glovebox::attacks
