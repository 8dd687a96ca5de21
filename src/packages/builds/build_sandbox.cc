#include "packages/builds/build_sandbox.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>
#include <variant>

#include "base/log.h"
#include "model/environment.h"

namespace glovebox::packages {
namespace {

using node::Attachment;
using Clock = std::chrono::steady_clock;

constexpr const char* kPython = "/usr/bin/python3";
constexpr const char* kScripts = "/opt/glovebox/packages/";
constexpr std::size_t kReadChunk = 64 * 1024;

// Limits the output read per second, so that a script that prints endlessly does not occupy the
// server's only thread.
class Pace {
 public:
  static constexpr std::size_t kMost = 2u << 20;

  // When to read again; nullopt: at once.
  std::optional<Clock::time_point> after(std::size_t bytes) {
    const Clock::time_point now = Clock::now();
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      taken_ = 0;
    }
    taken_ += bytes;
    if (taken_ < kMost) return std::nullopt;
    return since_ + std::chrono::seconds(1);
  }

 private:
  Clock::time_point since_ = Clock::now();
  std::size_t taken_ = 0;
};

asio::awaitable<void> destroy(node::SessionService& service, SandboxId id) {
  const std::string name = id.str();
  const Result<> destroyed = co_await service.destroy_session(std::move(id));
  const Errc code = destroyed ? Errc::kNotFound : destroyed.error().code();
  // kUnavailable: the server is stopping or the launcher is gone, and the sandbox with it.
  if (code != Errc::kNotFound && code != Errc::kUnavailable) {
    log::warn("cannot destroy a build sandbox",
              {{"sandbox", name}, {"error", destroyed.error().message()}});
  }
}

}  // namespace

Task<std::shared_ptr<BuildSandbox>> BuildSandbox::make(Host host, node::SessionSpec spec,
                                                       BuildDeadline& watch) {
  CO_TRY_OK(watch.verdict());
  spec.is_build = true;  // hidden from all lists
  const auto flag = std::make_shared<node::CancelFlag>();
  const BuildDeadline::Cut cut(watch, [flag] { flag->cancel(); });
  Result<std::shared_ptr<node::Session>> made =
      co_await host.service.create_session(std::move(spec), flag);
  if (!made) co_return fail(watch.reason(std::move(made.error())));
  auto sandbox = std::make_shared<BuildSandbox>(std::move(host), std::move(*made));
  CO_TRY_OK(watch.verdict());
  co_return sandbox;
}

Task<> BuildSandbox::write_file(std::string path, std::string content) {
  wire::FileRequest request;
  request.op = wire::FileOp::kWrite;
  request.path = std::move(path);
  request.mode = 0600;
  CO_TRY(const std::unique_ptr<node::FileTransfer> transfer,
         co_await session_->transfer(std::move(request)));
  const bool taken = co_await transfer->write(content);
  if (taken) transfer->commit();
  CO_TRY_OK(co_await transfer->done());
  if (!taken) co_return fail(Errc::kUnavailable, "cannot write a file into the build sandbox");
  co_return Result<>();
}

Task<std::string> BuildSandbox::read_file(std::string path, std::uint64_t most) {
  wire::FileRequest request;
  request.op = wire::FileOp::kRead;
  request.path = std::move(path);
  request.most = most + 1;
  CO_TRY(const std::unique_ptr<node::FileTransfer> transfer,
         co_await session_->transfer(std::move(request)));
  std::string content;
  std::string buffer(kReadChunk, '\0');
  while (const std::size_t got = co_await transfer->read_some(buffer.data(), buffer.size())) {
    content.append(buffer, 0, got);
    if (content.size() > most) {
      co_return fail(Error(Errc::kResourceExhausted, "the file is too large", EFBIG));
    }
  }
  CO_TRY_OK(co_await transfer->done());
  co_return content;
}

Task<wire::ProcessEnd> BuildSandbox::run_script(std::string name, BuildOutput& lines) {
  node::ProcessSpec spec;
  // -I: ignore modules in the sandbox's own directories. -u: unbuffered output.
  spec.exec.argv = {kPython, "-I", "-u", kScripts + name};
  spec.exec.env = base_environment();
  CO_TRY(node::Session::Started started,
         co_await session_->start(std::move(spec), node::Session::Attach::kYes));
  Pace pace;
  asio::steady_timer timer(host_.io);
  while (true) {
    const Attachment::Event event = co_await started.attachment->next();
    if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      lines.finish();
      co_return exited->end;
    }
    if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
      co_return fail(Errc::kUnavailable, "the build sandbox ended: " + gone->why);
    }
    const auto* chunk = std::get_if<Attachment::Chunk>(&event);
    if (chunk == nullptr) continue;
    lines.add(
        chunk->stream == wire::Stream::kStderr ? BuildOutput::From::kErr : BuildOutput::From::kOut,
        chunk->bytes);
    const std::optional<Clock::time_point> pause = pace.after(chunk->bytes.size());
    if (!pause) continue;
    timer.expires_at(*pause);
    (void)co_await timer.async_wait(kAwaitTuple);
  }
}

Task<> BuildSandbox::end() {
  if (is_ended_) co_return Result<>();
  is_ended_ = true;
  Result<> destroyed = co_await host_.service.destroy_session(session_->id());
  const bool is_gone = destroyed || destroyed.error().code() == Errc::kNotFound;
  co_return is_gone ? Result<>() : std::move(destroyed);
}

void BuildSandbox::abandon() {
  if (std::exchange(is_ended_, true) || host_.life.expired()) return;
  asio::co_spawn(host_.io, destroy(host_.service, session_->id()), asio::detached);
}

}  // namespace glovebox::packages
