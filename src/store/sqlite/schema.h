// The database's shape, as the list of steps that lead to it. A step that has been released is
// never edited; a change is a new step at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

struct Migration {
  const char* what;
  const char* sql;
};

// Step n (from 1) leads to version n.
std::span<const Migration> migrations();

// Makes the directory (0700), opens `<directory>/glovebox.db` with our settings and checks that it
// is ours. Does not migrate.
Result<Database> open_database(const std::string& directory);
std::string database_path(const std::string& directory);

// All missing steps in one transaction: an upgrade happens or does not. A version newer than the
// list is an error, because an older program could not keep what the newer one promised.
Result<> migrate(Database& db, std::span<const Migration> steps, std::int64_t now_ms);

}  // namespace glovebox::store
