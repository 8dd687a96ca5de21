#include "config/keys.h"

#include <algorithm>
#include <vector>

#include "base/nearest.h"

namespace glovebox::config {
namespace {

constexpr std::uint64_t kMs = 1;
constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kHour = 3600 * kSecond;
constexpr std::uint64_t kYear = 365 * 24 * kHour;

// server.data_dir's default depends on who we are: load.cc fills it in.
// server.uid's is the first of our range, unless the launcher's policy names another range.
// clang-format off
constexpr Key kKeys[] = {
    {"server.listen", Kind::kAddress, &Settings::listen, "127.0.0.1:7070",
     "Address and port; port 0 picks a free one, and serve.json says which",
     0, ~0ull, {}, "GLOVEBOX_LISTEN"},
    {"server.data_dir", Kind::kPath, &Settings::data_dir, "",
     "Directory of the store, the admin key and serve.json",
     0, ~0ull, {}, "GLOVEBOX_DATA_DIR"},
    {"server.user", Kind::kText, &Settings::user, "",
     "The unprivileged user the server becomes when started as root; empty: server.uid"},
    {"server.uid", Kind::kNumber, &Settings::uid, "1879048192",
     "The uid and gid it becomes when server.user is empty", 1, 0xfffffffe},
    {"server.domain", Kind::kText, &Settings::domain, "",
     "A host name that requests may be addressed to, besides the server's addresses and localhost"},
    {"server.origins", Kind::kList, &Settings::origins, "",
     "Web origins whose pages may use the API"},
    {"server.public_url", Kind::kText, &Settings::public_url, "",
     "The address that browsers use, like https://glovebox.example.com, for a proxy that terminates TLS"},
    {"server.tls_cert", Kind::kPath, &Settings::tls_cert, "",
     "Certificate chain (PEM); with tls_key the server speaks HTTPS"},
    {"server.tls_key", Kind::kPath, &Settings::tls_key, "", "Private key (PEM) of tls_cert"},
    {"server.stop_timeout", Kind::kDuration, &Settings::stop_timeout, "30s",
     "How long a stop waits for what is running", 100 * kMs, kHour},
    {"server.max_connections", Kind::kNumber, &Settings::max_connections, "16384",
     "Connections at once; beyond it the longest idle one is closed, or else the new one is refused", 1, 1'000'000},
    {"server.header_timeout", Kind::kDuration, &Settings::header_timeout, "10s",
     "Time for a request's header to arrive", 10 * kMs, kHour},
    {"server.body_timeout", Kind::kDuration, &Settings::body_timeout, "60s",
     "Time for a request's body to arrive, and one second more for each 16 KB that have", 10 * kMs, kHour},
    {"server.body_stall_timeout", Kind::kDuration, &Settings::body_stall_timeout, "20s",
     "How long a client may send nothing in the middle of a request's body", 10 * kMs, kHour},
    {"server.write_timeout", Kind::kDuration, &Settings::write_timeout, "60s",
     "How long a client may leave a response unread", 10 * kMs, kHour},
    {"server.idle_timeout", Kind::kDuration, &Settings::idle_timeout, "75s",
     "How long a connection is kept open between requests", 10 * kMs, 24 * kHour},
    {"server.max_header", Kind::kSize, &Settings::max_header, "32K",
     "Largest header of a request", 1024, 1 << 20},
    {"server.max_body", Kind::kSize, &Settings::max_body, "32M",
     "Largest body of a request", 1024, 4ull << 30},

    {"pools.max_sandboxes", Kind::kNumber, &Settings::max_sandboxes, "2304",
     "Sandboxes at once, including waiting ones", 1, 100'000},
    {"pools.max_memory", Kind::kSize, &Settings::max_memory, "0",
     "Memory promised to sandboxes at once; 0: what the host can spare"},
    {"pools.project_share", Kind::kNumber, &Settings::project_share, "75",
     "Percent of all sandboxes, sessions and memory that one project may have", 1, 100},
    {"pools.max_pools", Kind::kNumber, &Settings::max_pools, "128",
     "Pools at once; beyond that, of the project that has most, the longest unused one is removed",
     1, 10'000},
    {"pools.max", Kind::kNumber, &Settings::pool_max, "128",
     "Most waiting sandboxes of one template, whatever the template says", 1, 10'000},
    {"pools.idle_decay", Kind::kDuration, &Settings::pool_idle_decay, "60s",
     "How long an unused pool keeps its size", 100 * kMs, kYear},
    {"pools.queue_length", Kind::kNumber, &Settings::queue_length, "512",
     "Requests that may wait for a sandbox when the host is full", 0, 1'000'000},
    {"pools.queue_wait", Kind::kDuration, &Settings::queue_wait, "10s",
     "How long each of them waits before it is refused", 1 * kMs, kHour},
    {"pools.reuse_max_calls", Kind::kNumber, &Settings::reuse_max_calls, "1000",
     "Calls that a sandbox serves if its caller asks for reuse", 1, 1'000'000},
    {"pools.reuse_max_age", Kind::kDuration, &Settings::reuse_max_age, "10m",
     "How long it serves them", 1 * kSecond, 24 * kHour},
    {"pools.reuse_idle", Kind::kDuration, &Settings::reuse_idle, "30s",
     "How long it is kept without a call", 100 * kMs, kHour},

    {"sessions.max", Kind::kNumber, &Settings::max_sessions, "2048",
     "Sessions at once, including paused ones", 0, 100'000},
    {"sessions.default_ttl", Kind::kDuration, &Settings::session_default_ttl, "1h",
     "Lifetime of a session if the request does not set one", 1 * kSecond, kYear},
    {"sessions.max_ttl", Kind::kDuration, &Settings::session_max_ttl, "24h",
     "The longest ttl that a request may set", 1 * kSecond, kYear},
    {"sessions.max_paused", Kind::kNumber, &Settings::max_paused, "32",
     "Paused sessions of one project at once", 0, 100'000},
    {"sessions.paused_max", Kind::kDuration, &Settings::paused_max, "24h",
     "How long a session may stay paused before it is ended", 1 * kSecond, kYear},
    {"sessions.overcommit", Kind::kNumber, &Settings::session_overcommit, "4",
     "How many times the memory of the host may be promised to sessions; 1: no overcommit",
     1, 10'000},
    {"sessions.link", Kind::kChoice, &Settings::session_link, "descriptors",
     "How files and ports of new sessions reach the server: their pipes and sockets are handed over, "
     "or frames carry their bytes over the session's one socket, or over a byte stream. Frames are "
     "slower and need nothing of the sandbox's kernel",
     0, ~0ull, "descriptors|frames|byte-stream"},
    {"sessions.max_snapshots", Kind::kNumber, &Settings::max_snapshots, "32",
     "Snapshots that one project may keep", 0, 100'000},
    {"sessions.snapshot_max", Kind::kSize, &Settings::snapshot_max, "1G",
     "The largest snapshot", 1 << 20, 1ull << 40},

    {"images.max_size", Kind::kSize, &Settings::image_max_size, "10G",
     "The largest image, and the largest archive of one", 1 << 20, 1ull << 40},
    {"images.disk_ceiling", Kind::kSize, &Settings::image_disk_ceiling, "40G",
     "Disk that all images may take; a project may use a quarter of it. Beyond it, the project that "
     "keeps most loses its longest unused one; 0: no limit"},
    {"images.registries", Kind::kList, &Settings::image_registries,
     "docker.io,ghcr.io,quay.io,mcr.microsoft.com",
     "Registries that images may be pulled from, like registry.example:5000 or "
     "https://registry.example?host=auth.example&ca=/etc/ca.pem; empty: none"},
    {"images.pull_timeout", Kind::kDuration, &Settings::image_pull_timeout, "30m",
     "Time limit of fetching one image", 1 * kSecond, 24 * kHour},

    {"zygotes.max_age", Kind::kDuration, &Settings::zygote_max_age, "1h",
     "Age at which a zygote is replaced; off: never", 0, kYear},
    {"zygotes.max_forks", Kind::kNumber, &Settings::zygote_max_forks, "50000",
     "Forks after which a zygote is replaced; 0: never"},

    {"store.retention_age", Kind::kDuration, &Settings::retention_age, "168h",
     "Records of runs older than this are removed; off: never", 0, kYear},
    {"store.retention_count", Kind::kNumber, &Settings::retention_count, "100000",
     "Records of runs that are kept; 0: all"},
    {"store.retention_bytes", Kind::kSize, &Settings::retention_bytes, "1G",
     "Bytes of records that are kept; 0: all"},
    {"store.keep_output", Kind::kSize, &Settings::keep_output, "16K",
     "How much of a run's output its record keeps", 0, 16 << 20},
    {"store.keep_code", Kind::kBool, &Settings::keep_code, "false",
     "Whether the record of a run keeps its code, for the console's re-run and diff"},
    {"store.batch_interval", Kind::kDuration, &Settings::batch_interval, "200ms",
     "Records are written together, this often; a crash loses at most one batch",
     1 * kMs, 60 * kSecond},
    {"store.disk_ceiling", Kind::kSize, &Settings::disk_ceiling, "4G",
     "Size of the data directory beyond which records are removed early; 0: no limit"},
    {"store.project_quota", Kind::kSize, &Settings::project_quota, "0",
     "What the store keeps of one project; 0: a quarter of store.disk_ceiling"},

    {"log.level", Kind::kChoice, &Settings::log_level, "info",
     "How much is logged", 0, ~0ull, "debug|info|warn", "GLOVEBOX_LOG"},
    {"log.format", Kind::kChoice, &Settings::log_format, "text",
     "How each line is written: text, or json for a program that reads it", 0, ~0ull, "text|json"},
    {"log.requests", Kind::kBool, &Settings::log_requests, "true",
     "Whether every request is logged, at info"},

    {"console.session_ttl", Kind::kDuration, &Settings::console_session_ttl, "12h",
     "How long a browser stays signed in to the console", 60 * kSecond, 30 * 24 * kHour},

    {"workspace.cpu_quota", Kind::kText, &Settings::workspace_cpu_quota, "",
     "/workspace/se: CPUs of a sandbox, like 2 or 0.5; empty: 2",
     0, ~0ull, {}, "SANDBOX_CPU_QUOTA"},
    {"workspace.memory_limit", Kind::kNumber, &Settings::workspace_memory_limit, "0",
     "/workspace/se: memory of a sandbox in KB, at least 8192; 0: 131072 (128 MB)",
     0, 1ull << 30, {}, "SANDBOX_MEMORY_LIMIT"},
    {"workspace.allow_network", Kind::kBool, &Settings::workspace_allow_network, "true",
     "/workspace/se: whether sandboxes reach what net.ceiling allows; false: nothing",
     0, ~0ull, {}, "SANDBOX_ALLOW_NETWORK"},
    {"workspace.timeout_seconds", Kind::kNumber, &Settings::workspace_timeout_seconds, "300",
     "/workspace/se: how long code and commands may run, unless they ask for less",
     1, 86'400, {}, "SANDBOX_TIMEOUT_SECONDS"},
    {"workspace.pool_size", Kind::kNumber, &Settings::workspace_pool_size, "0",
     "/workspace/se: sessions with the default template and limits that wait; at most pools.max",
     0, 10'000, {}, "SANDBOX_POOL_SIZE"},

    {"mcp.template", Kind::kText, &Settings::mcp_template, "",
     "/mcp: template of sandboxes; empty: python-data where it works, else python"},
    {"mcp.ttl", Kind::kDuration, &Settings::mcp_ttl, "1h",
     "/mcp: how long a conversation's sandbox lives after its last call", 1 * kSecond, kYear},
    {"mcp.timeout", Kind::kDuration, &Settings::mcp_timeout, "120s",
     "/mcp: how long one call may run, unless it asks for less; never longer than mcp.ttl", 100 * kMs, 24 * kHour},
    {"mcp.idle", Kind::kDuration, &Settings::mcp_idle, "24h",
     "/mcp: how long an idle conversation is kept", 1 * kSecond, kYear},
    {"mcp.conversations", Kind::kNumber, &Settings::mcp_conversations, "64",
     "/mcp: conversations of one project at once; 0: none", 0, 100'000},
    {"mcp.max_output", Kind::kSize, &Settings::mcp_max_output, "64K",
     "/mcp: text in one result; of a longer text the middle is replaced by a note",
     1024, 1 << 20},
    {"mcp.cpus", Kind::kText, &Settings::mcp_cpus, "",
     "/mcp: CPUs of a sandbox, like 2 or 0.5; empty: its template's"},
    {"mcp.memory", Kind::kSize, &Settings::mcp_memory, "0",
     "/mcp: memory of a sandbox, at least 8M; 0: its template's", 0, 1ull << 40},
    {"mcp.disk", Kind::kSize, &Settings::mcp_disk, "0",
     "/mcp: disk of a sandbox, at least 1M; 0: its template's", 0, 1ull << 40},

    {"net.ceiling", Kind::kChoice, &Settings::net_ceiling, "all",
     "The most that a sandbox may request to reach; more is refused. net.allow adds to it",
     0, ~0ull, "none|https-only|all"},
    {"net.allow", Kind::kList, &Settings::net_allow, "",
     "Rules that sandboxes may request beyond net.ceiling, like pypi.org or *.example.com:443"},
    {"net.deny", Kind::kList, &Settings::net_deny, "",
     "Rules for what no sandbox may reach"},
    {"net.opened", Kind::kList, &Settings::net_opened, "",
     "Private ranges that count as the public internet, like 10.1.2.0/24; others are never reached"},
    {"net.resolvers", Kind::kList, &Settings::net_resolvers, "",
     "DNS servers for sandboxes; empty: those in /etc/resolv.conf"},
    {"net.max_bytes_out", Kind::kSize, &Settings::net_max_bytes_out, "0",
     "Bytes that one sandbox may send in its life; 0: no limit", 0, 1ull << 60},
    {"net.max_connections", Kind::kNumber, &Settings::net_max_connections, "10000",
     "Connections that one sandbox may make in its life; 0: no limit", 0, 1ull << 40},
    {"net.max_names", Kind::kNumber, &Settings::net_max_names, "1000",
     "Different names that one sandbox may resolve in its life; 0: no limit", 0, 1ull << 40},
    {"net.max_open", Kind::kNumber, &Settings::net_max_open, "1024",
     "Open connections of one sandbox at once", 1, 65'536},

    {"deps.enabled", Kind::kBool, &Settings::deps_enabled, "true",
     "Whether clients may request packages, which are fetched from the index below"},
    {"deps.shared", Kind::kBool, &Settings::deps_shared, "true",
     "Whether projects share package sets; false: each project has builds and layers of its own"},
    {"deps.index_url", Kind::kText, &Settings::deps_index_url, "",
     "Python's package index, without a password; empty: from PIP_INDEX_URL or deps.pip_config"},
    {"deps.extra_index_urls", Kind::kList, &Settings::deps_extra_index_urls, "",
     "More Python indexes; empty: from PIP_EXTRA_INDEX_URL or deps.pip_config"},
    {"deps.file_hosts", Kind::kList, &Settings::deps_file_hosts, "",
     "Further hosts of the indexes' files, like files.example.com or files.example.com:80"},
    {"deps.npm_registry", Kind::kText, &Settings::deps_npm_registry, "",
     "npm's registry; empty: from NPM_CONFIG_REGISTRY or deps.npm_config"},
    {"deps.pip_config", Kind::kPath, &Settings::deps_pip_config, "/etc/pip.conf",
     "The host's pip configuration; only indexes, trusted hosts and the CA bundle are used"},
    {"deps.npm_config", Kind::kPath, &Settings::deps_npm_config, "/etc/npmrc",
     "The host's npm configuration; only the registry and its credentials are used"},
    {"deps.ca_bundle", Kind::kPath, &Settings::deps_ca_bundle, "",
     "CA certificates for the indexes; empty: from PIP_CERT or deps.pip_config, or the host's"},
    {"deps.resolve_ttl", Kind::kDuration, &Settings::deps_resolve_ttl, "24h",
     "How long the resolved versions of a package set are cached", 0, kYear},
    {"deps.failure_ttl", Kind::kDuration, &Settings::deps_failure_ttl, "30s",
     "How long a package set that could not be installed is not tried again", 0, 24 * kHour},
    {"deps.check_every", Kind::kDuration, &Settings::deps_check_every, "24h",
     "How often a layer in use is compared with its digest; off: only after a boot",
     0, kYear},
    {"deps.build_timeout", Kind::kDuration, &Settings::deps_build_timeout, "15m",
     "Time limit of one build", 1 * kSecond, 24 * kHour},
    {"deps.build_memory", Kind::kSize, &Settings::deps_build_memory, "2G",
     "Memory of a build's sandbox", 64 << 20, 1ull << 40},
    {"deps.build_disk", Kind::kSize, &Settings::deps_build_disk, "4G",
     "Disk of a build's sandbox, which is memory as well", 16 << 20, 1ull << 40},
    {"deps.max_builds", Kind::kNumber, &Settings::deps_max_builds, "3",
     "Builds at once; one project may have all but one of them", 1, 64},
    {"deps.max_layer", Kind::kSize, &Settings::deps_max_layer, "3G",
     "The largest layer", 1 << 20, 1ull << 40},
    {"deps.disk_ceiling", Kind::kSize, &Settings::deps_disk_ceiling, "20G",
     "Size of all layers; beyond it the project that keeps most loses its longest unused ones; 0: no "
     "limit"},

    {"isolation.min_grade", Kind::kChoice, &Settings::min_grade, "jail-partial",
     "The weakest isolation that any run may have",
     0, ~0ull, "process|jail-partial|jail|user-kernel|vm"},
};
// clang-format on

}  // namespace

std::span<const Key> all_keys() { return kKeys; }

const Key* find_key(std::string_view name) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const Key& key) { return key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

std::string variable_of(const Key& key) {
  std::string variable = "GLOVEBOX_";
  for (const char c : key.name) {
    variable += c == '.' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  return variable;
}

std::string suggestion_for_key(std::string_view name) {
  std::vector<std::string> names;
  for (const Key& key : kKeys) {
    // Right but for its section, or for having none?
    const std::string_view last = key.name.substr(key.name.find('.') + 1);
    if (name.substr(name.rfind('.') + 1) == last) {
      return "; did you mean '" + std::string(key.name) + "'?";
    }
    names.emplace_back(key.name);
  }
  const std::string_view near = nearest(name, names);
  return near.empty() ? "" : "; did you mean '" + std::string(near) + "'?";
}

}  // namespace glovebox::config
