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
#include "http/client.h"

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

struct Serving {
  std::string url;
  bool alive = false;  // its process is there
};

// Whether this is a server's process, and not one that has got the number of a dead one's.
bool is_server(std::int64_t pid, const std::string& program) {
  const auto name = read_small_file("/proc/" + std::to_string(pid) + "/comm");
  return name && *name == program.substr(0, 15) + "\n";  // the kernel keeps so many
}

std::optional<Serving> serving_in(const std::string& serve_json, const std::string& program) {
  const auto text = read_small_file(serve_json);
  if (!text) return std::nullopt;
  boost::system::error_code error;
  const json::value parsed = json::parse(*text, error);
  const json::object* object = error ? nullptr : parsed.if_object();
  const json::value* url = object != nullptr ? object->if_contains("url") : nullptr;
  if (url == nullptr || !url->is_string()) return std::nullopt;
  Serving serving{std::string(url->get_string())};
  const json::value* pid = object->if_contains("pid");
  serving.alive = pid != nullptr && pid->is_int64() && is_server(pid->get_int64(), program);
  return serving;
}

bool is_this_machine(const std::string& host) {
  in_addr address{};
  const bool numeric = ::inet_pton(AF_INET, host.c_str(), &address) == 1;
  return host == "localhost" || host == "::1" ||
         (numeric && (ntohl(address.s_addr) >> 24) == IN_LOOPBACKNET);
}

// The data directory's own server, under whatever name it has here. Its key goes to nobody else: a
// port that it has left may be anybody's by now.
bool is_its_server(const http::Url& url, const std::optional<Serving>& serving) {
  if (!serving || !serving->alive) return false;
  const auto its = http::parse_url(serving->url);
  return its && its->port == url.port &&
         (its->host == url.host || (is_this_machine(its->host) && is_this_machine(url.host)));
}

}  // namespace

const char* const kPlaceHelp =
    "  --url URL              the server, like http://127.0.0.1:7070 (default: GLOVEBOX_URL, else\n"
    "                         the one that serves on the data directory)\n"
    "  --key KEY              the key (default: GLOVEBOX_API_KEY, else <data-dir>/admin.key for a\n"
    "                         server on this machine)\n"
    "  --data-dir DIR         the data directory of the server (default: as `glovebox serve`)\n";

std::vector<Option> place_options(PlaceWords& words) {
  return {{"--url", &words.url}, {"--key", &words.key}, {"--data-dir", &words.data_dir}};
}

PlaceSurroundings PlaceSurroundings::here() {
  const config::Surroundings surroundings = config::Surroundings::here();
  // A settings file that is not right is `serve`'s to complain about.
  const auto loaded = config::load({}, surroundings);
  return {.url = variable("GLOVEBOX_URL"),
          .key = variable("GLOVEBOX_API_KEY"),
          .data_dir = loaded ? loaded->settings.data_dir : surroundings.data_dir};
}

Result<Place> find_place(const PlaceWords& words, const PlaceSurroundings& surroundings) {
  const std::string& data_dir = words.data_dir.empty() ? surroundings.data_dir : words.data_dir;
  const std::string serve_json = data_dir + "/serve.json";
  Place place;
  if (!words.url.empty()) {
    place.url = words.url;
    place.origin = "--url";
  } else if (!surroundings.url.empty() && words.data_dir.empty()) {
    place.url = surroundings.url;
    place.origin = "GLOVEBOX_URL";
  } else if (const auto serving = serving_in(serve_json, surroundings.program)) {
    place.url = serving->url;
    place.origin = serve_json;
  } else {
    return fail(Errc::kUnavailable, "no server is known: there is no " + serve_json +
                                        "; start one with `glovebox serve`, or say --url URL");
  }
  TRY(const http::Url url, http::parse_url(place.url));
  if (!words.key.empty()) {
    place.key = words.key;
    place.key_origin = "--key";
  } else if (!surroundings.key.empty()) {
    place.key = surroundings.key;
    place.key_origin = "GLOVEBOX_API_KEY";
  } else if (is_its_server(url, serving_in(serve_json, surroundings.program))) {
    place.key_origin = data_dir + "/admin.key";
    place.key = read_small_file(place.key_origin).value_or("");
    place.key.erase(place.key.find_last_not_of(" \t\r\n") + 1);
  }
  return place;
}

Result<std::string> find_admin_key(const PlaceWords& words, const PlaceSurroundings& surroundings) {
  const std::string& data_dir = words.data_dir.empty() ? surroundings.data_dir : words.data_dir;
  const std::string path = data_dir + "/admin.key";
  std::string key = read_small_file(path).value_or("");
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  if (key.empty()) {
    return fail(Errc::kUnavailable, "there is no admin key in " + path +
                                        ", or it is not yours to read; say --data-dir DIR");
  }
  return key;
}

}  // namespace glovebox::client
