#include "routing/file_download.h"

#include <algorithm>
#include <string>

namespace glovebox::routing {
namespace {

constexpr std::size_t kDownloadBuffer = std::size_t{1} << 20;

}  // namespace

Task<> send_download(node::FileTransfer& transfer, std::uint64_t size,
                     http::ResponseWriter& writer) {
  std::string buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size, kDownloadBuffer)),
                     '\0');
  while (size > 0) {
    const auto most =
        static_cast<std::size_t>(std::min<std::uint64_t>(size, std::uint64_t{buffer.size()}));
    const std::size_t got = co_await transfer.read_some(buffer.data(), most);
    if (got == 0) {
      CO_TRY_OK(co_await transfer.done());
      co_return fail(Errc::kUnavailable, "the file was truncated while it was read");
    }
    const std::string_view bytes(buffer.data(), got);
    const bool there = co_await writer.write_view(bytes);
    if (!there) co_return fail(Errc::kUnavailable, "the client disconnected");
    size -= got;
  }
  co_return Result<>();
}

}  // namespace glovebox::routing
