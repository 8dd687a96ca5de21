// What the two halves of a build share: how its sandboxes are made, how a script's answer is read,
// how a tree goes from one to the next. One build at a time has one of these.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "packages/builds/build_output.h"
#include "packages/builds/build_pipeline.h"
#include "packages/builds/build_result.h"
#include "packages/builds/build_sandbox.h"
#include "packages/builds/build_deadline.h"
#include "packages/builds/tree_transfer.h"

namespace glovebox::packages {

// A set may need packages built that need packages built, and so on, but not without end.
inline constexpr int kMostRounds = 20;

using BuildSandboxPtr = std::shared_ptr<BuildSandbox>;

// A build that has begun: what it wants, until when, and what it has so far. Lives on in Fetched
// between fetch() and make_layer().
class Fetched::Holder {
 public:
  BuildRequest request;
  std::chrono::steady_clock::time_point deadline;
  BuildSandboxPtr fetched;  // has out/wheels, or out/tree
};

enum class MakeLayer : bool { kNo, kYes };

struct BuildSteps {
  BuildSandbox::Place place;
  const BuildOptions& options;
  std::string template_name;
  std::string project;
  OnBuildProgress say;
  BuildDeadline& watch;

  void phase(BuildPhase phase, std::string text = {}) const;

  // One for scripts: with everything a build may use. `net` is of the one that fetches.
  node::SessionSpec build_sandbox_spec(net::NetPolicy net = {}) const;
  // One for a layer, in which nothing runs but the agent.
  node::SessionSpec layer_sandbox(std::string layer, MakeLayer make) const;

  // Runs a script and reads its result. kInvalidArgument, with its words, when it says no: `step`
  // is what failed, for people.
  Task<BuildResult> run(BuildSandboxPtr box, std::string script, BuildPhase phase, std::string step) const;
  // What it said no with, fit to be shown.
  Error refused(const BuildResult& result, const std::string& step) const;

  // A tree from one's `from` to another's `to`, as the user of each.
  Task<Transferred> move_tree(BuildSandboxPtr out, std::string from, BuildSandboxPtr in, std::string to) const;
  // Into a layer, as root.
  Task<Transferred> move_into_layer(BuildSandboxPtr out, std::string from, BuildSandboxPtr in, std::string to,
                              std::uint64_t most) const;
  Task<> copy_file(BuildSandboxPtr out, std::string from, BuildSandboxPtr in, std::string to) const;
  // Of the layer that is mounted in it.
  Task<Hashed> hash_layer(BuildSandboxPtr box) const;

  // What may go through the server from one build_sandbox_spec to the next.
  std::uint64_t most_moved() const;
};

}  // namespace glovebox::packages
