// What E2B's clients call a template: a name, a name with a namespace and a tag, or a snapshot's.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "node/runs/run_service.h"
#include "snapshots/snapshot_store.h"
#include "store/session_record.h"
#include "templates/project_templates.h"

namespace glovebox::e2b {

// What a new sandbox is made from. One of the two is empty.
struct TemplateSource {
  std::string template_name{};
  std::string snapshot{};
};

// The names that a server's own templates, a project's templates and its snapshots have.
class TemplateNames {
 public:
  // All are borrowed and outlive this.
  TemplateNames(const node::RunService& node, const templates::ProjectTemplates& templates,
                const snapshots::SnapshotStore& snapshots)
      : node_(node), templates_(templates), snapshots_(snapshots) {}

  // "base", "code-interpreter-v1", "team/name:tag", "snaaaaaaaaaaaaaaaaaaaa:default". A project
  // sees only its own snapshots. kNotFound.
  Result<TemplateSource> find(const std::string& project, std::string_view name) const;
  // The name of a new snapshot as it is stored: without the project and the default tag.
  // kInvalidArgument: malformed, of another project, or the name of a template.
  Result<std::string> new_snapshot_name(const std::string& project, std::string_view name) const;

 private:
  const TemplateStatus* find_template(std::string_view name) const;
  bool is_own(const std::string& project, std::string_view name) const;

  const node::RunService& node_;
  const templates::ProjectTemplates& templates_;
  const snapshots::SnapshotStore& snapshots_;
};

// No project may have a template of this name: clients mean the server's own.
templates::ReservedName reserved_template_name();

// The name by which E2B's users know a template of this server.
std::string alias_of(const std::string& template_name);

// "snaaaaaaaaaaaaaaaaaaaa:default"; and its name: "project/name:default".
std::string snapshot_id(const store::SnapshotRecord& snapshot);
std::string snapshot_name(const store::SnapshotRecord& snapshot);  // empty: unnamed
// Whether a listing's name filter matches this snapshot.
bool matches_name(const store::SnapshotRecord& snapshot, std::string_view name);

}  // namespace glovebox::e2b
