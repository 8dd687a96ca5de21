#include "control/dependency_words.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>

#include "control/clock.h"
#include "control/digest.h"
#include "control/json_fields.h"
#include "control/run_refusal.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxWord = 4096;

json::value digest_or_null(const std::string& text) {
  if (text.empty()) return nullptr;
  return json::value(sha256_hex(text));
}

// "sha256:..." of pip's; npm's say their kind themselves: "sha512-...".
std::string hash_text(const std::string& hash) {
  return hash.find('-') == std::string::npos ? "sha256:" + hash : hash;
}

http::Response refuse_set_for(int status, std::string code, const Error& error, int retry_after) {
  http::Response response =
      http::Response::refuse(status, std::move(code), wire::to_utf8(error.message()));
  if (retry_after > 0) response.headers.set("Retry-After", std::to_string(retry_after));
  return response;
}

}  // namespace

json::value dependencies_view(const Dependencies& dependencies) {
  if (dependencies.empty()) return nullptr;
  return json::object{{"packages", text_array(dependencies.packages)},
                      {"preload", text_array(dependencies.preload)},
                      {"requirements_sha256", digest_or_null(dependencies.requirements)},
                      {"lock_sha256", digest_or_null(dependencies.lock)}};
}

std::string layer_word(const std::string& place) {
  constexpr std::string_view kTree = "/tree";
  if (!place.ends_with(kTree)) return place;
  const std::string above = place.substr(0, place.size() - kTree.size());
  const std::string id = above.substr(above.rfind('/') + 1);
  return is_layer_id(id) ? id : place;
}

std::string build_word_json(const BuildWord& word) {
  const std::string_view text = std::string_view(word.text).substr(0, kMaxWord);
  return json::serialize(
      json::object{{"phase", phase_name(word.phase)}, {"text", wire::to_utf8(text)}});
}

json::object layer_json(const LayerView& layer, const std::string& project) {
  json::array packages;
  for (const Artefact& one : layer.packages) {
    packages.push_back(json::object{{"name", wire::to_utf8(one.name)},
                                    {"version", wire::to_utf8(one.version)},
                                    {"file", wire::to_utf8(one.file)},
                                    {"hash", wire::to_utf8(hash_text(one.sha256))}});
  }
  json::array projects;
  for (const std::string& one : layer.projects) {
    if (project == "*" || one == project) projects.emplace_back(wire::to_utf8(one));
  }
  const LayerRecord& record = layer.record;
  return {{"id", record.id},
          {"manager", wire::to_utf8(layer.manager)},
          {"interpreter", wire::to_utf8(layer.interpreter)},
          {"index", wire::to_utf8(layer.index)},
          {"bytes", record.bytes},
          {"entries", record.entries},
          {"digest", record.digest},
          {"made_at", utc_text(record.made_ms)},
          {"used_at", time_or_null(record.used_ms)},
          {"checked_at", time_or_null(layer.checked_ms)},
          {"in_use", record.in_use},
          {"asked", text_array(layer.asked)},
          {"packages", std::move(packages)},
          {"projects", std::move(projects)}};
}

http::Response refuse_set(const Error& error) {
  switch (error.code()) {
    case Errc::kInvalidArgument:
    case Errc::kTimeout:
      return refuse_set_for(422, "dependencies_failed", error, 0);
    case Errc::kResourceExhausted:
      if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
        return refuse_set_for(507, "disk_full", error, 0);
      }
      return refuse_set_for(503, "builds_full", error, 5);
    default:
      return refuse_run(error);
  }
}

}  // namespace glovebox::control
