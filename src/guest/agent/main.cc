// glovebox-agent: Glovebox's program inside sandboxes. One static binary that is the broker of a
// nursery, by a fork of that the first process of every jail, and the agent of the process engine.
// Only the launcher starts it.
#include <cstdio>
#include <exception>
#include <string_view>

#include "guest/agent/init/broker.h"
#include "guest/agent/run/process_agent.h"

int main(int argc, char** argv) {
  constexpr int kLauncherSocket = 3;
  constexpr int kLinkSocket = 4;
  const std::string_view role = argc == 2 ? argv[1] : "";
  if (role != "broker" && role != "broker-of-one" && role != "process") {
    std::fputs("glovebox-agent is started by glovebox-launcher\n", stderr);
    return 2;
  }
  try {
    if (role == "process") return glovebox::agent::run_process_agent(kLauncherSocket, kLinkSocket);
    return glovebox::agent::run_broker(kLauncherSocket, role == "broker"
                                                            ? glovebox::agent::Expects::kMany
                                                            : glovebox::agent::Expects::kOne);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-agent: %s\n", error.what());
    return 70;
  }
}
