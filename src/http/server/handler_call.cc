#include "http/server/handler_call.h"

#include <exception>
#include <new>

namespace glovebox::http {

Task<Response> call_handler(const Handler& handler, Request& request, ResponseWriter& writer) {
  try {
    co_return co_await handler(request, writer);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    co_return fail(Errc::kInternal, error.what());
  }
}

}  // namespace glovebox::http
