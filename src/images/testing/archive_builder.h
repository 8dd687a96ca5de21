// For tests: writes archives of images.
#pragma once

#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::images {

class ArchiveBuilder {
 public:
  ArchiveBuilder& file(const std::string& name, const std::string& content);
  ArchiveBuilder& symlink(const std::string& name, const std::string& target);
  // A blob of OCI's layout; returns its digest, without "sha256:".
  std::string blob(const std::string& content);
  std::string bytes() const;
  // A file without a name that has these bytes.
  UniqueFd as_file() const;

 private:
  ArchiveBuilder& header(const std::string& name, char type, std::size_t size,
                         const std::string& target);
  std::string bytes_;
};

std::string sha256_of(const std::string& bytes);
// {"mediaType","digest","size"}, and more fields behind them.
std::string descriptor_json(const std::string& sha256, std::size_t size,
                            const std::string& more = {});
std::string config_json(const std::vector<std::string>& diff_ids, const std::string& config = "{}",
                        const std::string& platform = {});

// An OCI archive with these layers, uncompressed; its parts can be changed before build().
struct OciArchive {
  std::vector<std::string> layers{};
  std::string config = "{}";
  std::string name = "test:1";
  std::string platform{};               // of the configuration; empty: this machine's
  std::vector<std::string> diff_ids{};  // empty: those of the layers
  ArchiveBuilder build() const;
};

}  // namespace glovebox::images
