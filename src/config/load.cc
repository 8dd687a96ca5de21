#include "config/load.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/nearest.h"
#include "config/image_registries.h"
#include "config/network.h"
#include "config/package_index.h"
#include "config/toml_file.h"
#include "config/value.h"
#include "net/host_name.h"
#include "options/command_line.h"

namespace glovebox::config {

namespace {

// Ours too, and read elsewhere.
constexpr std::string_view kOtherVariables[] = {
    "GLOVEBOX_LAUNCHER", "GLOVEBOX_LIBEXEC", "GLOVEBOX_URL",     "GLOVEBOX_API_KEY",
    "GLOVEBOX_BIN",      "GLOVEBOX_KEY",     "GLOVEBOX_BIN_DIR", "GLOVEBOX_LAYERS_DIR"};

// Of everything bound to be in the file system under this directory the sockets have the shortest
// limit: 107 bytes for "<data_dir>/launcher.sock".
constexpr std::size_t kLongestDataDir = 90;

tl::unexpected<Error> bad_setting(const std::string& what) {
  return fail(Errc::kInvalidArgument, what);
}

Result<SettingValue> entry_of_set(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return bad_setting("--set takes KEY=VALUE, not '" + word + "'");
  const std::string name = word.substr(0, equals);
  const Key* key = find_key(name);
  if (key == nullptr)
    return bad_setting("--set: unknown key '" + name + "'" + suggestion_for_key(name));
  return SettingValue{key, word.substr(equals + 1), "flag --set"};
}

}  // namespace

std::vector<options::Option> SettingFlags::options() {
  const auto into_key = [this](const char* key, const char* origin) -> options::TakeValue {
    return [this, key, origin](std::string value) -> Result<> {
      values.push_back({find_key(key), std::move(value), origin});
      return {};
    };
  };
  const options::TakeValue set = [this](const std::string& word) -> Result<> {
    TRY(SettingValue entry, entry_of_set(word));
    values.push_back(std::move(entry));
    return {};
  };
  const options::TakeValue set_by = [this](const std::string& word) -> Result<> {
    TRY(SettingValue entry, entry_of_set(word));
    origins.emplace_back(entry.key, std::move(entry.text));
    return {};
  };
  return {
      {"--listen", "ADDRESS:PORT", "listen here (default 127.0.0.1:7070); port 0 picks a free port",
       into_key("server.listen", "flag --listen")},
      {"--data-dir", "DIR",
       "keep the store, the admin key and serve.json here (default /var/lib/glovebox, or below "
       "$XDG_DATA_HOME if not root)",
       into_key("server.data_dir", "flag --data-dir")},
      {"--config", "FILE",
       "read settings from FILE (default /etc/glovebox/server.toml, or below $XDG_CONFIG_HOME)",
       &file},
      {"--no-config", "", "", &no_config},
      {"--set", "KEY=VALUE", "set any setting; `glovebox config` lists them", set},
      {"--set-by", "KEY=ORIGIN", "", set_by},
  };
}

namespace {

// Kubernetes tells every pod of a service called "glovebox" in variables of these forms; they are
// not typing errors.
bool is_service_link(std::string_view name) {
  return name.find("_SERVICE_") != std::string_view::npos ||
         name.find("_PORT") != std::string_view::npos;
}

// Refuses a variable that must be meant for us, but is none of ours. Others are left alone.
Result<> check_unknown_variable(const std::string& name) {
  if (std::find(std::begin(kOtherVariables), std::end(kOtherVariables), name) !=
          std::end(kOtherVariables) ||
      is_service_link(name)) {
    return {};
  }
  std::vector<std::string> known;
  bool in_a_section = false;
  for (const Key& key : all_keys()) {
    const std::string variable = variable_of(key);
    const std::size_t section = variable.find('_', sizeof "GLOVEBOX_" - 1) + 1;
    in_a_section |= name.starts_with(variable.substr(0, section));
    known.push_back(variable);
    if (!key.short_variable.empty()) known.emplace_back(key.short_variable);
  }
  const std::string_view near = nearest(name, known);
  if (!in_a_section && near.empty()) return {};
  return bad_setting("environment: unknown variable " + name +
                     (near.empty() ? "" : "; did you mean " + std::string(near) + "?"));
}

// The short form first, so that the full one has the last word.
Result<std::vector<SettingValue>> read_environment(std::span<const std::string> environment) {
  std::vector<SettingValue> short_forms, full_forms;
  for (const std::string& variable : environment) {
    // Some short forms are another server's words (SANDBOX_...): others of those are not ours.
    const bool is_ours = variable.starts_with("GLOVEBOX_");
    if (!is_ours && !variable.starts_with("SANDBOX_")) continue;
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    const std::string text = equals == std::string::npos ? "" : variable.substr(equals + 1);
    bool is_known = false;
    for (const Key& key : all_keys()) {
      const bool is_full = name == variable_of(key);
      if (!is_full && name != key.short_variable) continue;
      (is_full ? full_forms : short_forms).push_back({&key, text, "environment " + name});
      is_known = true;
    }
    if (!is_known && is_ours) TRY_OK(check_unknown_variable(name));
  }
  std::move(full_forms.begin(), full_forms.end(), std::back_inserter(short_forms));
  return short_forms;
}

Result<std::vector<SettingValue>> read_file(const std::string& path, Missing missing, Trust trust) {
  TRY(const std::string text, read_text_file(path, missing, trust));
  TRY(std::vector<FileEntry> entries, parse_file(text, path));
  std::vector<SettingValue> values;
  for (FileEntry& entry : entries) {
    values.push_back({find_key(entry.key), std::move(entry.text),
                      "file " + path + ":" + std::to_string(entry.line)});
  }
  return values;
}

SettingTable defaults(const ProcessEnvironment& process) {
  SettingTable table;
  for (const Key& key : all_keys()) {
    table.push_back({&key, std::string(key.default_text), "default"});
    if (key.name == "server.data_dir") table.back().text = process.data_dir;
    if (key.name == "server.uid" && !process.policy.empty()) {
      if (const auto first = first_uid_of_policy(process.policy)) {
        table.back().text = std::to_string(*first);
        table.back().origin = "policy " + process.policy;
      }
    }
  }
  return table;
}

void override_with(SettingTable& table, std::vector<SettingValue> values) {
  for (SettingValue& value : values) {
    const auto known = std::find_if(table.begin(), table.end(), [&](const SettingValue& entry) {
      return entry.key == value.key;
    });
    if (known != table.end()) *known = std::move(value);
  }
}

std::string origin_of(const SettingTable& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const SettingValue& entry) {
    return entry.key->name == name;
  });
  return found == table.end() ? "" : " (" + found->origin + ")";
}

