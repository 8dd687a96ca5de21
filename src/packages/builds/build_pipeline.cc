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

// What of an installed tree becomes a layer. Nothing else does, whatever a package's own script has
// put there: a layer lies above the host's files.
const std::vector<std::string>& layer_places(PackageManager manager) {
  static const std::vector<std::string> kPip = {"opt/glovebox-packages", "usr/local"};
  static const std::vector<std::string> kNpm = {"node_modules", "usr/local/bin"};
  return manager == PackageManager::kPip ? kPip : kNpm;
}

class SandboxPipeline final : public BuildPipeline {
 public:
  SandboxPipeline(BuildDependencies place, BuildOptions options)
      : place_(place), options_(std::move(options)) {}

  Task<Fetched> fetch(BuildRequest request, OnBuildProgress say,
                      std::shared_ptr<node::CancelFlag> cancel) override;
  Task<LayerRecord> make_layer(Fetched fetched, std::string id, std::string note, OnBuildProgress say,
                               std::shared_ptr<node::CancelFlag> cancel) override;
  Task<std::string> digest_of(std::string id, std::string template_name,
                              std::shared_ptr<node::CancelFlag> cancel) override;

 private:
  BuildSteps steps(const BuildRequest& request, OnBuildProgress say, BuildDeadline& watch);

  const std::vector<net::NetRule>& rules_of(const BuildRequest& request) const {
    return is_pip(request) ? options_.indexes.pip_rules : options_.indexes.npm_rules;
  }

  // fetch()
  Task<BuildSandboxPtr> open_shop(const BuildSteps& steps, const BuildRequest& request);
  Task<BuildResult> rounds(const BuildSteps& steps, const BuildRequest& request, BuildSandboxPtr shop);
  Task<std::string> build_source(const BuildSteps& steps, Artefact source, BuildSandboxPtr shop);
  Task<std::string> what_was_denied(BuildSandboxPtr shop, std::vector<net::NetRule> rules);

  // make_layer()
  Task<BuildSandboxPtr> install(const BuildSteps& steps, Fetched::Holder& holder);
  Task<LayerRecord> fill(const BuildSteps& steps, PackageManager manager, BuildSandboxPtr installed,
                         BuildSandboxPtr room);

  const BuildDependencies place_;
  const BuildOptions options_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // ends with this
};

BuildSteps SandboxPipeline::steps(const BuildRequest& request, OnBuildProgress say, BuildDeadline& watch) {
  return {.place = {place_.io, place_.sessions, life_},
          .options = options_,
          .template_name = request.template_name,
          .project = request.project,
          .say = std::move(say),
          .watch = watch};
}

// ---- fetching --------------------------------------------------------------------------------

Task<Fetched> SandboxPipeline::fetch(BuildRequest request, OnBuildProgress say,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  const Clock::time_point deadline = Clock::now() + options_.timeout;
  BuildDeadline watch(place_.io, deadline, std::move(cancel));
  const BuildSteps with = steps(request, std::move(say), watch);
  with.phase(BuildPhase::kResolving);
  CO_TRY(const BuildSandboxPtr shop, co_await open_shop(with, request));
  CO_TRY(BuildResult result, co_await rounds(with, request, shop));
  if (result.artefacts.empty() || result.interpreter.empty()) {
    co_return fail(Errc::kInvalidArgument, "the packages that were asked for come to nothing");
  }
  Fetched fetched{.artefacts = std::move(result.artefacts),
                  .interpreter = std::move(result.interpreter),
                  .holder = std::make_shared<Fetched::Holder>()};
  fetched.holder->request = std::move(request);
  fetched.holder->deadline = deadline;
  fetched.holder->fetched = shop;
  co_return fetched;
}

// The one that reaches the index: with the wish and the settings in it, and no code of anybody's.
Task<BuildSandboxPtr> SandboxPipeline::open_shop(const BuildSteps& steps, const BuildRequest& request) {
  net::NetPolicy net;
  net.allow = rules_of(request);
  if (net.is_none()) {
    co_return fail(Errc::kPolicy, std::string("there is no index of packages for ") +
                                      manager_name(request.manager) +
                                      " (deps.index_url, "
                                      "deps.npm_registry)");
  }
  node::SessionSpec spec = steps.build_sandbox_spec(std::move(net));
  CO_TRY(BuildSandboxPtr shop, co_await BuildSandbox::make(steps.place, std::move(spec), steps.watch));
  const BuildDeadline::Cut cut(steps.watch, [shop] { shop->abandon(); });
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back(in("request.json"), package_request_json(request.dependencies));
  if (is_pip(request)) files.emplace_back(in("pip.conf"), pip_conf(options_.indexes));
  if (!is_pip(request)) files.emplace_back(in("npmrc"), npmrc(options_.indexes));
  if (!options_.indexes.ca_bundle.empty()) {
    files.emplace_back(in("ca.pem"), options_.indexes.ca_bundle);
  }
  for (auto& [path, content] : files) {
    Result<> written = co_await shop->write_file(path, std::move(content));
    if (!written) co_return fail(steps.watch.reason(std::move(written.error())));
  }
  co_return shop;
}

