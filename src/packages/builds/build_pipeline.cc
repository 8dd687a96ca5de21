#include "packages/builds/build_pipeline.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "packages/builds/build_inputs.h"
#include "packages/builds/build_steps.h"

namespace glovebox::packages {
namespace {

constexpr std::uint64_t kBytesOfAnEntry = 4096;
constexpr std::uint64_t kMostEntries = 300'000;

using Clock = std::chrono::steady_clock;

std::string in(std::string_view name) { return std::string(kBuildInputDir) += name; }
std::string out(std::string_view name) { return std::string(kBuildOutputDir) += name; }

bool is_pip(const BuildRequest& request) { return request.manager == PackageManager::kPip; }

// The only parts of an installed tree that go into a layer, whatever package scripts have written
// elsewhere: a layer is mounted above the host's files.
const std::vector<std::string>& layer_paths(PackageManager manager) {
  static const std::vector<std::string> kPip = {"opt/glovebox-packages", "usr/local"};
  static const std::vector<std::string> kNpm = {"node_modules", "usr/local/bin"};
  return manager == PackageManager::kPip ? kPip : kNpm;
}

class SandboxPipeline final : public BuildPipeline {
 public:
  SandboxPipeline(BuildDependencies services, BuildOptions options)
      : services_(services), options_(std::move(options)) {}

