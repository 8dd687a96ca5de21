#include "probe/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include "sys/loopback.h"
#include "sys/own_network.h"

namespace glovebox::probe {
namespace {

Attempt failed(const char* step, const Error& error) {
  return Attempt::failed(std::string(step) + ": " + error.message(), -1);
}

Attempt make_one() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return Attempt::failed("create a namespace");
  if (const int error = sys::bring_loopback_up(); error != 0) {
    return Attempt::failed("bring loopback up", error);
  }
  auto sockets = sys::prepare_own_network();
  if (!sockets) return failed("prepare", sockets.error());
  if (auto raised = sys::raise_own_network(); !raised) return failed("raise", raised.error());
  sockaddr_in anywhere{};
  anywhere.sin_family = AF_INET;
  anywhere.sin_port = htons(443);
  ::inet_pton(AF_INET, "192.0.2.1", &anywhere.sin_addr);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(client.get(), reinterpret_cast<const sockaddr*>(&anywhere), sizeof anywhere) != 0) {
    return Attempt::failed("connect to an unassigned address");
  }
  const UniqueFd accepted(::accept(sockets->connections.get(), nullptr, nullptr));
  return accepted ? Attempt::worked() : Attempt::failed("the connection did not arrive");
}

}  // namespace

NetworkFacts probe_network() { return {.own = attempt_in_helper(make_one)}; }

void explain(const NetworkFacts& facts, Findings& findings) {
  Finding finding{"network", "own", State::kOk, "a connection was redirected to our own socket",
                  ""};
  if (!facts.own.ok()) {
    finding.state = State::kWarn;
    finding.detail = facts.own.why() + "; sandboxes have only loopback";
    finding.fix = "use a kernel with CONFIG_NF_TABLES, NFT_TPROXY, NFT_LIMIT and NFT_REJECT";
  }
  findings.push_back(std::move(finding));
}

}  // namespace glovebox::probe
