// Sign-ins in the database. On the store's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sign_in.h"
#include "store/sqlite/sqlite.h"

namespace glovebox::store {

Result<std::vector<SignIn>> load_sign_ins(Database& db, std::int64_t now_ms);
// Durable. Removes what has expired, and these others.
Result<> insert_sign_in(Database& db, const SignIn& sign_in,
                        const std::vector<std::string>& others);
// Durable; no error when there is none.
Result<> remove_sign_ins(Database& db, const std::vector<std::string>& digests);

}  // namespace glovebox::store
