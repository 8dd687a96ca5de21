#include "routing/file_upload.h"

#include <string>

namespace glovebox::routing {
namespace {

constexpr std::size_t kUploadBuffer = std::size_t{1} << 20;

}  // namespace

Task<> send_upload(node::FileTransfer& transfer, http::BodyStream& body) {
  std::string buffer(kUploadBuffer, '\0');
  while (true) {
    CO_TRY(const std::size_t got, co_await body.read_some(buffer.data(), buffer.size()));
    if (got == 0) co_return Result<>();
    const std::string_view bytes(buffer.data(), got);
    const bool taken = co_await transfer.write(bytes);
    // The sandbox takes no more bytes; done() has the reason.
    if (!taken) {
      CO_TRY_OK(co_await transfer.done());
      co_return fail(Errc::kUnavailable, "the sandbox did not accept all of the data");
    }
  }
}

Task<wire::FileDone> take_upload(node::FileTransfer& transfer, http::BodyStream& body) {
  CO_TRY_OK(co_await send_upload(transfer, body));
  transfer.commit();
  CO_TRY(wire::FileDone done, co_await transfer.done());
  co_return done;
}

}  // namespace glovebox::routing