Task<BuildResult> SandboxPipeline::rounds(const BuildSteps& steps, const BuildRequest& request,
                                          BuildSandboxPtr shop) {
  const std::string script = is_pip(request) ? "pip_fetch.py" : "npm_fetch.py";
  std::map<std::string, Artefact> built;
  std::set<std::string> sources;  // their hashes
  for (int round = 0; round <= kMostRounds; ++round) {
    CO_TRY(BuildResult result,
           co_await steps.run(shop, script, BuildPhase::kResolving, "the package client"));
    if (result.state == BuildResult::State::kReady) co_return result;
    if (result.state == BuildResult::State::kFailed) {
      Error error = steps.refused(result, "fetching the packages");
      const Result<std::string> denied = co_await what_was_denied(shop, rules_of(request));
      if (!denied || denied->empty()) co_return fail(std::move(error));
      co_return fail(error.code(), error.message() + "\n" + *denied);
    }
    if (!is_pip(request) || round == kMostRounds) break;
    const Artefact source = *result.source;
    if (!sources.insert(source.sha256).second) {
      co_return fail(Errc::kInvalidArgument, source.name + " " + source.version +
                                                 " was built, and the package client does not "
                                                 "take the wheel that came of it");
    }
    CO_TRY(const std::string wheel, co_await build_source(steps, source, shop));
    built.insert_or_assign(wheel, source);
    Result<> written = co_await shop->write_file(in("built.json"), built_json(built));
    if (!written) co_return fail(steps.watch.reason(std::move(written.error())));
    steps.phase(BuildPhase::kResolving);
  }
  co_return fail(Errc::kInvalidArgument,
                 "more than " + std::to_string(kMostRounds) +
                     " packages would have to be built from their source; name versions that "
                     "have wheels");
}

// In a sandbox of its own without a network: this runs what the package brings. Gives the wheel's
// name, which is in the shop then.
Task<std::string> SandboxPipeline::build_source(const BuildSteps& steps, Artefact source,
                                                BuildSandboxPtr shop) {
  const std::string what = source.name + " " + source.version;
  steps.phase(BuildPhase::kBuilding, what);
  node::SessionSpec spec = steps.build_sandbox_spec();
  CO_TRY(const BuildSandboxPtr bench,
         co_await BuildSandbox::make(steps.place, std::move(spec), steps.watch));
  CO_TRY_OK(co_await steps.move_tree(shop, out("source"), bench, in("source")));
  CO_TRY(const BuildResult result,
         co_await steps.run(bench, "pip_build.py", BuildPhase::kBuilding, "building " + what));
  if (result.state != BuildResult::State::kReady) {
    co_return fail(steps.refused(result, "building " + what).context("build " + what));
  }
  // It may say what it likes; a wheel of another package would be one that nobody asked for.
  if (!is_wheel_of(result.file, source.name)) {
    co_return fail(Errc::kInvalidArgument, "building " + what + " did not give a wheel of " +
                                               source.name + ", but \"" +
                                               printable(result.file) + "\"");
  }
  const std::string to = in("built/") + result.file;
  CO_TRY_OK(co_await steps.copy_file(bench, out("wheels/") + result.file, shop, to));
  (void)co_await bench->end();
  co_return result.file;
}

// What the gateway kept it from, for whoever reads the error.
Task<std::string> SandboxPipeline::what_was_denied(BuildSandboxPtr shop, std::vector<net::NetRule> rules) {
  constexpr std::size_t kMostNamed = 3;
  std::string words;
  if (place_.networks == nullptr) co_return words;
  const Result<wire::NetworkFigures> figures =
      co_await place_.networks->read_network(shop->session()->id());
  if (!figures) co_return words;
  std::set<std::string> named;
  for (const wire::NetDecision& one : figures->decisions) {
    if (one.allowed || one.name.empty() || named.size() >= kMostNamed) continue;
    if (!named.insert(one.name).second) continue;
    const auto name = net::HostName::parse(one.name);
    const bool is_ours = name && std::any_of(rules.begin(), rules.end(),
                                             [&](const auto& rule) { return rule.matches(*name); });
    words += words.empty() ? "" : "\n";
    words += is_ours ? "(" + printable(one.name) +
                           " was not reached: " + printable(one.rule) + ")"
                     : "(" + printable(one.name) +
                           " may not be reached: if the index keeps files there, name it in "
                           "deps.file_hosts)";
  }
  co_return words;
}

// ---- installing and sealing ------------------------------------------------------------------

