#include "bench/dialect_subjects.h"

#include <functional>
#include <memory>

#include "bench/load.h"
#include "bench/process.h"
#include "http/client/client.h"

namespace glovebox::bench {
namespace {

using http::Method;

constexpr std::chrono::milliseconds kDialectCallTimeout{60'000};
constexpr unsigned kRounds = 5;
constexpr std::string_view kWorkspace = "/workspace/se";

std::string in_envelope(std::string_view message) {
  std::string bytes(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<char>(message.size() >> shift & 0xff));
  }
  bytes += message;
  return bytes;
}

// One call, and what its response must contain.
struct Call {
  Method method = Method::kPost;
  std::string target;
  std::string body;
  http::Headers headers = {{"Content-Type", "application/json"}};
  int status = 200;
  std::string wants{};
};

// One sandbox of each kind, shared by all rows, so that both sides of a pair use the same one.
class DialectCalls {
 public:
  explicit DialectCalls(client::ServerLocation location)
      : location_(std::move(location)), client_(connect()) {}
  ~DialectCalls() {
    if (!id_.empty()) (void)send({Method::kDelete, "/v1/sandboxes/" + id_, ""});
    if (workspace_) (void)send({Method::kDelete, workspace("/session/"), ""});
  }
  DialectCalls(const DialectCalls&) = delete;
  DialectCalls& operator=(const DialectCalls&) = delete;

  // Empty: ready to measure; else the reason why not.
  std::string get_ready() {
    const http::ClientResponse made =
        send({Method::kPost, "/v2/sandboxes", R"({"templateID":"python","timeout":600})"});
    if (made.status != 201) return std::to_string(made.status) + ": " + made.body;
    id_ = string_in_response(made.body, "sandboxID");
    token_ = string_in_response(made.body, "envdAccessToken");
    const http::ClientResponse session = send({Method::kPost, workspace("/session/"), "{}"});
    workspace_ = session.status == 201 || session.status == 200;
    return workspace_ ? "" : std::to_string(session.status) + ": " + session.body;
  }

  Round in_turn(const Call& call, unsigned calls) {
    Round round;
    for (unsigned i = 0; i <= calls && !interrupted; ++i) {
      const auto began = Clock::now();
      const http::ClientResponse answer = send(call);
      const double took = Milliseconds(Clock::now() - began).count();
      const bool right =
          answer.status == call.status && answer.body.find(call.wants) != std::string::npos;
      if (!right) {
        ++round.errors;
      } else if (i > 0) {  // the first one creates what the others use
        round.ms.push_back(took);
      }
      if (call.status == 201) end(answer.body);
    }
    round.runs = round.ms.size();
    return round;
  }

  Call own(std::string path, std::string body, std::string wants) const {
    return {Method::kPost,
            "/v1/sandboxes/" + id_ + path,
            std::move(body),
            {{"Content-Type", "application/json"}},
            200,
            std::move(wants)};
  }
  Call inside(std::string_view port, Method method, std::string target, std::string body,
              std::string type, std::string wants) const {
    Call call{method, std::move(target), std::move(body)};
    call.headers = {{"Content-Type", std::move(type)},
                    {"E2b-Sandbox-Id", id_},
                    {"E2b-Sandbox-Port", std::string(port)},
                    {"X-Access-Token", token_}};
    call.wants = std::move(wants);
    return call;
  }
  static std::string workspace(std::string_view path) {
    return std::string(kWorkspace) + std::string(path) + "glovebox-bench";
  }

 private:
  http::Client connect() const {
    http::ClientOptions options;
    options.io_time = kDialectCallTimeout;
    return http::Client(http::parse_url(location_.url).value(), std::move(options));
  }

  http::ClientResponse send(const Call& call) {
    http::ClientRequest request{
        .method = call.method, .target = call.target, .headers = call.headers, .body = call.body};
    if (!location_.key.empty()) request.headers.add("X-API-Key", location_.key);
    auto response = client_.send(request);
    if (response) return std::move(*response);
    http::ClientResponse failed;
    failed.body = response.error().message();
    return failed;
  }

