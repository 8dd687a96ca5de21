#include "guest/agent/files/tar_content.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "base/write_all.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kUnpackAtOnce = 256 * 1024;

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

}  // namespace

Result<std::uint64_t> write_content(int file, const wire::TarEntry& entry,
                                    wire::TarReader& reader) {
  std::string buffer(kUnpackAtOnce, '\0');
  std::size_t have = 0;
  std::uint64_t written = 0;
  const auto put = [&]() -> Result<> {
    const std::string_view piece = std::string_view(buffer).substr(0, have);
    // What is all zeros becomes a hole again.
    if (all_zero(piece)) {
      if (::lseek(file, static_cast<off_t>(have), SEEK_CUR) < 0) return fail_with(errno);
    } else if (auto outcome = write_all(file, piece); !outcome) {
      return fail_with(outcome.error().sys_errno());
    }
    written += have;
    have = 0;
    return {};
  };
  while (written + have < entry.size) {
    TRY(const std::size_t got, reader.read(buffer.data() + have, buffer.size() - have));
    have += got;
    if (have == buffer.size()) TRY_OK(put());
  }
  TRY_OK(put());
  if (::ftruncate(file, static_cast<off_t>(written)) != 0) return fail_with(errno);
  return written;
}

}  // namespace glovebox::agent
