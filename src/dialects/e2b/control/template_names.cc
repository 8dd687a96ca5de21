#include "dialects/e2b/control/template_names.h"

#include <algorithm>

namespace glovebox::e2b {
namespace {

constexpr std::string_view kInterpreterTemplate = "code-interpreter-v1";
constexpr std::string_view kLocalInterpreter = "python-data";
constexpr std::string_view kDefaultTag = "default";
constexpr std::size_t kMaxNameBytes = 256;

// "namespace/base:tag"
struct Name {
  std::string_view name_space;
  std::string_view base;
  std::string_view tag;
};

Name split_name(std::string_view text) {
  Name name;
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    name.name_space = text.substr(0, slash);
    text.remove_prefix(slash + 1);
  }
  const std::size_t colon = text.find(':');
  name.base = text.substr(0, colon);
  if (colon != std::string_view::npos) name.tag = text.substr(colon + 1);
  return name;
}

bool is_default_tag(std::string_view tag) { return tag.empty() || tag == kDefaultTag; }

bool is_name_part(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

}  // namespace

const TemplateStatus* TemplateNames::find_template(std::string_view name) const {
  const TemplateStatus* status = node_.find_template(name);
  if (status == nullptr && name == kInterpreterTemplate) {
    status = node_.find_template(kLocalInterpreter);
  }
  return status != nullptr && status->state != RuntimeState::kRemoved ? status : nullptr;
}

bool TemplateNames::is_own(const std::string& project, std::string_view name) const {
  return templates_.find(project, std::string(name)) != nullptr;
}

Result<TemplateSource> TemplateNames::find(const std::string& project,
                                           std::string_view text) const {
  const auto unknown = [text] {
    return fail(Errc::kNotFound,
                "template '" + std::string(text.substr(0, 100)) + "' was not found");
  };
  if (text.size() > kMaxNameBytes) return unknown();
  const Name name = split_name(text);
  if (store::SnapshotId::parse(name.base)) {
    if (!is_default_tag(name.tag) || !snapshots_.find(project, name.base)) return unknown();
    return TemplateSource{.snapshot = std::string(name.base)};
  }
  const bool is_ours = name.name_space.empty() || name.name_space == project;
  if (is_ours && is_default_tag(name.tag)) {
    if (is_own(project, name.base)) {
      return TemplateSource{.template_name = std::string(name.base)};
    }
    if (const TemplateStatus* status = find_template(name.base)) {
      return TemplateSource{.template_name = status->description.name};
    }
  }
  // Newest first: a name that was given twice means the later snapshot.
  for (const store::SnapshotRecord& snapshot : snapshots_.list(project)) {
    if (matches_name(snapshot, text)) return TemplateSource{.snapshot = snapshot.id.str()};
  }
  return unknown();
}

templates::ReservedName reserved_template_name() {
  return {.name = std::string(kInterpreterTemplate),
          .reason = "it is E2B's name for " + std::string(kLocalInterpreter)};
}

std::string alias_of(const std::string& template_name) {
  return template_name == kLocalInterpreter ? std::string(kInterpreterTemplate) : template_name;
}

std::string snapshot_id(const store::SnapshotRecord& snapshot) {
  return snapshot.id.str() + ":" + std::string(kDefaultTag);
}

std::string snapshot_name(const store::SnapshotRecord& snapshot) {
  if (snapshot.name.empty()) return {};
  std::string name = snapshot.project + "/" + snapshot.name;
  if (snapshot.name.find(':') == std::string::npos) name += ":" + std::string(kDefaultTag);
  return name;
}

bool matches_name(const store::SnapshotRecord& snapshot, std::string_view text) {
  const Name asked = split_name(text);
  if (!asked.name_space.empty() && asked.name_space != snapshot.project) return false;
  if (asked.base == snapshot.id.str()) return is_default_tag(asked.tag);
  if (snapshot.name.empty()) return false;
  const Name has = split_name(snapshot.name);
  const auto with_default = [](std::string_view tag) { return tag.empty() ? kDefaultTag : tag; };
  return asked.base == has.base && with_default(asked.tag) == with_default(has.tag);
}

Result<std::string> TemplateNames::new_snapshot_name(const std::string& project,
                                                     std::string_view text) const {
  const Name name = split_name(text);
  if (!name.name_space.empty() && name.name_space != project) {
    return fail(Errc::kInvalidArgument, "name: the namespace must be \"" + project + "\"");
  }
  if (!is_name_part(name.base) || (!name.tag.empty() && !is_name_part(name.tag))) {
    return fail(
        Errc::kInvalidArgument,
        "name: must consist of letters, digits, '-', '_' and '.', optionally followed by ':' and a "
        "tag");
  }
  if (find_template(name.base) != nullptr || is_own(project, name.base) ||
      store::SnapshotId::parse(name.base)) {
    return fail(Errc::kInvalidArgument, "name: a template has this name");
  }
  std::string kept(name.base);
  if (!is_default_tag(name.tag)) kept += ":" + std::string(name.tag);
  return kept;
}

}  // namespace glovebox::e2b
