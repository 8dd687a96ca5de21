#include "api/console/session_routes.h"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "http/origin_rules.h"
#include "signin/session_cookie.h"
#include "store/store_call.h"
#include "wire/json/json_values.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using SignedIn = store::Store::SignedIn;

constexpr std::uint64_t kLinkSeconds = 120;
constexpr std::uint64_t kMaxLinkSeconds = 600;

// Nothing that a cache may keep.
Response private_json(const json::object& body, int status = 200) {
  Response response = Response::json(json::serialize(body) + "\n", status);
  response.headers.set("Cache-Control", "no-store");
  return response;
}

// Exactly one of the two.
struct Credential {
  std::string key;
  std::string link;
};

Result<Credential> read_credential(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(auto key, fields.text("key", 200));
  TRY(auto link, fields.text("link", 200));
  TRY_OK(fields.finish());
  if (key.has_value() == link.has_value()) {
    return fail(Errc::kInvalidArgument, "give key or link, and not both");
  }
  return Credential{.key = std::move(key).value_or(std::string()),
                    .link = std::move(link).value_or(std::string())};
}

Result<std::uint64_t> read_link_seconds(std::string_view body) {
  if (body.empty()) return kLinkSeconds;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(const auto seconds, fields.whole("expires_in_s", 10, kMaxLinkSeconds));
  TRY_OK(fields.finish());
  return seconds.value_or(kLinkSeconds);
}

// The network that attempts are counted for.
std::string network_of(const Request& request) {
  return request.owner.empty() ? request.remote_host : request.owner;
}

Response refuse_attempts(std::chrono::seconds wait) {
  Response response = Response::refuse(429, "too_many_attempts",
                                       "too many failed sign-ins from this network; try again in " +
                                           std::to_string(wait.count()) + " s");
  response.headers.set("Retry-After", std::to_string(wait.count()));
  return response;
}

// Why sign-in cannot work at the address of this request; null: it can.
json::value reason_against(const http::OriginRules& rules, const Request& request) {
  const std::string own = http::own_origin(rules, request);
  if (own.empty()) {
    return "The console works over HTTPS and at loopback addresses only. Set server.tls_cert and "
           "server.tls_key, or server.public_url behind a proxy that terminates TLS.";
  }
  return nullptr;
}

json::object session_json(const SignedIn& signed_in, std::string csrf,
                          const ConsoleSessionRoutes::Dependencies& deps) {
  const store::Principal& who = signed_in.who;
  return {{"signed_in", true},
          {"key", {{"id", who.key.str()}, {"name", who.name}}},
          {"project", who.project},
          {"admin", who.is_admin()},
          {"created_at", utc_text(signed_in.sign_in.created_ms)},
          {"expires_at", utc_text(signed_in.sign_in.expires_ms)},
          {"csrf", std::move(csrf)},
          {"version", deps.version},
          {"public_url", wire::text_or_null(deps.browsers.rules().public_origin)},
          {"domain", wire::text_or_null(deps.domain)},
          {"keep_code", deps.settings.keeps_code}};
}

store::Ask<store::SignIn> adding(store::Store& store, store::NewSignIn sign_in) {
  return [&store, sign_in = std::move(sign_in)](store::Callback<store::SignIn> done) {
    store.add_sign_in(sign_in, std::move(done));
  };
}

store::Ask<void> ending(store::Store& store, std::string session) {
  return [&store, session = std::move(session)](store::Callback<> done) {
    store.end_session(session, std::move(done));
  };
}

store::Ask<SignedIn> taking_link(store::Store& store, std::string digest) {
  return [&store, digest = std::move(digest)](store::Callback<SignedIn> done) {
    store.take_link(digest, std::move(done));
  };
}

}  // namespace

std::span<const routing::RouteRow<ConsoleSessionRoutes>> ConsoleSessionRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ConsoleSessionRoutes> kRows[] = {
      {Method::kPost, "/console/session", Access::kOpen, &ConsoleSessionRoutes::sign_in,
       "Sign in to the console"},
      {Method::kGet, "/console/session", Access::kOpen, &ConsoleSessionRoutes::show_session,
       "Show who is signed in to the console"},
      {Method::kDelete, "/console/session", Access::kKey, &ConsoleSessionRoutes::sign_out,
       "Sign out of the console"},
      {Method::kPost, "/console/links", Access::kKey, &ConsoleSessionRoutes::create_link,
       "Create a one-time link to the console"},
      {Method::kPost, "/console/tickets", Access::kKey, &ConsoleSessionRoutes::create_ticket,
       "Create a ticket for one WebSocket of the console"},
  };
  return kRows;
}

