// A file as requests are answered with it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "base/result.h"
#include "guest/agent/files/user_names.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

// Of a file that is open for reading or writing: what a client left at it. What is beyond the
// bounds, or cannot be read, is left out.
wire::Metadata read_metadata(int fd);
Result<> write_metadata(int fd, const wire::Metadata& metadata);

// Where a link leads, and the metadata: what look_at() leaves out. The same `dir` and `name`; a
// link needs its name.
void add_details(int dir, const std::string& name, wire::FileEntry& entry);

// What `name` in `dir` is, itself and not what it links to; "" is what `dir` itself is opened on.
Result<wire::FileEntry> look_at(int dir, const std::string& name, const UserNames& names);

}  // namespace glovebox::agent
