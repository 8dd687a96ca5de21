// Helpers for both halves of a build: create sandboxes, run scripts and read their results, move
// trees between sandboxes. Each build has its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packages/builds/build_deadline.h"
#include "packages/builds/build_output.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_result.h"
#include "packages/builds/build_sandbox.h"
#include "packages/builds/tree_transfer.h"

namespace glovebox::packages {

// How many source packages one set may build; building one may require another.
inline constexpr int kMostRounds = 20;

using BuildSandboxPtr = std::shared_ptr<BuildSandbox>;

// The state of a build between fetch() and make_layer().
class FetchedPackages::Holder {
 public:
  BuildRequest request;
  std::chrono::steady_clock::time_point deadline;
  BuildSandboxPtr fetched;  // has out/wheels, or out/tree
};

enum class MakeLayer : bool { kNo, kYes };

struct BuildSteps {
  BuildSandbox::Host host;
  const BuildOptions& options;
  std::string template_name;
  std::string project;
  OnBuildProgress report;
  BuildDeadline& watch;

  void phase(BuildPhase phase, std::string text = {}) const;

  // A sandbox for scripts, with the limits of a build. Only the fetching one has a `net`.
  node::SessionSpec build_sandbox_spec(net::NetPolicy net = {}) const;
  // A sandbox with a layer mounted, in which only the agent runs.
  node::SessionSpec layer_sandbox(std::string layer, MakeLayer make) const;

  // Runs a script and reads its result. kInvalidArgument: it left no result; `step` names the step
  // in the error.
  Task<BuildResult> run(BuildSandboxPtr box, std::string script, BuildPhase phase,
                        std::string step) const;
  // The error of a failed script, made printable.
  Error refused(const BuildResult& result, const std::string& step) const;

  // Copies a tree between two sandboxes, as the user of each.
  Task<TransferCounts> move_tree(BuildSandboxPtr out, std::string from, BuildSandboxPtr in,
                                 std::string to) const;
  // Copies a tree into a layer, as root.
  Task<TransferCounts> move_into_layer(BuildSandboxPtr out, std::string from, BuildSandboxPtr in,
                                       std::string to, std::uint64_t most) const;
  Task<> copy_file(BuildSandboxPtr out, std::string from, BuildSandboxPtr in, std::string to) const;
  // Hashes the layer that is mounted in the sandbox.
  Task<HashedTransfer> hash_layer(BuildSandboxPtr box) const;

  // How many bytes may move from one sandbox to the next.
  std::uint64_t most_moved() const;
};

}  // namespace glovebox::packages
