#include "dialects/e2b/control/template_names.h"

#include <algorithm>

#include "sessions/session_keeper.h"
#include "templates/project_templates.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kInterpreterTemplate = "code-interpreter-v1";
constexpr std::string_view kLocalInterpreter = "python-data";
constexpr std::string_view kTag = "default";
constexpr std::size_t kMaxNameBytes = 256;

// "space/word:tag"
struct Name {
  std::string_view space;
  std::string_view word;
  std::string_view tag;
};

Name split_name(std::string_view text) {
  Name name;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    name.space = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  const std::size_t colon = text.find(':');
  name.word = text.substr(0, colon);
  if (colon != std::string_view::npos) name.tag = text.substr(colon + 1);
  return name;
}

bool is_default_tag(std::string_view tag) { return tag.empty() || tag == kTag; }

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

const TemplateStatus* find_template(routing::App& app, std::string_view name) {
  const TemplateStatus* status = app.node.find_template(name);
  if (status == nullptr && name == kInterpreterTemplate) status = app.node.find_template(kLocalInterpreter);
  return status != nullptr && status->state != RuntimeState::kRemoved ? status : nullptr;
}

bool has_own(const routing::App& app, const std::string& project, std::string_view name) {
  return app.templates != nullptr && app.templates->find(project, std::string(name)) != nullptr;
}

}  // namespace

Result<Source> find_source(routing::App& app, const std::string& project, std::string_view text) {
  const auto unknown = [text] {
    return fail(Errc::kNotFound,
                "template '" + std::string(text.substr(0, 100)) + "' was not found");
  };
  if (text.size() > kMaxNameBytes) return unknown();
  const Name name = split_name(text);
  const snapshots::SnapshotStore& shelf = app.keeper->shelf();
  if (store::SnapshotId::parse(name.word)) {
    if (!is_default_tag(name.tag) || !shelf.find(project, name.word)) return unknown();
    return Source{.snapshot = std::string(name.word)};
  }
  const bool is_ours = name.space.empty() || name.space == project;
  if (is_ours && is_default_tag(name.tag)) {
    if (has_own(app, project, name.word)) {
      return Source{.template_name = std::string(name.word)};
    }
    if (const TemplateStatus* status = find_template(app, name.word)) {
      return Source{.template_name = status->description.name};
    }
  }
  // Newest first: a name that was given again means what it was given to last.
  for (const store::SnapshotRecord& snapshot : shelf.list(project)) {
    if (matches_name(snapshot, text)) return Source{.snapshot = snapshot.id.str()};
  }
  return unknown();
}

std::string alias_of(const std::string& template_name) {
  return template_name == kLocalInterpreter ? std::string(kInterpreterTemplate) : template_name;
}

std::string snapshot_id(const store::SnapshotRecord& snapshot) {
  return snapshot.id.str() + ":" + std::string(kTag);
}

std::string snapshot_name(const store::SnapshotRecord& snapshot) {
  if (snapshot.name.empty()) return {};
  std::string name = snapshot.project + "/" + snapshot.name;
  if (snapshot.name.find(':') == std::string::npos) name += ":" + std::string(kTag);
  return name;
}

bool matches_name(const store::SnapshotRecord& snapshot, std::string_view text) {
  const Name asked = split_name(text);
  if (!asked.space.empty() && asked.space != snapshot.project) return false;
  if (asked.word == snapshot.id.str()) return is_default_tag(asked.tag);
  if (snapshot.name.empty()) return false;
  const Name has = split_name(snapshot.name);
  const auto usual = [](std::string_view tag) { return tag.empty() ? kTag : tag; };
  return asked.word == has.word && usual(asked.tag) == usual(has.tag);
}

Result<std::string> parse_snapshot_name(routing::App& app, const std::string& project, std::string_view text) {
  const Name name = split_name(text);
  if (!name.space.empty() && name.space != project) {
    return fail(Errc::kInvalidArgument, "name: is of another namespace than \"" + project + "\"");
  }
  if (!is_word(name.word) || (!name.tag.empty() && !is_word(name.tag))) {
    return fail(Errc::kInvalidArgument,
                "name: has letters, digits, '-', '_' and '.', and may have a tag behind ':'");
  }
  if (find_template(app, name.word) != nullptr || has_own(app, project, name.word) ||
      store::SnapshotId::parse(name.word)) {
    return fail(Errc::kInvalidArgument, "name: there is a template of this name");
  }
  std::string kept(name.word);
  if (!is_default_tag(name.tag)) kept += ":" + std::string(name.tag);
  return kept;
}

}  // namespace glovebox::e2b
