// The settings as plain values. keys.cc has their names, defaults and bounds; load.cc fills them
// in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace glovebox::config {

struct Settings {
  // [server]
  std::string listen;
  std::string data_dir;  // absolute, like the other paths here
  std::string user;      // empty: `uid`
  std::uint64_t uid = 0;
  std::string domain;
  std::vector<std::string> origins;
  std::string public_url;  // empty: the address of each request
  std::string tls_cert;    // both or neither of the two
  std::string tls_key;
  std::chrono::milliseconds stop_timeout{};
  std::uint64_t max_connections = 0;
  std::chrono::milliseconds header_timeout{};
  std::chrono::milliseconds body_timeout{};
  std::chrono::milliseconds body_stall_timeout{};
  std::chrono::milliseconds write_timeout{};
  std::chrono::milliseconds idle_timeout{};
  std::uint64_t max_header = 0;
  std::uint64_t max_body = 0;
  // [pools]
  std::uint64_t max_sandboxes = 0;
  std::uint64_t pool_max = 0;
  std::uint64_t max_memory = 0;  // 0: what the host can spare
  std::uint64_t max_pools = 0;
  std::chrono::milliseconds pool_idle_decay{};
  std::uint64_t queue_length = 0;
  std::chrono::milliseconds queue_wait{};
  std::uint64_t reuse_max_calls = 0;
  std::chrono::milliseconds reuse_max_age{};
  std::chrono::milliseconds reuse_idle{};
  // [sessions]
  std::uint64_t max_sessions = 0;
  std::uint64_t project_share = 0;  // percent
  std::chrono::milliseconds session_default_ttl{};
  std::chrono::milliseconds session_max_ttl{};
  std::uint64_t max_paused = 0;  // of one project
  std::chrono::milliseconds paused_max{};
  std::uint64_t session_overcommit = 0;
  std::string session_link;         // descriptors, frames or byte-stream
  std::uint64_t max_snapshots = 0;  // of one project
  std::uint64_t snapshot_max = 0;
  std::uint64_t image_max_size = 0;           // of one, and of an archive
  std::uint64_t image_disk_ceiling = 0;       // of all
  std::vector<std::string> image_registries;  // see image_registries.h
  std::chrono::milliseconds image_pull_timeout{};
  // [zygotes]; 0: never for that reason
  std::chrono::milliseconds zygote_max_age{};
  std::uint64_t zygote_max_forks = 0;
  // [store]; 0: no such bound
  std::chrono::milliseconds retention_age{};
  std::uint64_t retention_count = 0;
  std::uint64_t retention_bytes = 0;
  std::uint64_t keep_output = 0;
  bool keep_code = false;
  std::chrono::milliseconds batch_interval{};
  std::uint64_t disk_ceiling = 0;
  std::uint64_t project_quota = 0;  // 0: a quarter of disk_ceiling
  // [log]
  std::string log_level;
  std::string log_format;
  bool log_requests = true;
  // [console]
  std::chrono::milliseconds console_session_ttl{};
  // [workspace]; 0 and empty: the protocol's own default
  std::string workspace_cpu_quota;
  std::uint64_t workspace_memory_limit = 0;  // KB
  bool workspace_allow_network = true;
  std::uint64_t workspace_timeout_seconds = 0;
  std::uint64_t workspace_pool_size = 0;
  // [mcp]; 0 and empty: the template's
  std::string mcp_template;
  std::chrono::milliseconds mcp_ttl{};
  std::chrono::milliseconds mcp_timeout{};
  std::chrono::milliseconds mcp_idle{};
  std::uint64_t mcp_conversations = 0;  // of one project
  std::uint64_t mcp_max_output = 0;
  std::string mcp_cpus;
  std::uint64_t mcp_memory = 0;
  std::uint64_t mcp_disk = 0;
  // [net]: see network.h
  std::string net_ceiling;
  std::vector<std::string> net_allow;
  std::vector<std::string> net_deny;
  std::vector<std::string> net_opened;
  std::vector<std::string> net_resolvers;  // empty: the host's
  std::uint64_t net_max_bytes_out = 0;     // of one sandbox; 0: no bound
  std::uint64_t net_max_connections = 0;
  std::uint64_t net_max_names = 0;
  std::uint64_t net_max_open = 0;
  // [deps]: see package_index.h
  bool deps_enabled = true;
  bool deps_shared = true;
  std::string deps_index_url;  // empty: the host's
  std::vector<std::string> deps_extra_index_urls;
  std::vector<std::string> deps_file_hosts;
  std::string deps_npm_registry;  // empty: the host's
  std::string deps_pip_config;
  std::string deps_npm_config;
  std::string deps_ca_bundle;  // empty: the host's
  std::chrono::milliseconds deps_resolve_ttl{};
  std::chrono::milliseconds deps_failure_ttl{};
  std::chrono::milliseconds deps_check_every{};
  std::chrono::milliseconds deps_build_timeout{};
  std::uint64_t deps_build_memory = 0;
  std::uint64_t deps_build_disk = 0;
  std::uint64_t deps_max_builds = 0;
  std::uint64_t deps_max_layer = 0;
  std::uint64_t deps_disk_ceiling = 0;
  // [isolation]
  std::string min_grade;
};

}  // namespace glovebox::config
