#include "packages/builds/build_steps.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/units.h"
#include "packages/builds/build_inputs.h"

namespace glovebox::packages {
namespace {

constexpr std::uint32_t kPids = 512;
constexpr unsigned kMostCpus = 4;
// Limits of a sandbox that only writes or reads a layer, which is on the host's disk.
constexpr std::uint64_t kLayerSandboxMemory = 512 * kMegabyte;
constexpr std::uint64_t kLayerSandboxDisk = 16 * kMegabyte;
// For reading a layer, whose time is bounded: today's deps.max_layer may be below the size of an
// older layer.
constexpr std::uint64_t kMostRead = 1024 * 1024 * kMegabyte;

std::uint32_t cpus() {
  const unsigned there = std::max(1u, std::thread::hardware_concurrency());
  return std::min(there, kMostCpus) * 1000;
}

TransferEnd end_of(const BuildSandboxPtr& box, wire::FileOp op, std::string path,
                   std::string user = "user") {
  TransferEnd end{.session = box->session(), .request = {}};
  end.request.op = op;
  end.request.user = std::move(user);
  end.request.path = std::move(path);
  return end;
}

std::string how_step_ended(const wire::ProcessEnd& end) {
  if (end.oom_killed) return "was killed because it ran out of memory (deps.build_memory)";
  if (end.signal != 0) return "was killed by signal " + std::to_string(end.signal);
  return "ended with code " + std::to_string(end.code) + " and left no result";
}

// A full disk of the build sandbox is a limit of the administrator; other errors stay as they are.
Error explain_full_disk(Error error) {
  const bool is_full = error.sys_errno() == ENOSPC || error.sys_errno() == EFBIG;
  if (!is_full) return error;
  return Error(Errc::kInvalidArgument,
               "the packages need more disk space than a build may use (deps.build_disk)");
}

}  // namespace

void BuildSteps::phase(BuildPhase phase, std::string text) const {
  if (report) report(BuildProgress{phase, std::move(text)});
}

node::SessionSpec BuildSteps::build_sandbox_spec(net::NetPolicy net) const {
  node::SessionSpec spec;
  spec.template_name = template_name;
  spec.owner = project;
  spec.project = project;
  spec.limits.memory_bytes = options.memory_bytes;
  spec.limits.disk_bytes = options.disk_bytes;
  // One inode per 4 KB of disk.
  const std::uint64_t inodes = std::min<std::uint64_t>(options.disk_bytes / 4096, 1u << 20);
  spec.limits.disk_inodes = std::max(spec.limits.disk_inodes, static_cast<std::uint32_t>(inodes));
  spec.limits.pids = kPids;
  spec.limits.cpu_thousandths = cpus();
  spec.net = std::move(net);
  return spec;
}

node::SessionSpec BuildSteps::layer_sandbox(std::string layer, MakeLayer make) const {
  node::SessionSpec spec;
  spec.template_name = template_name;
  spec.owner = project;
  spec.project = project;
  spec.limits.memory_bytes = kLayerSandboxMemory;
  spec.limits.disk_bytes = kLayerSandboxDisk;
  spec.layer = std::move(layer);
  spec.make_layer = make == MakeLayer::kYes;
  return spec;
}

Task<BuildResult> BuildSteps::run(BuildSandboxPtr box, std::string script, BuildPhase phase,
                                  std::string step) const {
  const BuildDeadline::Cut cut(watch, [box] { box->abandon(); });
  const std::vector<std::string> secrets = secrets_of(options.indexes);
  BuildOutput lines([&](std::string line) { this->phase(phase, std::move(line)); }, secrets);
  Result<wire::ProcessEnd> ended = co_await box->run_script(std::move(script), lines);
  if (!ended) co_return fail(watch.reason(std::move(ended.error()).context(step)));
  Result<std::string> text =
      co_await box->read_file(std::string(kBuildOutputDir) + "result.json", kMaxResultBytes);
  if (!text) {
    CO_TRY_OK(watch.verdict());
    if (!box->session()->alive()) co_return fail(std::move(text.error()).context(step));
    std::string message = step + " " + how_step_ended(*ended);
    if (const std::string tail = lines.tail(); !tail.empty()) message += ":\n" + tail;
    co_return fail(Errc::kInvalidArgument, std::move(message));
  }
  CO_TRY(BuildResult result, parse_build_result(*text));
  if (result.state == BuildResult::State::kFailed && result.error.empty()) {
    result.error = lines.tail();
  }
  co_return result;
}

Error BuildSteps::refused(const BuildResult& result, const std::string& step) const {
  const std::string message =
      printable_text(result.error, kMaxInstallerWords, secrets_of(options.indexes));
  return Error(Errc::kInvalidArgument, message.empty() ? step + " failed" : message);
}

Task<TransferCounts> BuildSteps::move_tree(BuildSandboxPtr out, std::string from,
                                           BuildSandboxPtr in, std::string to) const {
  const BuildDeadline::Cut cut(watch, [out, in] {
    out->abandon();
    in->abandon();
  });
  TransferEnd source = end_of(out, wire::FileOp::kTarOut, std::move(from));
  TransferEnd target = end_of(in, wire::FileOp::kTarIn, std::move(to));
  const TransferLimits bounds{.most = most_moved()};
  target.request.most = bounds.most;
  Result<TransferCounts> moved =
      co_await transfer_bytes(host.io, std::move(source), std::move(target), bounds);
  if (!moved) co_return fail(watch.reason(explain_full_disk(std::move(moved.error()))));
  co_return std::move(*moved);
}

Task<TransferCounts> BuildSteps::move_into_layer(BuildSandboxPtr out, std::string from,
                                                 BuildSandboxPtr in, std::string to,
                                                 std::uint64_t most) const {
  const BuildDeadline::Cut cut(watch, [out, in] {
    out->abandon();
    in->abandon();
  });
  TransferEnd source = end_of(out, wire::FileOp::kTarOut, std::move(from));
  TransferEnd target = end_of(in, wire::FileOp::kTarIn, std::move(to), "root");
  const TransferLimits bounds{.most = most};
  target.request.most = most;
  Result<TransferCounts> moved =
      co_await transfer_bytes(host.io, std::move(source), std::move(target), bounds);
  if (moved) co_return std::move(*moved);
  if (moved.error().sys_errno() == EFBIG) {
    co_return fail(Errc::kInvalidArgument, "the packages exceed " +
                                               std::to_string(options.max_layer_bytes / kMegabyte) +
                                               " MB when installed (deps.max_layer)");
  }
  co_return fail(watch.reason(std::move(moved.error())));
}

Task<> BuildSteps::copy_file(BuildSandboxPtr out, std::string from, BuildSandboxPtr in,
                             std::string to) const {
  const BuildDeadline::Cut cut(watch, [out, in] {
    out->abandon();
    in->abandon();
  });
  TransferEnd source = end_of(out, wire::FileOp::kRead, std::move(from));
  TransferEnd target = end_of(in, wire::FileOp::kWrite, std::move(to));
  target.request.mode = 0600;
  const TransferLimits bounds{.most = most_moved()};
  const Result<TransferCounts> moved =
      co_await transfer_bytes(host.io, std::move(source), std::move(target), bounds);
  if (!moved) co_return fail(watch.reason(explain_full_disk(moved.error())));
  co_return Result<>();
}

Task<HashedTransfer> BuildSteps::hash_layer(BuildSandboxPtr box) const {
  const BuildDeadline::Cut cut(watch, [box] { box->abandon(); });
  TransferEnd source = end_of(box, wire::FileOp::kTarOut, kLayerMountPoint, "root");
  const TransferLimits bounds{.most = kMostRead};
  Result<HashedTransfer> hashed = co_await hash_bytes(host.io, std::move(source), bounds);
  if (!hashed) co_return fail(watch.reason(std::move(hashed.error())));
  co_return std::move(*hashed);
}

std::uint64_t BuildSteps::most_moved() const {
  // Empty files take space in an archive, too.
  return options.disk_bytes + options.disk_bytes / 4 + 16 * kMegabyte;
}

}  // namespace glovebox::packages
