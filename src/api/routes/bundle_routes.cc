#include "api/routes/bundle_routes.h"

#include <utility>

#include "routing/large_requests.h"
#include "store/sha256.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

// Of a large bundle on the worker: 16 MB take as long as ten runs.
std::string digest_of(std::string_view bytes) { return store::sha256_hex(bytes); }

}  // namespace

std::span<const routing::RouteRow<BundleRoutes>> BundleRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<BundleRoutes> kRows[] = {
      {Method::kPut, "/v1/bundles/{digest}", routing::Access::kKey, &BundleRoutes::put_bundle,
       "Send a bundle that runs name by its SHA-256", routing::BodyLimit(runs::kMaxBundleBytes)},
  };
  return kRows;
}

Task<Response> BundleRoutes::put_bundle(Request& request, ResponseWriter&) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  const std::string digest(request.param("digest"));
  if (!runs::is_bundle_digest(digest)) {
    co_return Response::refuse(400, "invalid_argument",
                               "digest: must be a SHA-256 in lower-case hex digits");
  }
  const std::string actual = co_await routing::parse_body(deps_.worker, request, digest_of);
  if (actual != digest) {
    co_return Response::refuse(400, "invalid_argument",
                               "the SHA-256 of the body is not the one in the path");
  }
  CO_TRY_OK(deps_.bundles.put(who->project, digest, std::move(request.body)));
  co_return Response::empty(204);
}

}  // namespace glovebox::api
