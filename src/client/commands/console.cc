// `glovebox console`: open the console of a server in a browser, signed in by a one-time link.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/unique_fd.h"
#include "base/write_all.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

struct ConsoleOptions {
  ServerLocationOptions server;
  bool print_only = false;
  std::string wait = "0";
};

options::CommandLine console_command_line(ConsoleOptions& console) {
  return {
      .name = "glovebox console",
      .usage = {"[OPTIONS]"},
      .description =
          "Open the console of a server in a browser. The link signs the browser in once, for "
          "the project of the key; it expires after two minutes (ten with --print).",
      .groups = {{"Options",
                  {{"--print", "", "print the link instead of opening a browser",
                    &console.print_only},
                   {"--wait", "SECONDS", "wait as long for a server that has not started yet",
                    &console.wait}}},
                 server_location_options(console.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n"};
}

std::optional<int> parse_wait_seconds(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || number < 0 || number > 3600) {
    return std::nullopt;
  }
  return static_cast<int>(number);
}

// The server of the data directory may not have written serve.json yet, or not listen yet.
Result<ApiClient> connect(const ConsoleOptions& console, std::chrono::seconds wait) {
  const auto deadline = Clock::now() + wait;
  while (true) {
    Result<ApiClient> api = ApiClient::connect(console.server);
    if (api) {
      const auto alive = api->send(get_request("/health"));
      if (alive) return api;
      if (Clock::now() >= deadline) return fail(Error(alive.error()));
    } else if (api.error().code() != Errc::kUnavailable || Clock::now() >= deadline) {
      return api;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// A page that leads to the link, in a file that only this user can read: the arguments of a browser
// can be read by every user of this machine. One name, so that no old ones are left.
Result<std::string> write_page(const std::string& directory, const std::string& link) {
  const std::string path = directory + "/glovebox-console.html";
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail(Error::from_errno("remove " + path));
  }
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(Error::from_errno("create " + path));
  const std::string page =
      "<!doctype html><meta charset=\"utf-8\"><title>Glovebox</title>"
      "<meta name=\"referrer\" content=\"no-referrer\">"
      "<meta http-equiv=\"refresh\" content=\"0;url=" +
      link + "\">\n";
  TRY_OK(write_all(file.get(), page));
  return path;
}

// Whether a browser was started.
bool open_browser(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execlp("xdg-open", "xdg-open", path.c_str(), static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (child < 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Empty: there is no screen, or no place for a private file.
std::string private_directory() {
  const char* directory = std::getenv("XDG_RUNTIME_DIR");
  const bool has_screen =
      std::getenv("DISPLAY") != nullptr || std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (!has_screen || directory == nullptr || directory[0] != '/') return {};
  return directory;
}

// Only characters that an attribute of HTML, a shell and a terminal show as they are.
bool is_plain_url(std::string_view url) {
  for (const char c : url) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view(":/.-_#=[]").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return url.starts_with("http://") || url.starts_with("https://");
}

Result<std::string> link_in(const std::string& body, const ServerLocation& server) {
  TRY(const json::object response, parse_response(body));
  std::string url = string_field(response, "url");
  if (url.empty()) {
    url = server.url;
    while (url.ends_with('/')) url.pop_back();
    url += string_field(response, "path");
  }
  if (!is_plain_url(url)) return fail(Errc::kProtocol, "the server's link is malformed");
  return url;
}

}  // namespace

int console_command(const std::vector<std::string>& args) {
  ConsoleOptions console;
  options::Arguments arguments;
  if (const auto status = parse_arguments(console_command_line(console), args, arguments)) {
    return *status;
  }
  const auto wait = parse_wait_seconds(console.wait);
  if (!wait) return usage_error("--wait must be a number of seconds from 0 to 3600");
  auto api = connect(console, std::chrono::seconds(*wait));
  if (!api) return usage_error_or_failure(api.error());
  const std::string directory = console.print_only ? std::string() : private_directory();
  const bool opens = !directory.empty();
  http::ClientRequest request =
      post_request("/console/links", opens ? "{\"expires_in_s\":120}" : "{\"expires_in_s\":600}");
  const auto response = api->send(std::move(request));
  if (!response) return failure(response.error());
  if (const auto error = api->error_in(*response)) return server_refused(error->message);
  const auto link = link_in(response->body, api->location());
  if (!link) return failure(link.error());
  if (opens) {
    const auto page = write_page(directory, *link);
    if (page && open_browser(*page)) {
      print("the console of " + printable(api->location().url) + " is open in your browser\n");
      return 0;
    }
  }
  print("console: " + *link + "\n(the link signs in once, within " +
        std::string(opens ? "two" : "ten") + " minutes)\n");
  return 0;
}

}  // namespace glovebox::client
