// Keys and projects in the database. On the store's thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/key.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

Result<std::vector<KeyRecord>> load_keys(Database& db);
// Durable; makes the project if it is missing.
Result<> insert_key(Database& db, const KeyRecord& key);
// Durable.
Result<> save_revocation(Database& db, const KeyId& id, std::int64_t revoked_ms);
Result<> save_last_used(Database& db, const std::vector<std::pair<KeyId, std::int64_t>>& used);

// Durable; no error when it exists.
Result<> insert_project(Database& db, const std::string& name, std::int64_t now_ms);
Result<std::vector<std::string>> list_project_names(Database& db);

}  // namespace glovebox::store
