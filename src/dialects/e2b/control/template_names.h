// What E2B's clients call a template: a name, a name with a namespace and a tag, or a snapshot.
#pragma once

#include <string>
#include <string_view>

#include "routing/app.h"
#include "store/session_record.h"

namespace glovebox::e2b {

// One of the two is empty.
struct Source {
  std::string template_name{};
  std::string snapshot{};
};

// "base", "code-interpreter-v1", "team/name:tag", "snaaaaaaaaaaaaaaaaaaaa:default". Of a project:
// its own snapshots only. kNotFound.
Result<Source> find_source(routing::App& app, const std::string& project, std::string_view name);

// The name that E2B's users know a template of ours by.
std::string alias_of(const std::string& template_name);

// "snaaaaaaaaaaaaaaaaaaaa:default", and what it was named: "project/name:default".
std::string snapshot_id(const store::SnapshotRecord& snapshot);
std::string snapshot_name(const store::SnapshotRecord& snapshot);  // empty: it has none
// Whether the filter of a listing means this snapshot.
bool matches_name(const store::SnapshotRecord& snapshot, std::string_view name);
// How a name that a client gives is kept: without the project and the usual tag.
Result<std::string> parse_snapshot_name(routing::App& app, const std::string& project, std::string_view name);

}  // namespace glovebox::e2b
