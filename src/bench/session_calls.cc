#include "bench/session_calls.h"

#include <fcntl.h>
#include <unistd.h>

#include <barrier>
#include <thread>

#include "base/unique_fd.h"
#include "base/write_all.h"
#include "bench/load.h"

namespace glovebox::bench {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSessionCallTimeout{60'000};
constexpr std::size_t kFilePiece = 1u << 20;
constexpr std::string_view kBase = R"({"template":"base","ttl_s":600})";
constexpr std::string_view kPythonSandbox = R"({"template":"python","ttl_s":600})";
constexpr std::string_view kRoomy = R"({"template":"base","ttl_s":600,"profile":{"disk_mb":2048}})";
// Small, for a thousand idle sandboxes.
constexpr std::string_view kSmall =
    R"({"template":"base","ttl_s":600,"profile":{"memory_mb":64,"disk_mb":64}})";

}  // namespace

http::Client SessionCalls::connect() const {
  http::ClientOptions options;
  options.io_time = kSessionCallTimeout;
  return http::Client(http::parse_url(location_.url).value(), std::move(options));
}

SessionCalls::Answer SessionCalls::send(http::Client& client, http::Method method,
                                        std::string target, std::string body) const {
  http::ClientRequest request{.method = method,
                              .target = std::move(target),
                              .headers = {{"Content-Type", "application/json"}},
                              .body = std::move(body)};
  if (!location_.key.empty()) request.headers.add("X-API-Key", location_.key);
  auto response = client.send(request);
  if (!response) return {0, response.error().message()};
  return {response->status, std::move(response->body)};
}

std::string SessionCalls::create(http::Client& client, std::string_view body) {
  const Answer made = send(client, http::Method::kPost, "/v1/sandboxes", std::string(body));
  if (made.status != 201) {
    last_problem_ = std::to_string(made.status) + ": " + made.body;
    return "";
  }
  return string_in_response(made.body, "id");
}

void SessionCalls::end(http::Client& client, const std::string& id) const {
  if (!id.empty()) (void)send(client, http::Method::kDelete, "/v1/sandboxes/" + id);
}

std::string SessionCalls::try_one() {
  http::Client client = connect();
  const std::string id = create(client, kBase);
  end(client, id);
  return id.empty() ? last_problem_ : "";
}

Round SessionCalls::exec_in_turn(unsigned calls, milliseconds pause) {
  Round round;
  http::Client client = connect();
  const std::string id = create(client, kBase);
  for (unsigned i = 0; i < calls && !interrupted; ++i) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const auto began = Clock::now();
    const Answer answer = send(client, http::Method::kPost, "/v1/sandboxes/" + id + "/exec",
                               R"({"argv":["/bin/true"]})");
    const double took = ms_since(began);
    if (answer.status == 200 && answer.body.find("\"exit_code\":0,") != std::string::npos) {
      round.ms.push_back(took);
    } else {
      ++round.errors;
    }
  }
  end(client, id);
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::create_in_turn(unsigned calls, milliseconds pause,
                                   std::string_view template_name) {
  Round round;
  http::Client client = connect();
  const std::string body = R"({"ttl_s":600,"template":")" + std::string(template_name) + "\"}";
  for (unsigned i = 0; i < calls && !interrupted; ++i) {
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
    const auto began = Clock::now();
    const std::string id = create(client, body);
    const double took = ms_since(began);
    if (id.empty()) {
      ++round.errors;
      continue;
    }
    round.ms.push_back(took);
    end(client, id);
  }
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::create_at_once(unsigned calls) {
  std::vector<Round> parts(calls);
  std::vector<std::string> ids(calls);
  std::barrier start(static_cast<std::ptrdiff_t>(calls));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < calls; ++i) {
    threads.emplace_back([&, i] {
      http::Client client = connect();
      start.arrive_and_wait();
      const auto began = Clock::now();
      const Answer made = send(client, http::Method::kPost, "/v1/sandboxes", std::string(kSmall));
      parts[i].seconds = ms_since(began) / 1000;
      if (made.status == 201) {
        ids[i] = string_in_response(made.body, "id");
        parts[i].ms.push_back(ms_since(began));
      } else {
        ++parts[i].errors;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Round round;
  http::Client client = connect();
  for (unsigned i = 0; i < calls; ++i) {
    round.ms.insert(round.ms.end(), parts[i].ms.begin(), parts[i].ms.end());
    round.errors += parts[i].errors;
    round.seconds = std::max(round.seconds, parts[i].seconds);
    end(client, ids[i]);
  }
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::first_cells(unsigned calls) {
  Round round;
  http::Client client = connect();
  const std::string id = create(client, kPythonSandbox);
  const std::string at = "/v1/sandboxes/" + id;
  for (unsigned i = 0; i < calls && !interrupted; ++i) {
    const auto began = Clock::now();
    const Answer made =
        send(client, http::Method::kPost, at + "/contexts", R"({"language":"python"})");
    const std::string context = string_in_response(made.body, "id");
    const Answer ran = send(client, http::Method::kPost, at + "/code",
                            R"j({"code":"print(1)","context":")j" + context + "\"}");
    const double took = ms_since(began);
    const bool right = ran.status == 200 &&
                       ran.body.find(R"("stdout":"1\n")") != std::string::npos &&
                       ran.body.find("\"warm\":true") != std::string::npos;
    if (right) {
      round.ms.push_back(took);
    } else {
      ++round.errors;
    }
    (void)send(client, http::Method::kDelete, at + "/contexts/" + context);
  }
  end(client, id);
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::next_cells(unsigned calls) {
  Round round;
  http::Client client = connect();
  const std::string id = create(client, kPythonSandbox);
  for (unsigned i = 0; i <= calls && !interrupted; ++i) {
    const auto began = Clock::now();
    const Answer ran = send(client, http::Method::kPost, "/v1/sandboxes/" + id + "/code",
                            R"j({"code":"print(1)","language":"python"})j");
    const double took = ms_since(began);
    if (ran.status != 200 || ran.body.find(R"("stdout":"1\n")") == std::string::npos) {
      ++round.errors;
    } else if (i > 0) {  // the first one created the context
      round.ms.push_back(took);
    }
  }
  end(client, id);
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::write_files(const std::string& host_file, unsigned times) {
  Round round;
  http::Client client = connect();
  const std::string id = create(client, kRoomy);
  for (unsigned i = 0; i < times && !interrupted; ++i) {
    const UniqueFd file(::open(host_file.c_str(), O_RDONLY | O_CLOEXEC));
    const auto size = static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END));
    ::lseek(file.get(), 0, SEEK_SET);
    http::ClientRequest request{.method = http::Method::kPut,
                                .target = "/v1/sandboxes/" + id + "/files?path=/tmp/file",
                                .headers = {},
                                .body = {}};
    if (!location_.key.empty()) request.headers.add("X-API-Key", location_.key);
    const auto next = [&file](char* into, std::size_t most) -> Result<std::size_t> {
      const ssize_t got = ::read(file.get(), into, most);
      if (got < 0) return fail(Error::from_errno("read"));
      return static_cast<std::size_t>(got);
    };
    const auto began = Clock::now();
    const auto answer = client.upload(request, size, next);
    const double took = ms_since(began);
    const std::string stored = "\"size\":" + std::to_string(size);
    if (answer && answer->status == 200 && answer->body.find(stored) != std::string::npos) {
      round.ms.push_back(took);
    } else {
      ++round.errors;
    }
    (void)send(client, http::Method::kDelete, "/v1/sandboxes/" + id + "/files?path=/tmp/file");
  }
  end(client, id);
  round.runs = round.ms.size();
  return round;
}

Round SessionCalls::read_files(const std::string& host_file, unsigned times) {
  Round round;
  http::Client client = connect();
  const std::string id = create(client, kRoomy);
  const UniqueFd file(::open(host_file.c_str(), O_RDONLY | O_CLOEXEC));
  const auto size = static_cast<std::uint64_t>(::lseek(file.get(), 0, SEEK_END));
  (void)send(client, http::Method::kPost, "/v1/sandboxes/" + id + "/exec",
             R"({"argv":["/bin/dd","if=/dev/zero","of=/tmp/file","bs=1M","count=)" +
                 std::to_string(size >> 20) + "\"]}");
  for (unsigned i = 0; i < times && !interrupted; ++i) {
    http::ClientRequest request{.method = http::Method::kGet,
                                .target = "/v1/sandboxes/" + id + "/files?path=/tmp/file",
                                .headers = {},
                                .body = {}};
    if (!location_.key.empty()) request.headers.add("X-API-Key", location_.key);
    std::uint64_t got = 0;
    const auto began = Clock::now();
    const auto answer = client.stream(request, [&got](std::string_view piece) {
      got += piece.size();
      return true;
    });
    const double took = ms_since(began);
    if (answer && answer->status == 200 && got == size) {
      round.ms.push_back(took);
    } else {
      ++round.errors;
    }
  }
  end(client, id);
  round.runs = round.ms.size();
  return round;
}

void SessionCalls::have_alive(http::Client& client, unsigned count) {
  while (alive_.size() < count && !interrupted) {
    std::string id = create(client, kSmall);
    if (id.empty()) return;
    alive_.push_back(std::move(id));
  }
}

Round SessionCalls::create_among(unsigned alive, unsigned calls) {
  http::Client client = connect();
  have_alive(client, alive);
  Round round = create_in_turn(calls, milliseconds(0), "base");
  if (alive_.size() < alive) ++round.errors;
  return round;
}

Round SessionCalls::get_among(unsigned alive, unsigned calls) {
  Round round;
  http::Client client = connect();
  have_alive(client, alive);
  if (alive_.size() < alive) ++round.errors;
  for (unsigned i = 0; i < calls && !alive_.empty() && !interrupted; ++i) {
    const auto began = Clock::now();
    const Answer answer =
        send(client, http::Method::kGet, "/v1/sandboxes/" + alive_[i % alive_.size()]);
    if (answer.status == 200) {
      round.ms.push_back(ms_since(began));
    } else {
      ++round.errors;
    }
  }
  round.runs = round.ms.size();
  return round;
}

void SessionCalls::end_all() {
  if (alive_.empty()) return;
  http::Client client = connect();
  for (const std::string& id : alive_) end(client, id);
  alive_.clear();
}

std::string write_zeros(const std::string& path, std::uint64_t bytes) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return Error::from_errno("make " + path).message();
  const std::string piece(kFilePiece, '\0');
  for (std::uint64_t done = 0; done < bytes; done += piece.size()) {
    if (auto written = write_all(file.get(), piece); !written) return written.error().message();
  }
  return "";
}

}  // namespace glovebox::bench
