#include "api/console/asset_routes.h"

#include <zlib.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "http/websocket/websocket_frames.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

// Nothing inline: what xterm.js and CodeMirror add at run time the console adopts as constructed
// style sheets, which style-src does not govern. connect-src 'self' includes the WebSockets of this
// origin. frame-src: the page for guests' HTML, and no navigation out of it.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob: data:; font-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// For HTML that a guest wrote. `sandbox` without allow-same-origin gives it an opaque
// origin: no cookie, no storage, no request that counts as ours. It may not load or send anything,
// but for what no policy governs: WebRTC, and names and connections that are looked up in advance.
constexpr std::string_view kFramePolicy =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action "
    "'none'; "
    "frame-ancestors 'self'";

constexpr std::string_view kAssets = "assets/";
constexpr std::string_view kIndex = "index.html";

void protect(Response& response, std::string_view policy) {
  response.headers.set("Content-Security-Policy", std::string(policy));
  response.headers.set("X-Content-Type-Options", "nosniff");
  response.headers.set("Referrer-Policy", "no-referrer");
  response.headers.set("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.set("Cross-Origin-Resource-Policy", "same-origin");
}

// For the few clients that take no compressed bodies, none of which is a browser.
std::string unpacked(std::string_view packed) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (inflateInit2(&stream, kGzip) != Z_OK) return {};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  char piece[16 << 10];
  int step = Z_OK;
  while (step == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    step = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  return out;
}

bool accepts_gzip(const Request& request) {
  for (const auto& [name, value] : request.headers) {
    if (!http::header_list_contains(name, "Accept-Encoding")) continue;
    // "gzip;q=0" is not worth a parser: browsers do not send it.
    if (value.find("gzip") != std::string::npos) return true;
  }
  return false;
}

Response asset_response(const ConsoleAsset& asset, const Request& request) {
  const bool is_hashed = asset.path.starts_with(kAssets);
  Response response;
  response.headers.set("ETag", std::string(asset.etag));
  response.headers.set("Cache-Control",
                       is_hashed ? "public, max-age=31536000, immutable" : "no-cache");
  if (asset.is_gzipped) response.headers.set("Vary", "Accept-Encoding");
  protect(response, kPagePolicy);
  if (request.header("If-None-Match") == asset.etag) {
    response.status = 304;
    return response;
  }
  response.headers.set("Content-Type", std::string(asset.type));
  if (asset.is_gzipped && accepts_gzip(request)) {
    response.headers.set("Content-Encoding", "gzip");
    response.body = asset.bytes;
  } else {
    response.body = asset.is_gzipped ? unpacked(asset.bytes) : std::string(asset.bytes);
  }
  return response;
}

// The reason is our own text of the build and may name a path: it is plain text.
Response no_bundle(std::string_view reason) {
  Response response = Response::text(
      "This server was built without its console (" + std::string(reason) +
          ").\nscripts/build-console fetches and bundles it; it needs the package registry once. "
          "Build again after that.\nThe API works: see /docs.\n",
      503);
  protect(response, kPagePolicy);
  return response;
}

}  // namespace

std::span<const routing::RouteRow<ConsoleAssetRoutes>> ConsoleAssetRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ConsoleAssetRoutes> kRows[] = {
      {Method::kGet, "/console", Access::kOpen, &ConsoleAssetRoutes::redirect,
       "Go to the console's first page"},
      {Method::kGet, "/console/{path*}", Access::kOpen, &ConsoleAssetRoutes::file,
       "Get a page or file of the console"},
      {Method::kGet, "/console/frame/html", Access::kOpen, &ConsoleAssetRoutes::frame,
       "Get the page that shows a sandbox's HTML"},
  };
  return kRows;
}

Task<Response> ConsoleAssetRoutes::redirect(Request&, ResponseWriter&) {
  Response response = Response::empty(308);
  response.headers.set("Location", "/console/");
  co_return response;
}

Task<Response> ConsoleAssetRoutes::file(Request& request, ResponseWriter&) {
  if (!bundle_.reason.empty()) co_return no_bundle(bundle_.reason);
  const std::string path(request.param("path"));
  if (const ConsoleAsset* asset = bundle_.find(path)) co_return asset_response(*asset, request);
  const std::string last = path.substr(path.rfind('/') + 1);
  const bool is_file = path.starts_with(kAssets) || last.find('.') != std::string::npos;
  const ConsoleAsset* index = bundle_.find(kIndex);
  // Other paths are places within the console, which its script reads from the address.
  if (is_file || index == nullptr) {
    co_return Response::refuse(404, "not_found", "the console has no such file");
  }
  co_return asset_response(*index, request);
}

Task<Response> ConsoleAssetRoutes::frame(Request&, ResponseWriter&) {
  Response response = Response::text(std::string(console_frame_page()));
  response.headers.set("Content-Type", "text/html; charset=utf-8");
  response.headers.set("Cache-Control", "no-cache");
  protect(response, kFramePolicy);
  co_return response;
}

}  // namespace glovebox::api
