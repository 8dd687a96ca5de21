// A file as requests are answered with it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "guest/agent/files/user_names.h"
#include "wire/file_records.h"

namespace glovebox::agent {

// What `name` in `dir` is, itself and not what it links to; "" is what `dir` itself is opened on.
Result<wire::FileEntry> look_at(int dir, const std::string& name, const UserNames& names);

}  // namespace glovebox::agent
