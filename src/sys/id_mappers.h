// newuidmap and newgidmap (Debian's package uidmap): setuid programs of the host that let an
// ordinary user map the ids that /etc/subuid and /etc/subgid give to it.
//
// They must run outside of the user namespace whose maps they write, so they are forked before the
// caller enters it and executed once it has. For a process with one thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// Inside, the caller becomes 0; `first` and those that follow become 1 to `count`.
struct IdMap {
  std::uint32_t own = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class IdMappers {
 public:
  // Forks both for this process.
  static Result<IdMappers> prepare(const IdMap& uids, const IdMap& gids);
  IdMappers(IdMappers&&) noexcept = default;
  IdMappers& operator=(IdMappers&&) = delete;
  ~IdMappers();

  // After the caller has entered its user namespace: writes its maps. The error has the program's
  // own words.
  Result<> write_uids() { return run(mappers_[0]); }
  Result<> write_gids() { return run(mappers_[1]); }

 private:
  struct Mapper {
    const char* program = nullptr;
    UniqueFd process;
    UniqueFd go;
    UniqueFd words;
  };
  IdMappers() = default;
  static Result<Mapper> fork_mapper(const char* program, const IdMap& map);
  static Result<> run(Mapper& mapper);
  static void end(Mapper& mapper);

  std::array<Mapper, 2> mappers_;
};

}  // namespace glovebox::sys
