// A session for tests: the test controls its processes, and there is no sandbox.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "node/sessions/session_service.h"
#include "wire/guest/cell.h"
#include "wire/guest/job.h"

namespace glovebox::sessions {

class FakeSession;

struct FakeProcess {
  node::ProcessSpec spec;
  node::ProcessInfo info;
  std::deque<node::Attachment::Event> events;  // not read yet
  std::string input;                           // of stdin
  bool input_closed = false;
  bool input_stuck = false;  // the process does not read its stdin
  std::vector<int> signals;
  std::string requests;  // of a context, unparsed
  std::vector<wire::Cell> cells;
  std::optional<wire::Job> job;
  std::function<void(int)> on_signal;

  void print(std::string text, wire::Stream stream = wire::Stream::kStdout);
  // One line on the results.
  void say(std::string line);
  void end_cell(std::uint64_t number, int code = 0);
  void exit(std::uint8_t code, std::uint8_t signal = 0);

  FakeSession* session = nullptr;
};

class FakeSession final : public node::Session {
 public:
  explicit FakeSession(asio::io_context& io) : io_(io), id_(SandboxId::make()) {}

  // Called when a process starts, and when a context receives a cell.
  std::function<Result<>(FakeProcess&)> on_start = [](FakeProcess&) { return Result<>(); };
  std::function<void(FakeProcess&, const wire::Cell&)> on_cell;
  // Answers a file request through a pipe; if it is not set, there are no files.
  std::function<Result<std::unique_ptr<node::FileTransfer>>(const wire::FileRequest&)> on_transfer;
  std::map<wire::ProcessNumber, std::shared_ptr<FakeProcess>> all;
  std::vector<wire::ProcessNumber> forgotten;
  bool is_alive = true;
  bool contexts_get_ready = true;

  FakeProcess& last() { return *all.rbegin()->second; }
  void wake();

  const SandboxId& id() const override { return id_; }
  const WallSet& walls() const override { return walls_; }
  const std::string& template_name() const override { return template_; }
  bool alive() const override { return is_alive; }
  Task<Started> start(node::ProcessSpec spec, Attach attach) override;
  std::vector<node::ProcessInfo> processes() const override;
  std::optional<node::ProcessInfo> find_process(wire::ProcessNumber number) const override;
  Task<std::unique_ptr<node::Attachment>> attach(wire::ProcessNumber number,
                                                 node::AttachFrom from) override;
  Task<> write_input(wire::ProcessNumber number, wire::Stream stream, std::string bytes) override;
  Task<> close_input(wire::ProcessNumber number, wire::Stream stream) override;
  Result<> signal(wire::ProcessNumber number, int signal, bool group) override;
  Result<> resize(wire::ProcessNumber number, TerminalSize size) override;
  Result<> set_lossy(wire::ProcessNumber number, bool lossy) override;
  Result<> forget(wire::ProcessNumber number) override;
  Task<wire::ProcessEnd> wait_exit(wire::ProcessNumber number,
                                   std::chrono::steady_clock::time_point deadline) override;
  Task<wire::FileDone> file(wire::FileRequest request) override;
  Task<std::unique_ptr<node::FileTransfer>> transfer(wire::FileRequest request) override;
  Task<UniqueFd> connect_port(std::uint16_t port) override;
  Task<> end_processes() override;

  // Ends when something has changed, or at the deadline.
  asio::awaitable<void> change(std::chrono::steady_clock::time_point deadline);

 private:
  void take_requests(FakeProcess& process);

  asio::io_context& io_;
  SandboxId id_;
  WallSet walls_;
  std::string template_ = "python";
  wire::ProcessNumber next_ = 1;
  std::vector<asio::steady_timer*> waiting_;
};

}  // namespace glovebox::sessions