Task<LayerRecord> SandboxPipeline::make_layer(Fetched fetched, std::string id, std::string note,
                                              OnBuildProgress say,
                                              std::shared_ptr<node::CancelFlag> cancel) {
  const std::shared_ptr<Fetched::Holder> holder = std::move(fetched.holder);
  if (!holder || !holder->fetched) co_return fail(Errc::kInternal, "nothing was fetched");
  BuildDeadline watch(place_.io, holder->deadline, std::move(cancel));
  const BuildSteps with = steps(holder->request, std::move(say), watch);
  with.phase(BuildPhase::kInstalling);
  CO_TRY(BuildSandboxPtr installed, co_await install(with, *holder));
  with.phase(BuildPhase::kSealing);
  node::SessionSpec spec = with.layer_sandbox(id, MakeLayer::kYes);
  CO_TRY(BuildSandboxPtr room, co_await BuildSandbox::make(with.place, std::move(spec), watch));
  Result<LayerRecord> record =
      co_await fill(with, holder->request.manager, std::move(installed), room);
  Result<> ended = co_await room->end();
  if (record && !ended) record = fail(std::move(ended.error()));
  if (record) {
    record->id = id;
    record->note = std::move(note);
    record->made_ms = record->used_ms = wall_clock_ms();
    Result<> kept = co_await place_.layers.keep_layer(*record);
    if (kept) co_return record;
    // Somebody else's is not ours to drop.
    if (kept.error().code() == Errc::kConflict) co_return fail(std::move(kept.error()));
    record = fail(std::move(kept.error()).context("keep the layer"));
  }
  const Result<> dropped = co_await place_.layers.drop_layer(id);
  if (!dropped && dropped.error().code() != Errc::kNotFound) {
    log::warn("a layer that was begun is not dropped",
              {{"layer", id}, {"error", dropped.error().message()}});
  }
  co_return fail(std::move(record.error()));
}

// Without a network: packages may bring scripts of their own.
Task<BuildSandboxPtr> SandboxPipeline::install(const BuildSteps& steps, Fetched::Holder& holder) {
  const bool pip = is_pip(holder.request);
  node::SessionSpec spec = steps.build_sandbox_spec();
  CO_TRY(BuildSandboxPtr bench, co_await BuildSandbox::make(steps.place, std::move(spec), steps.watch));
  const std::string tree = pip ? "wheels" : "tree";
  CO_TRY_OK(co_await steps.move_tree(holder.fetched, out(tree), bench, in(tree)));
  holder.fetched.reset();  // the settings go with it
  const std::string script = pip ? "pip_install.py" : "npm_install.py";
  CO_TRY(const BuildResult result,
         co_await steps.run(bench, script, BuildPhase::kInstalling, "installing the packages"));
  if (result.state != BuildResult::State::kReady) {
    co_return fail(steps.refused(result, "installing the packages"));
  }
  co_return bench;
}

Task<LayerRecord> SandboxPipeline::fill(const BuildSteps& steps, PackageManager manager,
                                        BuildSandboxPtr installed, BuildSandboxPtr room) {
  std::uint64_t left = options_.max_layer_bytes;
  LayerRecord record;
  for (const std::string& place : layer_places(manager)) {
    const std::string to = std::string(kLayerMountPoint) + "/" + place;
    Result<Transferred> moved =
        co_await steps.move_into_layer(installed, out("layer/" + place), room, to, left);
    // A set without programs, say.
    if (!moved && moved.error().code() == Errc::kNotFound && installed->session()->alive())
      continue;
    // A device or a pipe in it, say: the packages' fault, and not the caller's rights.
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
    co_return fail(Errc::kInvalidArgument, "the packages that were asked for install nothing");
  }
  // What it takes on the host's disk: a small file has a block and an inode as a large one has.
  record.bytes += record.entries * kBytesOfAnEntry;
  if (record.entries > kMostEntries || record.bytes > options_.max_layer_bytes) {
    co_return fail(Errc::kInvalidArgument,
                   "the packages that were asked for have " + std::to_string(record.entries) +
                       " files, which is more than a layer may have (deps.max_layer)");
  }
  CO_TRY(Hashed hashed, co_await steps.hash_layer(room));
  record.digest = std::move(hashed.sha256);
  co_return record;
}

Task<std::string> SandboxPipeline::digest_of(std::string id, std::string template_name,
                                             std::shared_ptr<node::CancelFlag> cancel) {
  BuildDeadline watch(place_.io, Clock::now() + options_.timeout, std::move(cancel));
  const BuildRequest request{
      .template_name = std::move(template_name), .dependencies = {}, .project = {}};
  const BuildSteps with = steps(request, {}, watch);
  node::SessionSpec spec = with.layer_sandbox(std::move(id), MakeLayer::kNo);
  CO_TRY(const BuildSandboxPtr room, co_await BuildSandbox::make(with.place, std::move(spec), watch));
  CO_TRY(Hashed hashed, co_await with.hash_layer(room));
  // It is not in use by us when this returns, so that it can be dropped.
  (void)co_await room->end();
  co_return std::move(hashed.sha256);
}

}  // namespace

const char* manager_name(PackageManager manager) {
  return manager == PackageManager::kPip ? "pip" : "npm";
}

std::unique_ptr<BuildPipeline> make_build_pipeline(BuildDependencies place, BuildOptions options) {
  return std::make_unique<SandboxPipeline>(place, std::move(options));
}

}  // namespace glovebox::packages