  void end(const std::string& made) {
    const std::string id = string_in_response(made, "sandboxID");
    (void)send({Method::kDelete,
                "/v1/sandboxes/" + (id.empty() ? string_in_response(made, "id") : id), ""});
  }

  client::ServerLocation location_;
  http::Client client_;
  std::string id_;
  std::string token_;
  bool workspace_ = false;
};

}  // namespace

std::vector<Subject> make_dialect_subjects(const client::ServerLocation& location,
                                           const Effort& effort) {
  std::vector<Subject> all;
  const auto calls = std::make_shared<DialectCalls>(location);
  const std::string why_none = calls->get_ready();
  const Bar bar{
      .kind = Bar::Kind::kAddedAtMost, .value = 0.15, .tail = 0, .text = "p50 + 15% or 0.3 ms"};
  const auto add = [&](std::string name, std::string baseline, Call call, unsigned count) {
    Subject one;
    one.row.name = std::move(name);
    if (!baseline.empty()) one.row.bar = bar;
    one.row.baseline = std::move(baseline);
    one.row.skipped = why_none;
    one.row.least_rounds = kRounds;
    one.measure = [calls, call = std::move(call), count] { return calls->in_turn(call, count); };
    all.push_back(std::move(one));
  };
  const auto created = [](std::string target, std::string body) {
    Call call{Method::kPost, std::move(target), std::move(body)};
    call.status = 201;
    return call;
  };

  add("v1-create", "", created("/v1/sandboxes", R"({"template":"base","ttl_s":300})"),
      effort.sessions);
  add("e2b-create", "v1-create", created("/v2/sandboxes", R"({"templateID":"base"})"),
      effort.sessions);
  add("v1-exec", "", calls->own("/exec", R"({"argv":["/bin/true"]})", "\"exit_code\":0,"),
      effort.paced);
  add("e2b-start", "v1-exec",
      calls->inside("49983", Method::kPost, "/process.Process/Start",
                    in_envelope(R"({"process":{"cmd":"/bin/true","args":[]},"stdin":false})"),
                    "application/connect+json", "\"end\""),
      effort.paced);
  Call read = calls->own("/files?path=/etc/hostname", "", "");
  read.method = Method::kGet;
  add("v1-file-read", "", std::move(read), effort.paced);
  add("e2b-file-read", "v1-file-read",
      calls->inside("49983", Method::kGet, "/files?path=/etc/hostname", "", "text/plain", ""),
      effort.paced);
  Call list = calls->own("/files/list?path=/etc", "", "hostname");
  list.method = Method::kGet;
  add("v1-list", "", std::move(list), effort.paced);
  add("e2b-list", "v1-list",
      calls->inside("49983", Method::kPost, "/filesystem.Filesystem/ListDir", R"({"path":"/etc"})",
                    "application/json", "hostname"),
      effort.paced);
  add("v1-code", "",
      calls->own("/code", R"j({"code":"print(1)","language":"python"})j", R"("stdout":"1\n")"),
      effort.paced);
  add("e2b-execute", "v1-code",
      calls->inside("49999", Method::kPost, "/execute", R"j({"code":"print(1)"})j",
                    "application/json", "end_of_execution"),
      effort.paced);
  add("workspace-code", "v1-code",
      Call{Method::kPost,
           DialectCalls::workspace("/execute_code/"),
           R"j({"code":"print(1)"})j",
           {{"Content-Type", "application/json"}},
           200,
           R"("stdout":"1\n")"},
      effort.paced);
  add("v1-shell", "", calls->own("/exec", R"({"cmd":"exec /bin/true"})", "\"exit_code\":0,"),
      effort.paced);
  add("workspace-shell", "v1-shell",
      Call{Method::kPost,
           DialectCalls::workspace("/execute/"),
           R"({"command":"exec /bin/true"})",
           {{"Content-Type", "application/json"}},
           200,
           "\"exit_code\":0"},
      effort.paced);
  return all;
}

}  // namespace glovebox::bench
