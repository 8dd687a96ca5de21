#include "client/output/image_pull.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "base/percent_encoding.h"
#include "client/output/print.h"
#include "client/output/run_events.h"
#include "client/requests/registry_login.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

// On a terminal the amount that has arrived overwrites itself; elsewhere only phases are lines.
class PullLines {
 public:
  explicit PullLines(const ImagePullRequest& wanted)
      : image_(printable(wanted.image)),
        is_quiet_(wanted.is_quiet),
        is_terminal_(::isatty(STDERR_FILENO) == 1) {}
  ~PullLines() { clear(); }
  PullLines(const PullLines&) = delete;
  PullLines& operator=(const PullLines&) = delete;

  void add(std::string_view phase, std::string_view text) {
    if (is_quiet_) return;
    if (phase != phase_) {
      phase_ = phase;
      clear();
      std::fprintf(stderr, "glovebox: %s: %s\n", image_.c_str(), phase_text().c_str());
    }
    if (!is_terminal_ || text.empty()) return;
    std::fprintf(stderr, "\r\033[K  %s", printable(std::string(text.substr(0, 100))).c_str());
    std::fflush(stderr);
    is_line_open_ = true;
  }
  void clear() {
    if (std::exchange(is_line_open_, false)) std::fputs("\r\033[K", stderr);
  }

 private:
  std::string phase_text() const {
    if (phase_ == "resolving") return "asking the registry";
    if (phase_ == "fetching") return "downloading";
    if (phase_ == "sealing") return "storing";
    return printable(phase_);
  }

  const std::string image_;
  const bool is_quiet_;
  const bool is_terminal_;
  bool is_line_open_ = false;
  std::string phase_;
};

std::string pull_body(const ImagePullRequest& wanted, const RegistryLogin& login) {
  json::object credentials;
  const auto add = [&credentials](const char* name, const std::string& value) {
    if (!value.empty()) credentials[name] = value;
  };
  add("username", login.username);
  add("password", login.password);
  add("identity_token", login.identity_token);
  add("registry_token", login.registry_token);
  json::object body{{"name", wanted.image}};
  if (!credentials.empty()) body["credentials"] = std::move(credentials);
  return json::serialize(body);
}

std::string in_project(std::string target, const ImagePullRequest& wanted) {
  if (!wanted.project.empty()) target += "?project=" + percent_encode(wanted.project);
  return target;
}

}  // namespace

std::optional<PullPolicy> parse_pull_policy(std::string_view name) {
  if (name == "missing") return PullPolicy::kMissing;
  if (name == "always") return PullPolicy::kAlways;
  if (name == "never") return PullPolicy::kNever;
  return std::nullopt;
}

Result<PulledImage> pull_image(ApiClient& api, const ImagePullRequest& wanted) {
  RegistryLogin login;
  if (!wanted.is_anonymous) {
    TRY(login, find_registry_login(registry_of_image(wanted.image)));
  }
  PullLines lines(wanted);
  RunEvents events(
      [](bool, std::string_view) { return true; },
      [&lines](std::string_view phase, std::string_view text) { lines.add(phase, text); });
  http::ClientRequest request =
      post_request(in_project("/v1/images/pull", wanted), pull_body(wanted, login));
  request.headers = {{"Accept", "application/x-ndjson"}};
  TRY(const http::ClientResponse response, events.read_from(api, std::move(request)));
  lines.clear();
  PulledImage pulled;
  pulled.refused = api.error_in(response);
  if (pulled.refused) return pulled;
  auto image = events.take_result();
  if (image) {
    image->erase("event");
    pulled.image = std::make_shared<const json::object>(std::move(*image));
    return pulled;
  }
  if (events.failure_code().empty()) return fail(std::move(image.error()));
  pulled.refused.emplace();
  pulled.refused->code = events.failure_code();
  pulled.refused->message = image.error().message();
  return pulled;
}

Result<PulledImage> provide_image(ApiClient& api, const ImagePullRequest& wanted,
                                  PullPolicy policy) {
  if (policy == PullPolicy::kNever) return PulledImage{};
  if (policy == PullPolicy::kMissing) {
    TRY(const http::ClientResponse response,
        api.send(get_request(in_project("/v1/images/" + percent_encode(wanted.image), wanted))));
    const auto error = api.error_in(response);
    // Whatever else is wrong, the command itself says it.
    if (!error || error->status != 404) return PulledImage{};
  }
  return pull_image(api, wanted);
}

std::optional<int> provide_or_report(const ServerLocationOptions& server, const NamedImage& image,
                                     bool is_quiet) {
  const auto policy = parse_pull_policy(image.pull.empty() ? "missing" : image.pull);
  if (!policy) return usage_error("--pull must be missing, always or never, not " + image.pull);
  if (image.name.empty()) {
    if (image.pull.empty()) return std::nullopt;
    return usage_error("--pull needs --image");
  }
  auto api = ApiClient::connect(server);
  if (!api) return usage_error_or_failure(api.error());
  const ImagePullRequest wanted{.image = image.name, .is_quiet = is_quiet};
  const auto pulled = provide_image(*api, wanted, *policy);
  if (!pulled) return failure(pulled.error());
  if (pulled->refused) return server_refused(pulled->refused->message);
  return std::nullopt;
}

}  // namespace glovebox::client
