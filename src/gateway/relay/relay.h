// One relayed connection: copies bytes both ways between a guest's socket and a server's, like one
// TCP connection. A half-close is passed on as a half-close, a reset as a reset; a side that does
// not read stops the other from sending. Uses splice(2) with a pipe that it holds only while data
// is in it. Moves bytes only in transfer(), which Relays calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/unique_fd.h"
#include "gateway/relay/pipe_pool.h"

namespace glovebox::gateway {

using RelayId = std::uint64_t;

// The sandbox that a relay belongs to. Outlives its relays.
class RelayOwner {
 public:
  virtual ~RelayOwner() = default;
  // How many bytes may still leave the sandbox. At 0, a relay with more is reset.
  virtual std::uint64_t bytes_left() const = 0;
  virtual void on_moved(RelayId id, std::uint64_t out, std::uint64_t in) = 0;
  // The relay has ended. Not called for one that the owner itself has cut.
  virtual void on_relay_end(RelayId id, bool by_budget) = 0;

  std::size_t pipes_held = 0;  // by all its relays, kept by them

  // Its relays that are ready, kept by relays.cc: each sandbox has its turn, however many relays it
  // has.
  struct Lane {
    std::deque<RelayId> ready;
    bool is_queued = false;
  };
  const std::shared_ptr<Lane> lane = std::make_shared<Lane>();
};

class Relay {
 public:
  enum class Side : std::uint8_t { kGuest = 0, kServer = 1 };
  enum class Progress : std::uint8_t {
    kWaits,  // for an event
    kMore,   // has used its quota, and there is more to do
    kEnded,
    kOverBudget,  // ended as well
  };
  // The quota of one transfer(), in each direction: large for few wake-ups, less while others wait.
  static constexpr std::size_t kMaxBytes = 1024 * 1024;
  static constexpr std::size_t kFairBytes = 256 * 1024;
  // In the pipe at once: what is buffered for a side that does not read.
  static constexpr std::size_t kChunkBytes = 512 * 1024;
  // Per sandbox: how many of its relays may be stuck with data in a pipe.
  static constexpr std::size_t kMaxPipesOfOwner = 16;

  // Both connected and non-blocking.
  Relay(RelayId id, UniqueFd guest, UniqueFd server, RelayOwner& owner, PipePool& pipes);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  RelayId id() const { return id_; }
  RelayOwner& owner() { return owner_; }
  int fd(Side side) const { return side == Side::kGuest ? guest_.get() : server_.get(); }

  // Events of one side's socket from epoll, edge-triggered.
  void note(Side side, std::uint32_t events);
  Progress transfer(std::size_t max_bytes = kMaxBytes);
  std::size_t moved() const { return moved_; }  // by the last transfer()
  // Both sides see a reset when this is destroyed, not an end of the stream.
  void reset();
  // The guest's process has exited, perhaps right after it sent something: that is passed on as far
  // as the server takes it at once. Then the guest is reset, and the server sees the end of stream.
  void flush();
  // Before it is destroyed without a reset: the kernel soon gives up on data that a side does not
  // take, because it is not counted any more.
  void bound_unsent_data();

  bool is_queued = false;  // maintained by Relays

 private:
  // One direction.
  struct Half {
    int from = -1;
    int to = -1;
    bool is_out = false;  // from the guest
    bool readable = false;
    bool writable = true;
    bool ended = false;  // end of stream was read
    bool done = false;   // and passed on
    Pipe pipe;
    std::size_t held = 0;  // bytes in it
    std::size_t left = 0;  // of the quota
  };
  enum class Moved : std::uint8_t { kBlocked, kQuotaUsed, kBroken, kOverBudget };
  Moved pump(Half& half);
  Moved drain(Half& half);
  Moved fill(Half& half, std::size_t most);
  Moved copy(Half& half, std::size_t most);
  bool take_pipe(Half& half);
  void give_back(Half& half);
  void count(Half& half, std::size_t bytes);
  Progress end_over_budget();

  RelayId id_;
  UniqueFd guest_;
  UniqueFd server_;
  RelayOwner& owner_;
  PipePool& pipes_;
  Half out_;
  Half in_;
  bool is_broken_ = false;  // one side was reset
  std::size_t moved_ = 0;
};

// Makes close() reset the connection (with `at_close` false: end it normally again).
void reset_at_close(int socket, bool at_close = true);

}  // namespace glovebox::gateway
