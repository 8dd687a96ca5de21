#include "dialects/e2b/envd_router.h"

#include <utility>

#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {
namespace {

using http::Method;

constexpr std::uint16_t kEnvdPort = 49983;
constexpr std::uint16_t kInterpreterPort = 49999;

http::Response refuse_path() { return refusal(404, "there is nothing at this path"); }

}  // namespace

EnvdRouter::EnvdRouter(http::Router envd, http::Router interpreter)
    : envd_(std::move(envd)), interpreter_(std::move(interpreter)) {
  not_found_.method = Method::kPost;
  not_found_.pattern = "(envd)";
  // By its admission, so that no body is read.
  not_found_.admit = [](http::Request&) { return refuse_path(); };
  not_found_.handler = [](http::Request&, http::ResponseWriter&) -> Task<http::Response> {
    co_return refuse_path();
  };
  not_found_.cors = http::Cors::kAny;
}

const http::Route* EnvdRouter::find(http::Request& request,
                                    const routing::PortTarget& target) const {
  if (target.port != kEnvdPort && target.port != kInterpreterPort) return nullptr;
  const http::Router& router = target.port == kEnvdPort ? envd_ : interpreter_;
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  Method method = request.method;
  // A preflight is about another method: any route of the path will do, they share one CORS rule.
  if (method == Method::kOptions) {
    const http::Router::Match any = router.find(method, path);
    if (!any.allowed.empty()) method = any.allowed.front();
  }
  const http::Router::Match match = router.find(method, path);
  if (match.route == nullptr) return &not_found_;
  for (const auto& [name, value] : match.params) request.path_params.add(name, value);
  return match.route;
}

const http::Route* EnvdRouter::find_signed(const http::Request& request) const {
  if (request.path != "/files") return nullptr;
  const Method method = request.method == Method::kOptions ? Method::kGet : request.method;
  return envd_.find(method, "/files").route;
}

}  // namespace glovebox::e2b
