#include "bench/profile/profile_command.h"

#include <cstdio>

#include "bench/bench_server.h"
#include "bench/load.h"
#include "bench/profile/profile_report.h"
#include "client/output/print.h"
#include "model/outcome.h"

namespace glovebox::bench {

int profile_command(const BenchOptions& options) {
  const auto server = BenchServer::start();
  if (!server) return interrupted ? kExitInterrupted : client::failure(server.error());
  const ServerPids pids{.supervisor = server->supervisor_pid(),
                        .server = server->server_pid(),
                        .launcher = server->launcher_pid(),
                        .gateway = server->gateway_pid()};
  const RunProfile profile =
      profile_runs(server->location(), pids, options.effort, options.reuse_mode);
  if (interrupted) return kExitInterrupted;
  if (profile.loads.empty()) {
    return client::failure(Error(Errc::kUnavailable, profile.not_counted.front()));
  }
  const std::string text = options.json ? profile_json(profile) : profile_text(profile);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return 0;
}

}  // namespace glovebox::bench
