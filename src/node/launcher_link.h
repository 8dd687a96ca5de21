// The server's one socket to the launcher: requests under way side by side, matched by their
// number; answers handed to whoever asked. Never blocks. When the launcher goes, everybody is told,
// and another one can be attached.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/sandbox.h"
#include "wire/launcher_messages.h"

namespace glovebox::node {

class LauncherLink {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void on_template(const TemplateStatus& status) = 0;
    virtual void on_launcher_gone() = 0;  // after every sandbox was told
  };
  using Created = std::function<void(Result<wire::SandboxCreated>)>;
  // What waits to be sent when the launcher does not read; beyond this it is as good as gone.
  static constexpr std::size_t kMaxQueued = 4096;

  LauncherLink(boost::asio::io_context& io, Listener& listener) : io_(io), listener_(listener) {}
  ~LauncherLink();
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;

  void attach(UniqueFd socket);
  // Closes the socket; whoever waits is told that the launcher is gone.
  void detach(const std::string& why);
  bool up() const { return link_ != nullptr; }

  // `request.seq` is chosen here. `done` is called later, never from in here.
  void create(wire::CreateSandbox request, UniqueFd agent_end, Created done);
  void take(const SandboxId& id, const Limits& limits);
  void destroy(const SandboxId& id);
  void prepare(const std::string& template_name);

  std::uint64_t losses() const { return losses_; }

 private:
  friend class Sandbox;
  void add(Sandbox& sandbox);
  void remove(Sandbox& sandbox);

  struct Outgoing {
    std::vector<std::byte> bytes;
    UniqueFd fd;
  };
  // One attached socket. Handlers hold it, and see in it whether it is still ours.
  struct Link {
    Link(boost::asio::io_context& io, UniqueFd fd) : descriptor(io, fd.release()) {}
    boost::asio::posix::stream_descriptor descriptor;
    std::deque<Outgoing> queue;
    bool write_armed = false;
    bool closed = false;
  };

  void send(const wire::LauncherRequest& request, UniqueFd fd);
  void flush();
  void wait_readable();
  void wait_writable();
  void read_replies();
  Result<bool> read_one();  // false: nothing there
  Result<> handle(wire::SandboxCreated& created);
  Result<> handle(wire::SandboxRefused& refused);
  Result<> handle(wire::SandboxEnded& ended);
  Result<> handle(wire::TemplateChanged& changed);

  boost::asio::io_context& io_;
  Listener& listener_;
  std::shared_ptr<Link> link_;
  std::uint32_t next_seq_ = 1;
  std::unordered_map<std::uint32_t, Created> waiting_;
  std::unordered_map<std::string, Sandbox*> sandboxes_;
  std::optional<Error> refusal_;  // of a take: the sandbox's end follows
  std::uint64_t losses_ = 0;
};

}  // namespace glovebox::node