// Words that mean something to the network only.
Result<> check_network(const Settings& settings, const SettingTable& table) {
  const auto check = [&table](const char* name, const auto& parsed) -> Result<> {
    if (parsed) return {};
    return bad_setting(name + origin_of(table, name) + " " + parsed.error().message());
  };
  TRY_OK(check("net.allow", parse_net_rules(settings.net_allow)));
  TRY_OK(check("net.deny", parse_net_rules(settings.net_deny)));
  TRY_OK(check("net.opened", parse_net_ranges(settings.net_opened)));
  return check("net.resolvers", parse_name_servers(settings.net_resolvers));
}

Result<> check_registries(const Settings& settings, const SettingTable& table) {
  const auto checked = parse_image_registries(settings.image_registries);
  if (checked) return {};
  constexpr const char* kName = "images.registries";
  return bad_setting(kName + origin_of(table, kName) + " " + checked.error().message());
}

// Words that mean something to builds of packages only.
Result<> check_indexes(const Settings& settings, const SettingTable& table) {
  const Result<> checked = check_index_settings(settings);
  if (checked) return {};
  const std::string& what = checked.error().message();
  const std::string name = what.substr(0, what.find(' '));
  return bad_setting(name + origin_of(table, name) + what.substr(name.size()));
}

// As browsers write an Origin: "https://glovebox.example.com:8443".
bool is_https_address(std::string_view text) {
  constexpr std::string_view kScheme = "https://";
  if (!text.starts_with(kScheme)) return false;
  const std::string_view host = text.substr(kScheme.size());
  const std::string_view name = host.substr(0, host.find(':'));
  const std::string_view port = name.size() < host.size() ? host.substr(name.size() + 1) : "1";
  const auto is_in = [](std::string_view all) {
    return [all](char c) { return all.find(c) != std::string_view::npos; };
  };
  return !name.empty() && name.front() != '.' && name.front() != '-' && !port.empty() &&
         port.size() <= 5 && port != "443" &&
         std::all_of(name.begin(), name.end(), is_in("abcdefghijklmnopqrstuvwxyz0123456789-._")) &&
         std::all_of(port.begin(), port.end(), is_in("0123456789"));
}

