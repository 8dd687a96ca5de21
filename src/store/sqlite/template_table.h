// Templates that were made over HTTP, in the database. On the store's thread. Committed with an
// fsync: they outlive the host.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/project_quota.h"
#include "store/sqlite/sqlite.h"
#include "store/template_record.h"

namespace glovebox::store {

class TemplateTable {
 public:
  TemplateTable(Database& db, ProjectQuota& quota) : db_(db), quota_(quota) {}

  // is_over_quota() when its project has no room for it.
  Result<> insert(const TemplateRecord& made);
  // kNotFound.
  Result<> remove(const std::string& id);
  Result<> set_layer(const std::string& id, const std::string& layer);
  // Oldest first.
  Result<std::vector<TemplateRecord>> all();

 private:
  Database& db_;
  ProjectQuota& quota_;
};

}  // namespace glovebox::store
