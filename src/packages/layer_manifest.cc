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

constexpr std::int64_t kNoteForm = 1;
constexpr std::size_t kMaxNoteText = 600;  // of any one word in it
constexpr std::size_t kMaxName = 200;      // of a package's words
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
          {"text", cut_text(one.text, kMaxNoteText)},
          {"at_ms", one.at_ms},
          {"projects", cut_texts(one.projects)}};
}

// Moves `what` to the end. Whether it was not there.
bool put_last(std::vector<std::string>& list, const std::string& what, std::size_t most) {
  const auto at = std::find(list.begin(), list.end(), what);
  const bool is_new = at == list.end();
  if (!is_new) list.erase(at);
  list.push_back(what);
  if (list.size() > most) list.erase(list.begin());
  return is_new;
}

// Reads one object; the first thing that is wrong is kept, and everything after it is empty.
class Reader {
 public:
  explicit Reader(const json::object& object) : object_(object) {}

  std::string text(const char* name, std::size_t most) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_string() || value->get_string().size() > most) {
      return wrong(name), "";
    }
    return std::string(value->get_string());
  }
  std::int64_t number(const char* name) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return wrong(name), 0;
    return value->get_int64();
  }
  bool flag(const char* name) {
    const json::value* value = get(name);
    if (value == nullptr || !value->is_bool()) return wrong(name), false;
    return value->get_bool();
  }
  const json::array& list(const char* name, std::size_t most) {
    static const json::array kNone;
    const json::value* value = get(name);
    if (value == nullptr || !value->is_array() || value->get_array().size() > most) {
      return wrong(name), kNone;
    }
    return value->get_array();
  }
  std::vector<std::string> texts(const char* name, std::size_t most) {
    std::vector<std::string> out;
    for (const json::value& one : list(name, most)) {
      // A cut character may have become a longer one.
      if (!one.is_string() || one.get_string().size() > 3 * kMaxProject) return wrong(name), out;
      out.emplace_back(one.get_string());
    }
    return out;
  }
  void wrong(const char* name) {
    if (wrong_.empty()) wrong_ = name;
  }
  const std::string& what_is_wrong() const { return wrong_; }
  std::size_t seen() const { return seen_; }

 private:
  const json::value* get(const char* name) {
    const json::value* value = object_.if_contains(name);
    if (value != nullptr) ++seen_;
    return value;
  }
  const json::object& object_;
  std::string wrong_;
  std::size_t seen_ = 0;
};

tl::unexpected<Error> bad_note(const std::string& what) {
  return fail(Errc::kInvalidArgument, "a layer's note: " + what);
}

Result<Artefact> parse_package(const json::value& value) {
  if (!value.is_array() || value.get_array().size() != 4) return bad_note("packages");
  std::string words[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const json::value& word = value.get_array()[i];
    if (!word.is_string() || word.get_string().size() > 3 * kMaxName) return bad_note("packages");
    words[i] = std::string(word.get_string());
  }
  return Artefact{std::move(words[0]), std::move(words[1]), std::move(words[2]),
                  std::move(words[3])};
}

Result<LayerManifest::Asked> parse_asked(const json::value& value) {
  if (!value.is_object()) return bad_note("asked");
  Reader reader(value.get_object());
  LayerManifest::Asked asked;
  asked.spec = reader.text("spec", kSpecSize);
  asked.text = reader.text("text", 3 * kMaxNoteText);
  asked.at_ms = reader.number("at_ms");
  asked.projects = reader.texts("projects", LayerManifest::kMostProjectsOfOne);
  if (!reader.what_is_wrong().empty()) return bad_note("asked." + reader.what_is_wrong());
  if (asked.spec.size() != kSpecSize) return bad_note("asked.spec");
  return asked;
}

}  // namespace

bool LayerManifest::note_asked(const std::string& spec, const std::string& text, std::int64_t at_ms,
                           const std::string& project) {
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

bool LayerManifest::note_project(const std::string& spec, const std::string& project) {
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

std::string note_text(LayerManifest note) {
  json::array packages;
  for (const Artefact& one : note.packages) packages.push_back(package_json(one));
  json::array asked;
  for (const LayerManifest::Asked& one : note.asked) asked.push_back(asked_json(one));
  json::object object{{"form", kNoteForm},
                      {"manager", cut_text(note.manager, kMaxName)},
                      {"interpreter", cut_text(note.interpreter, kMaxName)},
                      {"index", cut_text(note.index, kMaxNoteText)},
                      {"template", cut_text(note.template_name, kMaxName)},
                      {"packages", std::move(packages)},
                      {"packages_left_out", note.packages_left_out},
                      {"asked", std::move(asked)},
                      {"projects", cut_texts(note.projects)},
                      {"boot_id", cut_text(note.boot_id, kMaxName)},
                      {"checked_ms", note.checked_ms},
                      {"corrupt", note.corrupt}};
  std::string text = json::serialize(object);
  // In steps: each is a text of its own. The oldest wishes go when there is no package left to go.
  while (text.size() > kMaxLayerNote) {
    json::array& list = object["packages"].get_array();
    json::array& wishes = object["asked"].get_array();
    if (!list.empty()) {
      const std::size_t over = text.size() - kMaxLayerNote;
      std::size_t gone = 0;
      std::uint64_t count = 0;
      while (!list.empty() && gone <= over) {
        gone += json::serialize(list.back()).size();
        list.pop_back();
        ++count;
      }
      note.packages_left_out += count;
      object["packages_left_out"] = note.packages_left_out;
    } else if (!wishes.empty()) {
      wishes.erase(wishes.begin());
    } else {
      return "{}";  // cannot be: what is left has bounds of its own
    }
    text = json::serialize(object);
  }
  return text;
}

Result<LayerManifest> parse_note(std::string_view text) {
  if (text.size() > kMaxLayerNote) return bad_note("too large");
  TRY(const json::value value, wire::parse_strict_json(text, {.depth = 5, .values = 10'000}));
  if (!value.is_object()) return bad_note("no object");
  Reader reader(value.get_object());
  if (reader.number("form") != kNoteForm) return bad_note("form");
  LayerManifest note;
  note.manager = reader.text("manager", 3 * kMaxName);
  note.interpreter = reader.text("interpreter", 3 * kMaxName);
  note.index = reader.text("index", 3 * kMaxNoteText);
  note.template_name = reader.text("template", 3 * kMaxName);
  for (const json::value& one : reader.list("packages", kMaxLayerNote)) {
    TRY(Artefact package, parse_package(one));
    note.packages.push_back(std::move(package));
  }
  note.packages_left_out = static_cast<std::uint64_t>(reader.number("packages_left_out"));
  for (const json::value& one : reader.list("asked", LayerManifest::kMostAsked)) {
    TRY(LayerManifest::Asked asked, parse_asked(one));
    note.asked.push_back(std::move(asked));
  }
  note.projects = reader.texts("projects", LayerManifest::kMostProjects);
  note.boot_id = reader.text("boot_id", 3 * kMaxName);
  note.checked_ms = reader.number("checked_ms");
  note.corrupt = reader.flag("corrupt");
  if (!reader.what_is_wrong().empty()) return bad_note(reader.what_is_wrong());
  if (reader.seen() != value.get_object().size())
    return bad_note("it has fields that are not known");
  if (note.manager != "pip" && note.manager != "npm") return bad_note("manager");
  return note;
}

}  // namespace glovebox::packages