// As a Host names it: neither a scheme nor a port, and no "*".
bool is_domain(const std::string& text) {
  unsigned char address[sizeof(in_addr)];
  if (::inet_pton(AF_INET, text.c_str(), address) == 1) return true;
  return !text.ends_with('.') && net::HostName::parse(text).has_value();
}

// What can only be seen with several values in hand.
Result<> check_together(const Settings& settings, const SettingTable& table) {
  if (settings.data_dir.empty()) {
    return bad_setting("server.data_dir is not set, and neither is XDG_DATA_HOME or HOME");
  }
  if (settings.data_dir.size() > kLongestDataDir) {
    return bad_setting("server.data_dir" + origin_of(table, "server.data_dir") +
                       " must be at most " + std::to_string(kLongestDataDir) +
                       " bytes long, because it contains sockets");
  }
  if (settings.tls_cert.empty() != settings.tls_key.empty()) {
    const char* given = settings.tls_cert.empty() ? "server.tls_key" : "server.tls_cert";
    return bad_setting(given + origin_of(table, given) +
                       ": server.tls_cert and server.tls_key are needed together");
  }
  if (!settings.domain.empty() && !is_domain(settings.domain)) {
    return bad_setting(
        "server.domain" + origin_of(table, "server.domain") +
        ": must be a host name like sandbox.example.com, without https://, a port or "
        "*, not '" +
        settings.domain.substr(0, 100) + "'");
  }
  if (!settings.public_url.empty() && !is_https_address(settings.public_url)) {
    return bad_setting("server.public_url" + origin_of(table, "server.public_url") +
                       ": must be https:// and a host name, with its port unless that is 443, and "
                       "nothing behind it, not '" +
                       settings.public_url.substr(0, 100) + "'");
  }
  TRY_OK(check_network(settings, table));
  TRY_OK(check_registries(settings, table));
  return check_indexes(settings, table);
}

std::string below(const char* variable, const char* home_part) {
  if (const char* base = std::getenv(variable); base != nullptr && base[0] == '/') return base;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + home_part : "";
}

}  // namespace

ProcessEnvironment ProcessEnvironment::current() {
  ProcessEnvironment process;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    process.variables.emplace_back(*variable);
  }
  process.is_root = ::geteuid() == 0;
  if (process.is_root) {
    process.data_dir = "/var/lib/glovebox";
    process.file = "/etc/glovebox/server.toml";
    process.policy = "/etc/glovebox/policy.toml";
    return process;
  }
  const std::string data = below("XDG_DATA_HOME", "/.local/share");
  const std::string config = below("XDG_CONFIG_HOME", "/.config");
  if (!data.empty()) process.data_dir = data + "/glovebox";
  if (!config.empty()) process.file = config + "/glovebox/server.toml";
  return process;
}

Result<LoadedSettings> load(std::span<const std::string> args, const ProcessEnvironment& process) {
  SettingFlags flags;
  TRY(std::vector<std::string> rest, options::take_options(flags.options(), args));
  TRY(LoadedSettings loaded, load(std::move(flags), process));
  loaded.rest = std::move(rest);
  return loaded;
}

