// A session for tests of whole sessions: it runs nothing, and the test provides its snapshots.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/sessions/session_service.h"

namespace glovebox::sessions {

// Moves `bytes` out, or takes what comes in.
class FakeIdleTransfer final : public node::FileTransfer {
 public:
  struct Plan {
    std::string out{};  // for kSnapshotOut
    std::string in{};   // what kSnapshotIn was given
    bool committed = false;
    bool stalls = false;           // nothing moves until it is closed
    std::optional<Error> fails{};  // the result of done()
  };
  FakeIdleTransfer(asio::io_context& io, std::shared_ptr<Plan> plan)
      : plan_(std::move(plan)), stalled_(io) {}

  const std::string& entry() const override { return entry_; }
  asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override {
    if (plan_->stalls && !closed_) {
      stalled_.expires_at(std::chrono::steady_clock::time_point::max());
      co_await stalled_.async_wait(kAwaitTuple);
    }
    if (closed_) co_return 0;
    // In small pieces, as a pipe would.
    const std::size_t most = std::min<std::size_t>(size, 10'000);
    const std::size_t got = plan_->out.copy(into, most, at_);
    at_ += got;
    co_return got;
  }
  asio::awaitable<bool> write(std::string_view bytes) override {
    plan_->in += bytes;
    co_return !plan_->fails.has_value();
  }
  void commit() override { plan_->committed = true; }
  Task<wire::FileDone> done() override {
    if (plan_->fails) co_return fail(*plan_->fails);
    wire::FileDone done;
    done.entries = 3;
    co_return done;
  }
  void close() override {
    closed_ = true;
    stalled_.cancel();
  }

 private:
  std::shared_ptr<Plan> plan_;
  asio::steady_timer stalled_;
  std::string entry_;
  std::size_t at_ = 0;
  bool closed_ = false;
};

class FakeIdleSession : public node::Session {
 public:
  explicit FakeIdleSession(asio::io_context& io, std::string template_name = "base")
      : io_(io), template_(std::move(template_name)) {
    walls_.add(Wall::kSeccomp);
    walls_.add(Wall::kFreezer);
  }
  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return template_; }
  bool alive() const override { return is_alive; }
  Task<Started> start(node::ProcessSpec, Attach) override { co_return none(); }
  std::vector<node::ProcessInfo> processes() const override { return {}; }
  std::optional<node::ProcessInfo> find_process(wire::ProcessNumber) const override { return {}; }
  Task<std::unique_ptr<node::Attachment>> attach(wire::ProcessNumber, node::AttachFrom) override {
    co_return none();
  }
  Task<> write_input(wire::ProcessNumber, wire::Stream, std::string) override { co_return none(); }
  Task<> close_input(wire::ProcessNumber, wire::Stream) override { co_return none(); }
  Result<> signal(wire::ProcessNumber, int, bool) override { return none(); }
  Result<> resize(wire::ProcessNumber, TerminalSize) override { return none(); }
  Result<> set_lossy(wire::ProcessNumber, bool) override { return none(); }
  Result<> forget(wire::ProcessNumber) override { return none(); }
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber,
                                   std::chrono::steady_clock::time_point) override {
    co_return none();
  }
  Task<wire::FileDone> file(wire::FileRequest) override { co_return none(); }
  Task<std::unique_ptr<node::FileTransfer>> transfer(wire::FileRequest request) override {
    requests.push_back(std::move(request));
    std::unique_ptr<node::FileTransfer> transfer = std::make_unique<FakeIdleTransfer>(io_, plan);
    co_return transfer;
  }
  Task<UniqueFd> connect_port(std::uint16_t) override { co_return none(); }
  Task<> end_processes() override {
    ++times_emptied;
    if (cannot_end) co_return fail(*cannot_end);
    co_return Result<>();
  }

  bool is_alive = true;
  int times_emptied = 0;  // calls of end_processes()
  std::optional<Error> cannot_end;
  std::vector<wire::FileRequest> requests;
  std::shared_ptr<FakeIdleTransfer::Plan> plan = std::make_shared<FakeIdleTransfer::Plan>();

 private:
  static tl::unexpected<Error> none() { return fail(Errc::kNotFound, "nothing runs here"); }
  asio::io_context& io_;
  SandboxId id_ = SandboxId::make();
  WallSet walls_;
  std::string template_;
};

}  // namespace glovebox::sessions
