#include "client/connection/server_location.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <optional>

#include "base/unique_fd.h"
#include "config/load.h"
#include "http/client/client.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<std::string> read_small_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char text[4096];
  const ssize_t size = file ? ::read(file.get(), text, sizeof text) : -1;
  if (size < 0) return std::nullopt;
  return std::string(text, static_cast<std::size_t>(size));
}

struct ServeInfo {
  std::string url;
  bool is_running = false;  // the process of that id is a server
};

// Whether the process is a server, and not an unrelated one that reuses the id.
bool is_server(std::int64_t pid, const std::string& program) {
  const auto name = read_small_file("/proc/" + std::to_string(pid) + "/comm");
  return name && *name == program.substr(0, 15) + "\n";  // TASK_COMM_LEN without its NUL
}

std::optional<ServeInfo> read_serve_info(const std::string& serve_json,
                                         const std::string& program) {
  const auto text = read_small_file(serve_json);
  if (!text) return std::nullopt;
  boost::system::error_code error;
  const json::value parsed = json::parse(*text, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* url = object != nullptr ? object->if_contains("url") : nullptr;
  if (url == nullptr || !url->is_string()) return std::nullopt;
  ServeInfo info{std::string(url->get_string())};
  const json::value* pid = object->if_contains("pid");
  info.is_running = pid != nullptr && pid->is_int64() && is_server(pid->get_int64(), program);
  return info;
}

bool is_this_machine(const std::string& host) {
  in_addr address{};
  const bool numeric = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "::1" ||
         (numeric && (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET);
}

// Whether `url` is the running server of the data directory, under any name of this machine. Only
// that server gets its key: another process may listen on a port that it has left.
bool is_server_of_data_dir(const http::Url& url, const std::optional<ServeInfo>& info) {
  if (!info || !info->is_running) return false;
  const auto served = http::parse_url(info->url);
  return served && served->port == url.port &&
         (served->host == url.host || (is_this_machine(served->host) && is_this_machine(url.host)));
}

}  // namespace

options::OptionGroup server_location_options(ServerLocationOptions& options) {
  options::TakeValue server = [&options](std::string url) -> Result<> {
    options.url = std::move(url);
    options.url_option = "--server";
    return {};
  };
  return {"Server",
          {{"--url", "URL",
            "address of the server, like http://127.0.0.1:7070 (default: GLOVEBOX_URL, else the "
            "server of the data directory)",
            &options.url},
           // As `glovebox run` calls it; not shown twice.
           {"--server", "URL", "", std::move(server)},
           {"--key", "KEY",
            "key to use (default: GLOVEBOX_API_KEY, else <data-dir>/admin.key for a server on this "
            "machine)",
            &options.key},
           {"--data-dir", "DIR", "data directory of the server (default: that of `glovebox serve`)",
            &options.data_dir}}};
}

ServerLocationEnvironment ServerLocationEnvironment::here() {
  const config::ProcessEnvironment process = config::ProcessEnvironment::current();
  // `glovebox serve` reports mistakes in the settings; here the default is used instead.
  const auto loaded = config::load(config::SettingFlags{}, process);
  return {.url = variable("GLOVEBOX_URL"),
          .key = variable("GLOVEBOX_API_KEY"),
          .data_dir = loaded ? loaded->settings.data_dir : process.data_dir};
}

Result<ServerLocation> find_server_location(const ServerLocationOptions& options,
                                            const ServerLocationEnvironment& environment) {
  const std::string& data_dir = options.data_dir.empty() ? environment.data_dir : options.data_dir;
  const std::string serve_json = data_dir + "/serve.json";
  ServerLocation location;
  if (!options.url.empty()) {
    location.url = options.url;
    location.origin = options.url_option;
  } else if (!environment.url.empty() && options.data_dir.empty()) {
    location.url = environment.url;
    location.origin = "GLOVEBOX_URL";
  } else if (const auto info = read_serve_info(serve_json, environment.program)) {
    location.url = info->url;
    location.origin = serve_json;
  } else {
    return fail(Errc::kUnavailable, "no server is known: " + serve_json +
                                        " does not exist; start a server with `glovebox serve` or "
                                        "use --server URL");
  }
  auto url = http::parse_url(location.url);
  if (!url) return fail(std::move(url.error()).context(location.origin));
  if (!options.key.empty()) {
    location.key = options.key;
    location.key_origin = "--key";
  } else if (!environment.key.empty()) {
    location.key = environment.key;
    location.key_origin = "GLOVEBOX_API_KEY";
  } else if (is_server_of_data_dir(*url, read_serve_info(serve_json, environment.program))) {
    location.key_origin = data_dir + "/admin.key";
    location.key = read_small_file(location.key_origin).value_or("");
    location.key.erase(location.key.find_last_not_of(" \t\r\n") + 1);
  }
  return location;
}

Result<std::string> find_admin_key(const ServerLocationOptions& options,
                                   const ServerLocationEnvironment& environment) {
  const std::string& data_dir = options.data_dir.empty() ? environment.data_dir : options.data_dir;
  const std::string path = data_dir + "/admin.key";
  std::string key = read_small_file(path).value_or("");
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.empty()) {
    return fail(Errc::kUnavailable,
                "no admin key: " + path + " does not exist or is not readable; use --data-dir DIR");
  }
  return key;
}

}  // namespace glovebox::client
