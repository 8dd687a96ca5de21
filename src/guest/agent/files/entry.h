// File entries as replies contain them.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "guest/agent/files/user_names.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

// The metadata that a client has stored with an open file. What exceeds the bounds, or cannot be
// read, is left out.
wire::Metadata read_metadata(int fd);
Result<> write_metadata(int fd, const wire::Metadata& metadata);

// Adds a symlink's target and the metadata, which stat_entry() leaves out. With the same `dir` and
// `name`.
void add_details(int dir, const std::string& name, wire::FileEntry& entry);

// The entry `name` in `dir`, not following a symlink; "" is `dir` itself.
Result<wire::FileEntry> stat_entry(int dir, const std::string& name, const UserNames& names);

}  // namespace glovebox::agent
