#include "dialects/e2b/control/control_routes.h"

#include "dialects/e2b/handlers.h"

namespace glovebox::e2b {
namespace {

using http::Method;

constexpr std::size_t kSmall = 64 * 1024;
constexpr std::size_t kLarge = 1024 * 1024;  // metadata and variables, in the longest spelling

constexpr api::RouteRow row(Method method, std::string_view path,
                       Task<Response> (*handler)(routing::App&, Request&, ResponseWriter&),
                       std::string_view summary, std::size_t max_body = kSmall) {
  return {.method = method,
          .pattern = path,
          .access = routing::Access::kKey,
          .handler = handler,
          .summary = summary,
          .max_body = max_body,
          .dialect = api::Dialect::kE2b};
}

constexpr api::RouteRow kRows[] = {
    row(Method::kPost, "/sandboxes", create_sandbox, "Make a sandbox (E2B, older clients)", kLarge),
    row(Method::kPost, "/v2/sandboxes", create_sandbox_v2, "Make a sandbox (E2B)", kLarge),
    row(Method::kGet, "/sandboxes", list_sandboxes, "Running sandboxes (E2B, older clients)"),
    row(Method::kGet, "/v2/sandboxes", list_sandboxes_v2, "Sandboxes of your project (E2B)"),
    row(Method::kGet, "/sandboxes/metrics", all_metrics, "What sandboxes use now (E2B)"),
    row(Method::kGet, "/sandboxes/{id}", get_sandbox, "One sandbox (E2B)"),
    row(Method::kDelete, "/sandboxes/{id}", kill_sandbox, "Kill a sandbox (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/timeout", set_timeout,
        "Set when a sandbox's time is over (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/refreshes", refresh, "Extend a sandbox's time (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/pause", pause, "Pause a sandbox (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/resume", resume,
        "Let a paused sandbox go on (E2B, older clients)"),
    row(Method::kPost, "/sandboxes/{id}/connect", connect,
        "Reach a sandbox, resumed if need be (E2B, older clients)"),
    row(Method::kPost, "/v2/sandboxes/{id}/connect", connect,
        "Reach a sandbox, resumed if need be (E2B)"),
    row(Method::kGet, "/sandboxes/{id}/metrics", sandbox_metrics,
        "What a sandbox used lately (E2B)"),
    row(Method::kGet, "/sandboxes/{id}/logs", sandbox_logs,
        "What happened in a sandbox (E2B, older clients)"),
    row(Method::kGet, "/v2/sandboxes/{id}/logs", sandbox_logs_v2,
        "What happened in a sandbox (E2B)"),
    row(Method::kPut, "/sandboxes/{id}/network", update_network,
        "Change what a sandbox may reach (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/snapshots", create_snapshot,
        "Keep a sandbox's files (E2B)"),
    row(Method::kPost, "/sandboxes/{id}/fork", fork,
        "Make sandboxes with the files of this one (E2B)"),
    row(Method::kGet, "/snapshots", list_snapshots, "Snapshots of your project (E2B)"),
    row(Method::kGet, "/templates", list_templates, "What sandboxes can be made of (E2B)"),
    row(Method::kGet, "/v2/templates", list_templates,
        "What sandboxes can be made of (E2B, newer clients)"),
    row(Method::kGet, "/templates/aliases/{alias}", get_template_alias,
        "Is there such a template? (E2B)"),
    row(Method::kDelete, "/templates/{id}", delete_template,
        "Remove a snapshot or a template of your own (E2B)"),
    // Of the hosted service only.
    row(Method::kPost, "/v3/templates", not_served, "Not served, build a template (E2B)"),
    row(Method::kPost, "/templates/tags", not_served, "Not served, tag a template (E2B)"),
    row(Method::kGet, "/templates/{id}/{path*}", not_served, "Not served, builds, tags (E2B)"),
    row(Method::kPost, "/volumes", not_served, "Not served, make a volume (E2B)"),
    row(Method::kGet, "/volumes", not_served, "Not served, volumes (E2B)"),
    row(Method::kGet, "/volumes/{id}", not_served, "Not served, one volume (E2B)"),
    row(Method::kDelete, "/volumes/{id}", not_served, "Not served, remove a volume (E2B)"),
    row(Method::kPost, "/secrets", not_served, "Not served, make a secret (E2B)"),
    row(Method::kGet, "/secrets", not_served, "Not served, secrets (E2B)"),
    row(Method::kGet, "/secrets/{id}", not_served, "Not served, one secret (E2B)"),
    row(Method::kDelete, "/secrets/{id}", not_served, "Not served, remove a secret (E2B)"),
    row(Method::kGet, "/teams", not_served, "Not served, teams (E2B)"),
};

}  // namespace

std::span<const api::RouteRow> control_routes() { return kRows; }

}  // namespace glovebox::e2b
