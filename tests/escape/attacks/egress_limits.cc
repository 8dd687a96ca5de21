// Attacks on the way out by quantity: more connections, bytes, names and questions than a sandbox's
// budget has.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress.h"
#include "toolbox.h"

namespace glovebox::attacks {
namespace {

constexpr int kBudget = 5;  // connections, or names
constexpr std::size_t kBytes = 100'000;
constexpr const char* kConnections =
    R"(--net {"allow":["good.example"],"budgets":{"connections":5}})";
constexpr const char* kBytesOut =
    R"(--net {"allow":["good.example"],"budgets":{"bytes_out":100000}})";
constexpr const char* kNames = R"(--net {"base":"all","budgets":{"names":5}})";

Verdict more_connections(const Args&) {
  return where_good_is_reached([] {
    int reached = 1;  // that was to see that it works
    for (int more = 0; more < 3 * kBudget; ++more) {
      if (reach(kGood4, 443, client_hello("good.example")).code == kSucceeded) ++reached;
    }
    const std::string said = std::to_string(reached) + " connections";
    return reached > kBudget ? succeeded(said) : denied(said);
  });
}

Verdict more_bytes(const Args&) {
  return where_good_is_reached([] {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(kSinkPort);
    inet_pton(AF_INET, kGood4, &place.sin_addr);
    const timeval patience{5, 0};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) {
      return not_tried("connect to the sink");
    }
    const std::string block(16384, 'x');
    for (std::size_t sent = 0; sent < 40 * kBytes; sent += block.size()) {
      if (send(fd, block.data(), block.size(), MSG_NOSIGNAL) < 0) break;
    }
    shutdown(fd, SHUT_WR);
    char line[128] = {};
    const ssize_t count = recv(fd, line, sizeof line - 1, 0);
    close(fd);
    const char* bytes = count > 0 ? strstr(line, "bytes ") : nullptr;
    if (bytes == nullptr) return denied("the connection was cut");
    if (static_cast<std::size_t>(atoll(bytes + 6)) <= kBytes) return denied(line);
    return succeeded(line);
  });
}

Verdict more_names(const Args&) {
  return where_good_is_reached([] {
    int told = 1;  // good.example
    for (int more = 1; more <= 3 * kBudget; ++more) {
      const std::string name = "5db8d8" + std::to_string(10 + more) + ".tunnel.example";
      if (!ask({.name = name}).addresses.empty()) ++told;
    }
    const std::string said = std::to_string(told) + " names";
    return told > kBudget ? succeeded(said) : denied(said);
  });
}

// The same question again and again; a budget of names does not see it.
Verdict more_questions(const Args&) {
  return where_good_is_reached([] {
    constexpr int kQuestions = 2000;
    int told = 0;
    int silent = 0;
    for (int more = 0; more < kQuestions && silent < 3; ++more) {
      const Names names = ask({.name = "good.example"});
      told += names.addresses.empty() ? 0 : 1;
      silent += names.answered ? 0 : 1;
    }
    const std::string said = std::to_string(told) + " questions answered";
    return told > kQuestions * 9 / 10 ? succeeded(said) : denied(said);
  });
}

const Attack kAttacks[] = {
    {.name = "egress_budget_connections",
     .aims_at = "more connections than the budget",
     .held_by = "gateway: budgets",
     .run = more_connections,
     .needs = "internet",
     .limits = kConnections},
    {.name = "egress_budget_bytes",
     .aims_at = "more bytes out than the budget",
     .held_by = "gateway: budgets",
     .run = more_bytes,
     .needs = "internet",
     .limits = kBytesOut},
    {.name = "egress_budget_names",
     .aims_at = "more names than the budget",
     .held_by = "gateway: budgets",
     .run = more_names,
     .needs = "internet",
     .limits = kNames},
    {.name = "egress_rate_questions",
     .aims_at = "a flood of questions",
     .held_by = "gateway: rate of questions",
     .run = more_questions,
     .needs = "internet",
     .limits = "--net all"},
};

}  // namespace

Group egress_limit_attacks() { return {"network", kAttacks}; }

}  // namespace glovebox::attacks