Result<LoadedSettings> load(SettingFlags flags, const ProcessEnvironment& process) {
  LoadedSettings loaded;
  loaded.table = defaults(process);
  if (!flags.file.empty()) {
    TRY(std::vector<SettingValue> values,
        read_file(flags.file, Missing::kIsAnError, Trust::kAnyOwner));
    override_with(loaded.table, std::move(values));
  } else if (!flags.no_config && !process.file.empty()) {
    const Trust trust = process.is_root ? Trust::kOnlyRoot : Trust::kAnyOwner;
    TRY(std::vector<SettingValue> values, read_file(process.file, Missing::kIsEmpty, trust));
    override_with(loaded.table, std::move(values));
  }
  if (!flags.no_config) {
    TRY(std::vector<SettingValue> values, read_environment(process.variables));
    override_with(loaded.table, std::move(values));
  }
  override_with(loaded.table, std::move(flags.values));
  for (const auto& [key, origin] : flags.origins) {
    for (SettingValue& entry : loaded.table) {
      if (entry.key == key) entry.origin = origin;
    }
  }
  for (SettingValue& entry : loaded.table) {
    if (auto assigned = assign(loaded.settings, *entry.key, entry.text); !assigned) {
      return bad_setting(std::string(entry.key->name) + " (" + entry.origin + ") " +
                         assigned.error().message() + ", not '" + entry.text.substr(0, 100) + "'");
    }
    if (entry.key->kind == Kind::kPath) {  // absolute now
      entry.text = loaded.settings.*std::get<std::string Settings::*>(entry.key->member);
    }
  }
  TRY_OK(check_together(loaded.settings, loaded.table));
  return loaded;
}

Result<> check_servable(const LoadedSettings& loaded) {
  const Settings& settings = loaded.settings;
  const auto refuse = [&table = loaded.table](const char* name, const std::string& why) {
    return bad_setting(name + origin_of(table, name) + " " + why);
  };
  if (!settings.workspace_cpu_quota.empty() && !parse_cpu_quota(settings.workspace_cpu_quota)) {
    return refuse("workspace.cpu_quota", "must be a number of CPUs from 0.01 to 1024, not '" +
                                             settings.workspace_cpu_quota.substr(0, 100) + "'");
  }
  const std::uint64_t memory = settings.workspace_memory_limit;
  if (memory != 0 && memory < 8192) {
    return refuse("workspace.memory_limit",
                  "is in KB and must be at least 8192, not " + std::to_string(memory));
  }
  if (!settings.mcp_cpus.empty() && !parse_cpu_quota(settings.mcp_cpus)) {
    return refuse("mcp.cpus", "must be a number of CPUs from 0.01 to 1024, not '" +
                                  settings.mcp_cpus.substr(0, 100) + "'");
  }
  if (settings.mcp_memory != 0 && settings.mcp_memory < (8u << 20)) {
    return refuse("mcp.memory", "must be at least 8M");
  }
  if (settings.mcp_disk != 0 && settings.mcp_disk < (1u << 20)) {
    return refuse("mcp.disk", "must be at least 1M");
  }
  if (settings.workspace_pool_size > settings.pool_max) {
    return refuse("workspace.pool_size", "must be at most pools.max, which is " +
                                             std::to_string(settings.pool_max) + ", not " +
                                             std::to_string(settings.workspace_pool_size));
  }
  return {};
}

std::vector<std::string> as_arguments(const SettingTable& table) {
  std::vector<std::string> arguments = {"--no-config"};
  for (const SettingValue& entry : table) {
    arguments.emplace_back("--set");
    arguments.push_back(std::string(entry.key->name) + "=" + entry.text);
    arguments.emplace_back("--set-by");
    arguments.push_back(std::string(entry.key->name) + "=" + entry.origin);
  }
  return arguments;
}

}  // namespace glovebox::config