  Task<FetchedPackages> fetch(BuildRequest request, OnBuildProgress report,
                              std::shared_ptr<node::CancelFlag> cancel) override;
  Task<LayerRecord> make_layer(FetchedPackages fetched, std::string id, std::string note,
                               OnBuildProgress report,
                               std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::string> digest_of(std::string id, std::string template_name,
                              std::shared_ptr<node::CancelFlag> cancel) override;

 private:
  BuildSteps steps(const BuildRequest& request, OnBuildProgress report, BuildDeadline& watch);

  const std::vector<net::NetRule>& rules_of(const BuildRequest& request) const {
    return is_pip(request) ? options_.indexes.pip_rules : options_.indexes.npm_rules;
  }

  // fetch()
  Task<BuildSandboxPtr> make_fetch_sandbox(const BuildSteps& steps, const BuildRequest& request);
  Task<BuildResult> rounds(const BuildSteps& steps, const BuildRequest& request,
                           BuildSandboxPtr fetcher);
  Task<std::string> build_source(const BuildSteps& steps, Artefact source, BuildSandboxPtr fetcher);
  Task<std::string> denied_hosts_text(BuildSandboxPtr fetcher, std::vector<net::NetRule> rules);

  // make_layer()
  Task<BuildSandboxPtr> install(const BuildSteps& steps, FetchedPackages::Holder& holder);
  Task<LayerRecord> fill(const BuildSteps& steps, PackageManager manager, BuildSandboxPtr installed,
                         BuildSandboxPtr layer_box);

  const BuildDependencies services_;
  const BuildOptions options_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // expires with this object
};

BuildSteps SandboxPipeline::steps(const BuildRequest& request, OnBuildProgress report,
                                  BuildDeadline& watch) {
  return {.host = {services_.io, services_.sessions, life_},
          .options = options_,
          .template_name = request.template_name,
          .project = request.project,
          .report = std::move(report),
          .watch = watch};
}

// ---- fetching --------------------------------------------------------------------------------

Task<FetchedPackages> SandboxPipeline::fetch(BuildRequest request, OnBuildProgress report,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  const Clock::time_point deadline = Clock::now() + options_.timeout;
  BuildDeadline watch(services_.io, deadline, std::move(cancel));
  const BuildSteps with = steps(request, std::move(report), watch);
  with.phase(BuildPhase::kResolving);
  CO_TRY(const BuildSandboxPtr fetcher, co_await make_fetch_sandbox(with, request));
  CO_TRY(BuildResult result, co_await rounds(with, request, fetcher));
  if (result.artefacts.empty() || result.interpreter.empty()) {
    co_return fail(Errc::kInvalidArgument, "the requested packages resolve to nothing");
  }
  FetchedPackages fetched{.artefacts = std::move(result.artefacts),
                          .interpreter = std::move(result.interpreter),
                          .holder = std::make_shared<FetchedPackages::Holder>()};
  fetched.holder->request = std::move(request);
  fetched.holder->deadline = deadline;
  fetched.holder->fetched = fetcher;
  co_return fetched;
}

// The sandbox with access to the index: it has the request and the settings, and runs no package
// code.
Task<BuildSandboxPtr> SandboxPipeline::make_fetch_sandbox(const BuildSteps& steps,
                                                          const BuildRequest& request) {
  net::NetPolicy net;
  net.allow = rules_of(request);
  if (net.is_none()) {
    co_return fail(Errc::kPolicy, std::string("no package index is configured for ") +
                                      manager_name(request.manager) +
                                      " (deps.index_url, "
                                      "deps.npm_registry)");
  }
  node::SessionSpec spec = steps.build_sandbox_spec(std::move(net));
  CO_TRY(BuildSandboxPtr fetcher,
         co_await BuildSandbox::make(steps.host, std::move(spec), steps.watch));
  const BuildDeadline::Cut cut(steps.watch, [fetcher] { fetcher->abandon(); });
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(in("request.json"), package_request_json(request.dependencies));
  if (is_pip(request)) files.emplace_back(in("pip.conf"), pip_conf(options_.indexes));
  if (!is_pip(request)) files.emplace_back(in("npmrc"), npmrc(options_.indexes));
  if (!options_.indexes.ca_bundle.empty()) {
    files.emplace_back(in("ca.pem"), options_.indexes.ca_bundle);
  }
  for (auto& [path, content] : files) {
    Result<> written = co_await fetcher->write_file(path, std::move(content));
    if (!written) co_return fail(steps.watch.reason(std::move(written.error())));
  }
  co_return fetcher;
}

Task<BuildResult> SandboxPipeline::rounds(const BuildSteps& steps, const BuildRequest& request,
                                          BuildSandboxPtr fetcher) {
  const std::string script = is_pip(request) ? "pip_fetch.py" : "npm_fetch.py";
  std::map<std::string, Artefact> built;
  std::set<std::string> sources;  // their hashes
  for (int round = 0; round <= kMostRounds; ++round) {
    CO_TRY(BuildResult result,
           co_await steps.run(fetcher, script, BuildPhase::kResolving, "the package client"));
    if (result.state == BuildResult::State::kReady) co_return result;
    if (result.state == BuildResult::State::kFailed) {
      Error error = steps.refused(result, "fetching the packages");
      const Result<std::string> denied = co_await denied_hosts_text(fetcher, rules_of(request));
      if (!denied || denied->empty()) co_return fail(std::move(error));
      co_return fail(error.code(), error.message() + "\n" + *denied);
    }
    if (!is_pip(request) || round == kMostRounds) break;
    const Artefact source = *result.source;
    if (!sources.insert(source.sha256).second) {
      co_return fail(Errc::kInvalidArgument, source.name + " " + source.version +
                                                 " was built, but the package client does not "
                                                 "accept the resulting wheel");
    }
    CO_TRY(const std::string wheel, co_await build_source(steps, source, fetcher));
    built.insert_or_assign(wheel, source);
    Result<> written = co_await fetcher->write_file(in("built.json"), built_json(built));
    if (!written) co_return fail(steps.watch.reason(std::move(written.error())));
    steps.phase(BuildPhase::kResolving);
  }
  co_return fail(Errc::kInvalidArgument,
                 "more than " + std::to_string(kMostRounds) +
                     " packages would have to be built from source; choose versions with "
                     "wheels");
}

// Runs package code, so it uses a sandbox of its own without a network. Copies the wheel to the
// fetching sandbox and returns its name.
Task<std::string> SandboxPipeline::build_source(const BuildSteps& steps, Artefact source,
                                                BuildSandboxPtr fetcher) {
  const std::string what = source.name + " " + source.version;
  steps.phase(BuildPhase::kBuilding, what);
  node::SessionSpec spec = steps.build_sandbox_spec();
  CO_TRY(const BuildSandboxPtr builder,
         co_await BuildSandbox::make(steps.host, std::move(spec), steps.watch));
  CO_TRY_OK(co_await steps.move_tree(fetcher, out("source"), builder, in("source")));
  CO_TRY(const BuildResult result,
         co_await steps.run(builder, "pip_build.py", BuildPhase::kBuilding, "building " + what));
  if (result.state != BuildResult::State::kReady) {
    co_return fail(steps.refused(result, "building " + what).context("build " + what));
  }
  // Package code wrote the result: never accept a wheel of another package.
  if (!is_wheel_of(result.file, source.name)) {
    co_return fail(Errc::kInvalidArgument, "building " + what + " did not produce a wheel of " +
                                               source.name + ", but \"" + printable(result.file) +
                                               "\"");
  }
  const std::string to = in("built/") + result.file;
  CO_TRY_OK(co_await steps.copy_file(builder, out("wheels/") + result.file, fetcher, to));
  (void)co_await builder->end();
  co_return result.file;
}

// Explains in the error which hosts the gateway denied.
Task<std::string> SandboxPipeline::denied_hosts_text(BuildSandboxPtr fetcher,
                                                     std::vector<net::NetRule> rules) {
  constexpr std::size_t kMostNamed = 3;
  std::string text;
  if (services_.networks == nullptr) co_return text;
  const Result<wire::NetworkFigures> figures =
      co_await services_.networks->read_network(fetcher->session()->id());
  if (!figures) co_return text;
  std::set<std::string> named;
  for (const wire::NetDecision& one : figures->decisions) {
    if (one.allowed || one.name.empty() || named.size() >= kMostNamed) continue;
    if (!named.insert(one.name).second) continue;
    const auto name = net::HostName::parse(one.name);
    const bool is_ours = name && std::any_of(rules.begin(), rules.end(),
                                             [&](const auto& rule) { return rule.matches(*name); });
    text += text.empty() ? "" : "\n";
    text += is_ours ? "(" + printable(one.name) + " was not reached: " + printable(one.rule) + ")"
                    : "(" + printable(one.name) +
                          " is not allowed: if the index serves files from it, add it to "
                          "deps.file_hosts)";
  }
  co_return text;
}

// ---- installing and sealing ------------------------------------------------------------------

Task<LayerRecord> SandboxPipeline::make_layer(FetchedPackages fetched, std::string id,
                                              std::string note, OnBuildProgress report,
                                              std::shared_ptr<node::CancelFlag> cancel) {
  const std::shared_ptr<FetchedPackages::Holder> holder = std::move(fetched.holder);
  if (!holder || !holder->fetched) co_return fail(Errc::kInternal, "nothing was fetched");
  BuildDeadline watch(services_.io, holder->deadline, std::move(cancel));
  const BuildSteps with = steps(holder->request, std::move(report), watch);
  with.phase(BuildPhase::kInstalling);
  CO_TRY(BuildSandboxPtr installed, co_await install(with, *holder));
  with.phase(BuildPhase::kSealing);
  node::SessionSpec spec = with.layer_sandbox(id, MakeLayer::kYes);
  CO_TRY(BuildSandboxPtr layer_box, co_await BuildSandbox::make(with.host, std::move(spec), watch));
  Result<LayerRecord> record =
      co_await fill(with, holder->request.manager, std::move(installed), layer_box);
  Result<> ended = co_await layer_box->end();
  if (record && !ended) record = fail(std::move(ended.error()));
  if (record) {
    record->id = id;
    record->note = std::move(note);
    record->made_ms = record->used_ms = wall_clock_ms();
    Result<> kept = co_await services_.layers.keep_layer(*record);
    if (kept) co_return record;
    // The existing layer belongs to another build: do not drop it.
    if (kept.error().code() == Errc::kConflict) co_return fail(std::move(kept.error()));
    record = fail(std::move(kept.error()).context("keep the layer"));
  }
  const Result<> dropped = co_await services_.layers.drop_layer(id);
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::warn("cannot drop an unfinished layer",
              {{"layer", id}, {"error", dropped.error().message()}});
  }
  co_return fail(std::move(record.error()));
}

// Without a network: packages may run install scripts.
Task<BuildSandboxPtr> SandboxPipeline::install(const BuildSteps& steps,
                                               FetchedPackages::Holder& holder) {
  const bool pip = is_pip(holder.request);
  node::SessionSpec spec = steps.build_sandbox_spec();
  CO_TRY(BuildSandboxPtr builder,
         co_await BuildSandbox::make(steps.host, std::move(spec), steps.watch));
  const std::string tree = pip ? "wheels" : "tree";
  CO_TRY_OK(co_await steps.move_tree(holder.fetched, out(tree), builder, in(tree)));
  holder.fetched.reset();  // this also removes the settings
  if (pip) {
    Result<> written =
        co_await builder->write_file(in("layout.json"), layout_json(holder.request.layout));
    if (!written) co_return fail(steps.watch.reason(std::move(written.error())));
  }
  const std::string script = pip ? "pip_install.py" : "npm_install.py";
  CO_TRY(const BuildResult result,
         co_await steps.run(builder, script, BuildPhase::kInstalling, "installing the packages"));
  if (result.state != BuildResult::State::kReady) {
    co_return fail(steps.refused(result, "installing the packages"));
  }
  co_return builder;
}

Task<LayerRecord> SandboxPipeline::fill(const BuildSteps& steps, PackageManager manager,
                                        BuildSandboxPtr installed, BuildSandboxPtr layer_box) {
  std::uint64_t left = options_.max_layer_bytes;
  LayerRecord record;
  for (const std::string& path : layer_paths(manager)) {
    const std::string to = std::string(kLayerMountPoint) + "/" + path;
    Result<TransferCounts> moved =
        co_await steps.move_into_layer(installed, out("layer/" + path), layer_box, to, left);
    // For example a set without programs.
    if (!moved && moved.error().code() == Errc::kNotFound && installed->session()->alive())
      continue;
    // For example a device file: an error of the packages, not of the caller's permissions.
    if (!moved && moved.error().code() == Errc::kPermissionDenied) {
      co_return fail(Errc::kInvalidArgument, "make the layer: " + moved.error().message());
    }
    if (!moved) co_return fail(std::move(moved.error()).context("make the layer"));
    left -= std::min(left, moved->bytes);
    record.bytes += moved->in.bytes;
    record.entries += moved->in.entries;
  }
  installed->abandon();
  if (record.entries == 0) {
    co_return fail(Errc::kInvalidArgument, "the requested packages install no files");
  }
  // Estimates disk usage: even a small file takes a block and an inode.
  record.bytes += record.entries * kBytesOfAnEntry;
  if (record.entries > kMostEntries || record.bytes > options_.max_layer_bytes) {
    co_return fail(Errc::kInvalidArgument,
                   "the requested packages have " + std::to_string(record.entries) +
                       " files, which is more than a layer may have (deps.max_layer)");
  }
  CO_TRY(HashedTransfer hashed, co_await steps.hash_layer(layer_box));
  record.digest = std::move(hashed.sha256);
  co_return record;
}

Task<std::string> SandboxPipeline::digest_of(std::string id, std::string template_name,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  BuildDeadline watch(services_.io, Clock::now() + options_.timeout, std::move(cancel));
  const BuildRequest request{
      .template_name = std::move(template_name), .dependencies = {}, .project = {}, .layout = {}};
  const BuildSteps with = steps(request, {}, watch);
  node::SessionSpec spec = with.layer_sandbox(std::move(id), MakeLayer::kNo);
  CO_TRY(const BuildSandboxPtr layer_box,
         co_await BuildSandbox::make(with.host, std::move(spec), watch));
  CO_TRY(HashedTransfer hashed, co_await with.hash_layer(layer_box));
  // Release the layer before this returns, so that it can be dropped.
  (void)co_await layer_box->end();
  co_return std::move(hashed.sha256);
}

}  // namespace

const char* manager_name(PackageManager manager) {
  return manager == PackageManager::kPip ? "pip" : "npm";
}

std::unique_ptr<BuildPipeline> make_build_pipeline(BuildDependencies services,
                                                   BuildOptions options) {
  return std::make_unique<SandboxPipeline>(services, std::move(options));
}

}  // namespace glovebox::packages
