#include "packages/layer_manifest.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>

#include "base/utf8.h"
#include "model/layer.h"
#include "wire/json/strict_json.h"

namespace glovebox::packages {
namespace {

namespace json = boost::json;

constexpr std::int64_t kManifestForm = 1;
constexpr std::size_t kMaxManifestText = 600;  // of any one string
constexpr std::size_t kMaxName = 200;          // of each string of a package
constexpr std::size_t kMaxProject = 64;
constexpr std::size_t kSpecSize = 64;

std::string cut_text(std::string_view text, std::size_t most) {
  return to_utf8(text.substr(0, most));
}

json::array cut_texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.emplace_back(cut_text(one, kMaxProject));
  return out;
}

json::array package_json(const Artefact& one) {
  return {cut_text(one.name, kMaxName), cut_text(one.version, kMaxName),
          cut_text(one.file, kMaxName), cut_text(one.sha256, kMaxName)};
}

json::object asked_json(const LayerManifest::Asked& one) {
  return {{"spec", one.spec},
          {"text", cut_text(one.text, kMaxManifestText)},
          {"at_ms", one.at_ms},
          {"projects", cut_texts(one.projects)}};
}

// Moves `what` to the end. True if it is new.
bool put_last(std::vector<std::string>& list, const std::string& what, std::size_t most) {
  const auto at = std::find(list.begin(), list.end(), what);
  const bool is_new = at == list.end();
  if (!is_new) list.erase(at);
  list.push_back(what);
  if (list.size() > most) list.erase(list.begin());
  return is_new;
}

// Reads one object. Remembers the first invalid field; every invalid field reads as empty.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  std::string text(const char* name, std::size_t most) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_string() || value->get_string().size() > most) {
      return invalid(name), "";
    }
    return std::string(value->get_string());
  }
  std::int64_t number(const char* name) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return invalid(name), 0;
    return value->get_int64();
  }
  bool flag(const char* name) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_bool()) return invalid(name), false;
    return value->get_bool();
  }
  const json::array& list(const char* name, std::size_t most) {
    static const json::array kNone;
    const json::value* value = get(name);
    if (value == nullptr || !value->is_array() || value->get_array().size() > most) {
      return invalid(name), kNone;
    }
    return value->get_array();
  }
  std::vector<std::string> texts(const char* name, std::size_t most) {
    std::vector<std::string> out;
    for (const json::value& one : list(name, most)) {
      // to_utf8() may have replaced a cut character with a longer one.
      if (!one.is_string() || one.get_string().size() > 3 * kMaxProject) return invalid(name), out;
      out.emplace_back(one.get_string());
    }
    return out;
  }
  void invalid(const char* name) {
    if (invalid_.empty()) invalid_ = name;
  }
  const std::string& invalid_field() const { return invalid_; }
  std::size_t seen() const { return seen_; }

 private:
  const json::value* get(const char* name) {
    const json::value* value = object_.if_contains(name);
    if (value != nullptr) ++seen_;
    return value;
  }
  const json::object& object_;
  std::string invalid_;
  std::size_t seen_ = 0;
};

tl::unexpected<Error> bad_manifest(const std::string& what) {
  return fail(Errc::kInvalidArgument, "invalid layer manifest: " + what);
}

Result<Artefact> parse_package(const json::value& value) {
  if (!value.is_array() || value.get_array().size() != 4) return bad_manifest("packages");
  std::string fields[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const json::value& field = value.get_array()[i];
    if (!field.is_string() || field.get_string().size() > 3 * kMaxName)
      return bad_manifest("packages");
    fields[i] = std::string(field.get_string());
  }
  return Artefact{std::move(fields[0]), std::move(fields[1]), std::move(fields[2]),
                  std::move(fields[3])};
}

Result<LayerManifest::Asked> parse_asked(const json::value& value) {
  if (!value.is_object()) return bad_manifest("asked");
  Reader reader(value.get_object());
  LayerManifest::Asked asked;
  asked.spec = reader.text("spec", kSpecSize);
  asked.text = reader.text("text", 3 * kMaxManifestText);
  asked.at_ms = reader.number("at_ms");
  asked.projects = reader.texts("projects", LayerManifest::kMostProjectsOfOne);
  if (!reader.invalid_field().empty()) return bad_manifest("asked." + reader.invalid_field());
  if (asked.spec.size() != kSpecSize) return bad_manifest("asked.spec");
  return asked;
}

}  // namespace

