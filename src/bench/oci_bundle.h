// An OCI bundle with the same files as a Glovebox sandbox, in a temporary directory.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/process.h"

namespace glovebox::bench {

class OciBundle {
 public:
  static Result<OciBundle> make(const std::string& etc,
                                const std::vector<std::string>& program = {"/bin/true"});
  OciBundle(OciBundle&& other) noexcept;
  OciBundle& operator=(OciBundle&&) = delete;
  ~OciBundle();
  const std::string& path() const { return path_; }

 private:
  explicit OciBundle(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Command runc_run(const std::string& bundle);

}  // namespace glovebox::bench