Task<Response> ConsoleSessionRoutes::sign_in(Request& request, ResponseWriter&) {
  // A page elsewhere must not sign a browser in either, with a key of its own choice.
  const http::SameOrigin verdict = http::judge_same_origin(deps_.browsers.rules(), request);
  if (verdict != http::SameOrigin::kYes) co_return http::refusal(verdict);
  const std::string network = network_of(request);
  CO_TRY(const Credential shown, read_credential(request.body));
  std::optional<store::Principal> who;
  const bool by_link = shown.key.empty();
  // A key is looked up in memory, as for any request. Who has a valid one is not kept out by what
  // others of the same network, or behind the same proxy, did.
  if (!by_link) who = deps_.authenticator.principal_of_key(shown.key);
  const auto wait = deps_.attempts.must_wait(network, Clock::now());
  if (!who && wait) co_return refuse_attempts(*wait);
  if (by_link) {
    const store::Ask<SignedIn> ask = taking_link(deps_.store, signin::digest_of(shown.link));
    auto taken = co_await store::store_call(ask);
    if (!taken && taken.error().code() != Errc::kNotFound) co_return fail(Error(taken.error()));
    if (taken) who = std::move(taken->who);
  }
  if (!who) {
    deps_.attempts.count_failure(network, Clock::now());
    log::warn("console sign-in refused", {{"request", request.id}, {"remote", request.remote}});
    co_return by_link
        ? Response::refuse(401, "link_not_valid",
                           "this link was used already or has expired; `glovebox "
                           "console` makes another one")
        : Response::refuse(401, "unauthorized", "this API key is not valid (mistyped, or revoked)");
  }
  const auto previous = deps_.browsers.current(request);
  const std::string secret = signin::make_secret();
  const store::NewSignIn wanted{.digest = signin::digest_of(secret),
                                .kind = store::SignInKind::kSession,
                                .key = who->key,
                                .lifetime = deps_.settings.session_ttl};
  const store::Ask<store::SignIn> ask = adding(deps_.store, wanted);
  CO_TRY(store::SignIn made, co_await store::store_call(ask));
  if (previous) {
    const store::Ask<void> end = ending(deps_.store, previous->sign_in.digest);
    CO_TRY_OK(co_await store::store_call(end));
  }
  log::info("console sign-in",
            {{"request", request.id}, {"key", who->key.str()}, {"by", by_link ? "link" : "key"}});
  const SignedIn signed_in{std::move(made), std::move(*who)};
  Response response = private_json(session_json(signed_in, signin::csrf_token(secret), deps_), 201);
  response.headers.add("Set-Cookie",
                       deps_.browsers.cookie_for(request, secret, deps_.settings.session_ttl));
  co_return response;
}

Task<Response> ConsoleSessionRoutes::show_session(Request& request, ResponseWriter&) {
  // The absence of a session is no error: every first visit asks.
  const http::OriginRules& rules = deps_.browsers.rules();
  const bool is_page = http::judge_same_origin(rules, request) == http::SameOrigin::kYes;
  const auto signed_in = is_page ? deps_.browsers.current(request) : std::nullopt;
  if (signed_in) {
    co_return private_json(session_json(*signed_in, deps_.browsers.csrf_of(request), deps_));
  }
  json::value reason = reason_against(rules, request);
  const json::object body{
      {"signed_in", false}, {"secure", reason.is_null()}, {"reason", std::move(reason)}};
  co_return private_json(body);
}

Task<Response> ConsoleSessionRoutes::sign_out(Request& request, ResponseWriter&) {
  if (request.session.empty()) {
    co_return Response::refuse(400, "no_session",
                               "only a request with the console's cookie can "
                               "sign out; an API key has no session");
  }
  const store::Ask<void> end = ending(deps_.store, request.session);
  CO_TRY_OK(co_await store::store_call(end));
  log::info("console sign-out", {{"request", request.id}});
  Response response = Response::empty();
  response.headers.add("Set-Cookie", deps_.browsers.expired_cookie_for(request));
  co_return response;
}

Task<Response> ConsoleSessionRoutes::create_link(Request& request, ResponseWriter&) {
  // A session of bounded life must not begin the next one.
  if (!request.session.empty()) {
    co_return Response::refuse(403, "key_required",
                               "a link is made with an API key, not from the "
                               "console");
  }
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  CO_TRY(const std::uint64_t seconds, read_link_seconds(request.body));
  const std::string secret = signin::make_secret();
  const store::NewSignIn wanted{.digest = signin::digest_of(secret),
                                .kind = store::SignInKind::kLink,
                                .key = who->key,
                                .lifetime = std::chrono::seconds(seconds)};
  const store::Ask<store::SignIn> ask = adding(deps_.store, wanted);
  CO_TRY(const store::SignIn made, co_await store::store_call(ask));
  // In the fragment, which browsers send to no server and write into no Referer.
  const std::string path = "/console/#link=" + secret;
  const std::string& origin = deps_.browsers.rules().public_origin;
  json::object body{{"path", path}, {"url", nullptr}, {"expires_at", utc_text(made.expires_ms)}};
  if (!origin.empty()) body["url"] = origin + path;
  co_return private_json(body, 201);
}

Task<Response> ConsoleSessionRoutes::create_ticket(Request& request, ResponseWriter&) {
  if (request.session.empty()) {
    co_return Response::refuse(400, "no_session",
                               "tickets are for the console's cookie; an API "
                               "key needs none");
  }
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  const auto ticket = deps_.browsers.tickets().make(request.session, who->project, Clock::now());
  if (!ticket) {
    Response response =
        Response::refuse(429, "too_many_tickets", "too many tickets are waiting to be used");
    response.headers.set("Retry-After", std::to_string(signin::Tickets::kLifetime.count()));
    co_return response;
  }
  const json::object body{{"ticket", *ticket},
                          {"expires_in_s", signin::Tickets::kLifetime.count()}};
  co_return private_json(body, 201);
}

}  // namespace glovebox::api
