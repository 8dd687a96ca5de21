// A sandbox that exists, as the server sees it: its socket, and what the launcher reports about it.
// Owned by its run, pool or session; destroying this object ends the sandbox, unless outlive() was
// called. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>

#include "base/id.h"
#include "base/unique_fd.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "node/async/watched_fd.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/sandboxes/reuse_slot.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

class LauncherLink;

class Sandbox {
 public:
  struct Ended {
    EndReason reason = EndReason::kExited;
    Usage usage;
    std::optional<Error> refusal;  // why the launcher could not hand it over, and ended it
  };
  // How it was created.
  struct Make {
    bool warm = false;
    bool waits = false;
    Clock::time_point made_at;
  };

  Sandbox(boost::asio::io_context& io, LauncherLink& launcher, const wire::SandboxCreated& created,
          UniqueFd socket, Charge charge, Make make, std::unique_ptr<ReuseSlot> reuse = nullptr);
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;
  ~Sandbox();

  const SandboxId& id() const { return id_; }
  const WallSet& walls() const { return walls_; }
  std::uint32_t generation() const { return generation_; }
  const Make& make() const { return make_; }
  bool has_network() const { return has_network_; }  // prepared, or up
  WatchedFd& socket() { return socket_; }
  Charge& charge() { return charge_; }
  const Charge& charge() const { return charge_; }

  // Asserts that it is given to a run only once.
  void give();
  // Before take(): whose it is and its part of the CPUs beside other runs; see cpu_weight_of().
  void set_share(std::uint16_t cpu_weight, std::uint64_t tenant) {
    cpu_weight_ = cpu_weight;
    tenant_ = tenant;
  }
  // Asks the launcher to start an idle one; `network`: whether to bring its network up.
  enum class Network : bool { kNone, kUp };
  void take(const Limits& limits, Network network);
  void begin_destroy();
  // Of a reusable one, whose call is over: it ends for its run, and serves the next call under the
  // same id. Its charge and its slot go with it.
  struct HandedOn {
    Charge charge;
    std::unique_ptr<ReuseSlot> reuse;
  };
  // Null: it is not reusable, or was handed on.
  ReuseSlot* reuse() const { return reuse_.get(); }
  bool can_be_recycled() const { return reuse_ && !ended_ && !lost_ && !destroying_; }
  // `end`: the agent's, of the next call's socket. `done` is called later, never from in here.
  HandedOn recycle(bool hurry, UniqueFd end,
                   std::function<void(Result<wire::SandboxCreated>)> done);
  // As recycle(), but the runtime stays, and so does the socket, which release_socket() gives.
  HandedOn keep(std::function<void(Result<wire::SandboxCreated>)> done);
  // From now on it ends only by begin_destroy(): a session outlives the server.
  void outlive() { outlives_ = true; }
  UniqueFd release_socket() { return socket_.release(); }

  // How it ended; nothing while it lives.
  const std::optional<Ended>& ended() const { return ended_; }
  bool lost() const { return lost_; }  // the launcher was lost, and the sandbox with it
  // Called when one of these two changes. Must not destroy this object.
  void on_end(std::function<void()> call) { on_end_ = std::move(call); }

 private:
  friend class LauncherLink;
  void end(Ended ended);
  void lose();

  LauncherLink& launcher_;
  SandboxId id_;
  WallSet walls_;
  std::uint32_t generation_;
  bool has_network_;
  Charge charge_;
  WatchedFd socket_;
  Make make_;
  std::unique_ptr<ReuseSlot> reuse_;
  std::uint16_t cpu_weight_ = wire::kFullCpuWeight;
  std::uint64_t tenant_ = 0;
  bool given_ = false;
  bool destroying_ = false;
  bool outlives_ = false;
  bool lost_ = false;
  std::optional<Ended> ended_;
  std::function<void()> on_end_;
};

}  // namespace glovebox::node
