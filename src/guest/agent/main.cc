// glovebox-agent: our program inside. One static binary that is the broker of a nursery and, by a
// fork of that, the first process of every sandbox. Started by the launcher only.
#include <cstdio>
#include <exception>
#include <string_view>

#include "guest/agent/broker.h"

int main(int argc, char** argv) {
  constexpr int kLauncherSocket = 3;
  if (argc != 2 || std::string_view(argv[1]) != "broker") {
    std::fputs("glovebox-agent is started by glovebox-launcher\n", stderr);
    return 2;
  }
  try {
    return glovebox::agent::run_broker(kLauncherSocket);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-agent: %s\n", error.what());
    return 70;
  }
}
