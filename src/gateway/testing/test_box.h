// For tests: a gateway in the box of test_world.h, as a server uses it, and what a test asks of it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "gateway/gateway.h"
#include "gateway/testing/test_sockets.h"
#include "gateway/testing/test_world.h"

namespace glovebox::gateway::testing {

inline constexpr const char* kServer = "198.18.0.7";
inline constexpr const char* kOther = "198.18.0.8";

inline net::NetPolicy policy(net::NetBase base, std::vector<std::string> allow = {},
                             std::vector<std::string> deny = {}) {
  net::NetPolicy made;
  made.base = base;
  for (const std::string& text : allow) made.allow.push_back(net::NetRule::parse(text).value());
  for (const std::string& text : deny) made.deny.push_back(net::NetRule::parse(text).value());
  return made;
}

// A gateway in the box, where 198.18.0.0/15 counts as public.
struct Box {
  enum class Opened { kTheInternet, kNothing };
  explicit Box(GatewayOptions options = {}, Opened opened = Opened::kTheInternet) : names(io) {
    if (options.ceiling.opened.empty() && opened == Opened::kTheInternet) {
      options.ceiling.opened.push_back(net::Cidr::parse("198.18.0.0/15").value());
    }
    options.resolver.servers = {{.address = ip(NameServer::kAddress), .port = 53}};
    gateway = Gateway::make(io, std::move(options)).value();
    gateway->on_decided = [this](const wire::NetworkDecided& one) { news.push_back(one.decision); };
  }
  wire::GatewayReply open(const Guest& guest, net::NetPolicy with) {
    wire::OpenNetwork request{1, id, "default", std::move(with)};
    return gateway->answer(std::move(request), guest.lend());
  }
  wire::NetworkReport report() {
    return std::get<wire::NetworkReport>(gateway->answer(wire::ReadNetwork{2, id, false}, {}));
  }
  bool has_decided(bool allowed, const std::string& rule) {
    for (const auto& one : report().decisions) {
      if (one.allowed == allowed && one.rule == rule) return true;
    }
    ADD_FAILURE() << "no decision '" << rule << "'";
    for (const auto& one : report().decisions) {
      ADD_FAILURE() << (one.allowed ? "allowed " : "denied ") << one.name << " " << one.address
                    << ":" << one.port << " " << one.rule;
    }
    return false;
  }
  bool is_refused(const UniqueFd& socket) {
    Reader reader(socket.get());
    return run_until(
        io, [&] { return reader.was_reset(); }, std::chrono::seconds(12));
  }
  UniqueFd accepted(Listener& listener) {
    UniqueFd server;
    run_until(io, [&] { return static_cast<bool>(server = listener.accept()); });
    return server;
  }
  // Both ways; the client has said `said` already.
  bool works(const UniqueFd& client, Listener& listener, const std::string& said = "hello") {
    served.push_back(accepted(listener));
    const UniqueFd& server = served.back();
    if (!server) return false;
    Reader at_server(server.get());
    Reader at_client(client.get());
    send_text(server, "welcome");
    return run_until(io, [&] { return at_server.has(said) && at_client.has("welcome"); });
  }

  asio::io_context io{1};
  NameServer names;
  std::unique_ptr<Gateway> gateway;
  std::vector<wire::NetDecision> news;
  std::vector<UniqueFd> served;
  SandboxId id = SandboxId::make();
};

inline UniqueFd say(Box& box, UniqueFd client, const std::string& text) {
  run_until(box.io, [&] {
    pollfd event{client.get(), POLLOUT, 0};
    return ::poll(&event, 1, 0) == 1;
  });
  send_text(client, text);
  return client;
}

}  // namespace glovebox::gateway::testing