bool LayerManifest::record_request(const std::string& spec, const std::string& text,
                                   std::int64_t at_ms, const std::string& project) {
  Asked entry{.spec = spec, .text = text, .at_ms = at_ms};
  const auto at =
      std::find_if(asked.begin(), asked.end(), [&](const Asked& one) { return one.spec == spec; });
  if (at != asked.end()) {
    entry.projects = std::move(at->projects);
    asked.erase(at);
  }
  put_last(entry.projects, project, kMostProjectsOfOne);
  asked.push_back(std::move(entry));
  if (asked.size() > kMostAsked) asked.erase(asked.begin());
  put_last(projects, project, kMostProjects);
  return true;
}

bool LayerManifest::record_project(const std::string& spec, const std::string& project) {
  const auto has = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), project) != list.end();
  };
  const auto at =
      std::find_if(asked.begin(), asked.end(), [&](const Asked& one) { return one.spec == spec; });
  const bool is_known = has(projects) && (at == asked.end() || has(at->projects));
  if (is_known) return false;
  if (at != asked.end()) put_last(at->projects, project, kMostProjectsOfOne);
  put_last(projects, project, kMostProjects);
  return true;
}

std::string manifest_json(LayerManifest manifest) {
  json::array packages;
  for (const Artefact& one : manifest.packages) packages.push_back(package_json(one));
  json::array asked;
  for (const LayerManifest::Asked& one : manifest.asked) asked.push_back(asked_json(one));
  json::object object{{"form", kManifestForm},
                      {"manager", cut_text(manifest.manager, kMaxName)},
                      {"interpreter", cut_text(manifest.interpreter, kMaxName)},
                      {"index", cut_text(manifest.index, kMaxManifestText)},
                      {"template", cut_text(manifest.template_name, kMaxName)},
                      {"packages", std::move(packages)},
                      {"packages_left_out", manifest.packages_left_out},
                      {"asked", std::move(asked)},
                      {"projects", cut_texts(manifest.projects)},
                      {"boot_id", cut_text(manifest.boot_id, kMaxName)},
                      {"checked_ms", manifest.checked_ms},
                      {"corrupt", manifest.corrupt}};
  std::string text = json::serialize(object);
  // Removes packages first, then the oldest requests, and measures again after each step.
  while (text.size() > kMaxLayerNote) {
    json::array& list = object["packages"].get_array();
    json::array& requests = object["asked"].get_array();
    if (!list.empty()) {
      const std::size_t over = text.size() - kMaxLayerNote;
      std::size_t gone = 0;
      std::uint64_t count = 0;
      while (!list.empty() && gone <= over) {
        gone += json::serialize(list.back()).size();
        list.pop_back();
        ++count;
      }
      manifest.packages_left_out += count;
      object["packages_left_out"] = manifest.packages_left_out;
    } else if (!requests.empty()) {
      requests.erase(requests.begin());
    } else {
      return "{}";  // unreachable: all other fields are bounded
    }
    text = json::serialize(object);
  }
  return text;
}

Result<LayerManifest> parse_manifest(std::string_view text) {
  if (text.size() > kMaxLayerNote) return bad_manifest("too large");
  TRY(const json::value value, wire::parse_strict_json(text, {.depth = 5, .values = 10'000}));
  if (!value.is_object()) return bad_manifest("not an object");
  Reader reader(value.get_object());
  if (reader.number("form") != kManifestForm) return bad_manifest("form");
  LayerManifest manifest;
  manifest.manager = reader.text("manager", 3 * kMaxName);
  manifest.interpreter = reader.text("interpreter", 3 * kMaxName);
  manifest.index = reader.text("index", 3 * kMaxManifestText);
  manifest.template_name = reader.text("template", 3 * kMaxName);
  for (const json::value& one : reader.list("packages", kMaxLayerNote)) {
    TRY(Artefact package, parse_package(one));
    manifest.packages.push_back(std::move(package));
  }
  manifest.packages_left_out = static_cast<std::uint64_t>(reader.number("packages_left_out"));
  for (const json::value& one : reader.list("asked", LayerManifest::kMostAsked)) {
    TRY(LayerManifest::Asked asked, parse_asked(one));
    manifest.asked.push_back(std::move(asked));
  }
  manifest.projects = reader.texts("projects", LayerManifest::kMostProjects);
  manifest.boot_id = reader.text("boot_id", 3 * kMaxName);
  manifest.checked_ms = reader.number("checked_ms");
  manifest.corrupt = reader.flag("corrupt");
  if (!reader.invalid_field().empty()) return bad_manifest(reader.invalid_field());
  if (reader.seen() != value.get_object().size()) return bad_manifest("unknown field");
  if (manifest.manager != "pip" && manifest.manager != "npm") return bad_manifest("manager");
  return manifest;
}

}  // namespace glovebox::packages
