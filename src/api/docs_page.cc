#include "api/docs_page.h"

#include <openssl/sha.h>

#include "api/routes.h"
#include "base/base64.h"

namespace glovebox::api {
namespace {

constexpr char kOpenApi[] =
#include "openapi.inc"
    ;

constexpr std::string_view kStyle =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}h1,h2{line-height:1.2}code,pre{font:14px/1.45 "
    "ui-monospace,monospace}pre{background:#f4f5f7;padding:1rem;overflow:auto;border-radius:6px}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.4rem .6rem;"
    "border-bottom:1px solid #d8dce2;vertical-align:top}td:first-child{white-space:nowrap}"
    "@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#16181c}pre{background:"
    "#22262c}td,th{border-color:#383e47}a{color:#8ab4ff}}";

constexpr std::string_view kBeginning = R"html(
<h1>Glovebox</h1>
<p>Runs code you do not trust in a fresh sealed sandbox, and gives back what it printed, returned,
drew and used. The contract is <a href="/openapi.yaml">/openapi.yaml</a>.</p>
<h2>Begin</h2>
<p>Send a key as <code>X-API-Key</code> or <code>Authorization: Bearer</code>. The first one
is in <code>admin.key</code> in the server's data directory.</p>
<pre>curl -s http://127.0.0.1:7070/v1/run -H "X-API-Key: $KEY" -d '{
  "language": "python",
  "code": "import sys; print(sys.version); 6 * 7"
}'</pre>
<p>The same with live events: <code>-N -H 'Accept: text/event-stream'</code>, or
<code>application/x-ndjson</code> for one JSON object per line.</p>
<h2>Routes</h2>
<table><tr><th>Route</th><th>What it does</th><th>Who</th></tr>
)html";

constexpr std::string_view kMiddle = R"html(</table>
<h2>Errors</h2>
<p>Every error has the form <code>{"error":{"code":"…","message":"…"},"request_id":"rq…"}</code>.
Code that fails, runs too long or exceeds its memory limit is not an API error: the answer is 200
and reports it in <code>exit_code</code>, <code>error</code>, <code>timed_out</code> and
<code>oom_killed</code>.</p>
<table><tr><th>Status</th><th>code</th><th>When</th></tr>
<tr><td>400</td><td>invalid_argument</td><td>a field is wrong; the message names it</td></tr>
<tr><td>401</td><td>unauthorized</td><td>no key, or an invalid key</td></tr>
<tr><td>403</td><td>policy, admin_only, key_limit</td><td>not allowed; do not retry</td></tr>
<tr><td>404</td><td>not_found, template_not_found</td><td>it does not exist, or belongs to another project</td></tr>
<tr><td>409</td><td>still_running, interrupted, answer_not_kept</td><td>an Idempotency-Key that was used before</td></tr>
<tr><td>422</td><td>unsupported, idempotency_key_reused</td><td>this host does not support the request; the key belongs to another request</td></tr>
<tr><td>429</td><td>key_limit</td><td>your key's own limit; see Retry-After</td></tr>
<tr><td>503</td><td>host_full, launcher_restarting, server_stopping</td><td>the server cannot do it now; see Retry-After</td></tr>
</table>
<h2>The contract</h2>
<pre>)html";

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string_view who_may(routing::Access access) {
  switch (access) {
    case routing::Access::kOpen:
      return "everyone";
    case routing::Access::kOperator:
      return "everyone on loopback, else a key";
    case routing::Access::kKey:
      return "a key";
    case routing::Access::kAdmin:
      return "an admin key";
  }
  return "";
}

}  // namespace

std::string_view openapi_text() { return kOpenApi; }

std::string docs_page() {
  std::string page =
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\">"
      "<title>Glovebox API</title><style>";
  page += kStyle;
  page += "</style></head><body>";
  page += kBeginning;
  for (const routing::RouteInfo& row : documented_routes()) {
    page += "<tr><td><code>" + std::string(http::method_name(row.method)) + " " +
            escaped(row.pattern) + "</code></td><td>" + escaped(row.summary) + "</td><td>" +
            std::string(who_may(row.access)) + "</td></tr>\n";
  }
  page += kMiddle;
  page += escaped(openapi_text());
  return page + "</pre></body></html>\n";
}

std::string docs_content_policy() {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  ::SHA256(reinterpret_cast<const unsigned char*>(kStyle.data()), kStyle.size(), digest);
  const std::string_view bytes(reinterpret_cast<const char*>(digest), sizeof digest);
  return "default-src 'none'; style-src 'sha256-" + base64_encode(bytes) +
         "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace glovebox::api
