#include "packages/package_json.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "store/sha256.h"
#include "wire/json/json_values.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxProgressText = 4096;

json::value digest_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(store::sha256_hex(text));
}

// pip: "sha256:...". npm's hashes name their algorithm themselves: "sha512-...".
std::string hash_text(const std::string& hash) {
  return hash.find('-') == std::string::npos ? "sha256:" + hash : hash;
}

}  // namespace

json::value dependencies_json(const Dependencies& dependencies) {
  if (dependencies.empty()) return nullptr;
  return json::object{
      {"packages", wire::text_array(dependencies.packages)},
      {"preload", wire::text_array(dependencies.preload)},
      {"requirements_sha256", digest_or_null(dependencies.requirements)},
      {"lock_sha256", digest_or_null(dependencies.lock)},
      {"host_packages", dependencies.host_packages ? json::value(*dependencies.host_packages)
                                                   : json::value(nullptr)}};
}

std::string layer_label(const std::string& path) {
  constexpr std::string_view kTree = "/tree";
  if (!path.ends_with(kTree)) return path;
  const std::string above = path.substr(0, path.size() - kTree.size());
  const std::string id = above.substr(above.rfind('/') + 1);
  return is_layer_id(id) ? id : path;
}

std::string build_progress_json(const BuildProgress& progress) {
  const std::string_view text = std::string_view(progress.text).substr(0, kMaxProgressText);
  return json::serialize(
      json::object{{"phase", phase_name(progress.phase)}, {"text", to_utf8(text)}});
}

json::object layer_json(const LayerView& layer, const std::string& project) {
  json::array packages;
  for (const Artefact& one : layer.packages) {
    packages.push_back(json::object{{"name", to_utf8(one.name)},
                                    {"version", to_utf8(one.version)},
                                    {"file", to_utf8(one.file)},
                                    {"hash", to_utf8(hash_text(one.sha256))}});
  }
  json::array projects;
  for (const std::string& one : layer.projects) {
    if (project == "*" || one == project) projects.emplace_back(to_utf8(one));
  }
  const LayerRecord& record = layer.record;
  return {{"id", record.id},
          {"manager", to_utf8(layer.manager)},
          {"interpreter", to_utf8(layer.interpreter)},
          {"index", to_utf8(layer.index)},
          {"bytes", record.bytes},
          {"entries", record.entries},
          {"digest", record.digest},
          {"made_at", utc_text(record.made_ms)},
          {"used_at", wire::time_or_null(record.used_ms)},
          {"checked_at", wire::time_or_null(layer.checked_ms)},
          {"in_use", record.in_use},
          {"asked", wire::text_array(layer.asked)},
          {"packages", std::move(packages)},
          {"projects", std::move(projects)}};
}

json::object pruned_json(const std::vector<std::string>& removed, std::uint64_t bytes,
                         bool dry_run) {
  json::array ids;
  for (const std::string& id : removed) ids.emplace_back(id);
  return {{"removed", std::move(ids)}, {"bytes", bytes}, {"dry_run", dry_run}};
}

}  // namespace glovebox::packages
