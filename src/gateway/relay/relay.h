// One relayed connection: bytes both ways between a guest's socket and a server's, as one TCP
// connection would carry them. An end of one direction is passed on as such an end, a reset as a
// reset; a side that does not read stops the other from sending. Spliced through a pipe that is
// borrowed while there is something in it. Moves bytes only in turn(); who calls that, and when, is
// relays.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/unique_fd.h"
#include "gateway/relay/pipe_pool.h"

namespace glovebox::gateway {

using RelayId = std::uint64_t;

// The sandbox whose relay it is. Outlives its relays.
class RelayOwner {
 public:
  virtual ~RelayOwner() = default;
  // How much more may leave the sandbox. At 0 the relay that has more is cut.
  virtual std::uint64_t bytes_left() const = 0;
  virtual void on_moved(RelayId id, std::uint64_t out, std::uint64_t in) = 0;
  // The relay is gone. Not called for one that the owner itself has cut.
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
  enum class Turn : std::uint8_t {
    kWaits,  // for an event
    kMore,   // has had its turn, and there is more to do
    kEnded,
    kOverBudget,  // ended, too
  };
  // Each way. Fewer wake-ups of everybody if it is much; when others wait it is less.
  static constexpr std::size_t kMostBytes = 1024 * 1024;
  static constexpr std::size_t kFairBytes = 256 * 1024;
  // In the pipe at once: as much as is kept for a side that does not read.
  static constexpr std::size_t kChunkBytes = 512 * 1024;
  // Of one sandbox: so many of its relays may be stuck with something in a pipe.
  static constexpr std::size_t kMaxPipesOfOwner = 16;

  // Both connected and non-blocking.
  Relay(RelayId id, UniqueFd guest, UniqueFd server, RelayOwner& owner, PipePool& pipes);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  RelayId id() const { return id_; }
  RelayOwner& owner() { return owner_; }
  int fd(Side side) const { return side == Side::kGuest ? guest_.get() : server_.get(); }

  // What epoll says of one side's socket; edge-triggered.
  void note(Side side, std::uint32_t events);
  Turn turn(std::size_t most_bytes = kMostBytes);
  std::size_t moved() const { return moved_; }  // in the last turn
  // Both sides see a reset when this is destroyed, not an end.
  void reset();
  // The guest's process has ended, as it may right after it has sent something: that is passed on
  // as far as the server takes it at once. Then the guest is reset, and the server sees an end.
  void flush();
  // Before it is destroyed without a reset: what the kernel keeps for a side that does not take it
  // is given up soon, for nobody counts it any more.
  void let_go();

  bool is_queued = false;  // kept by relays.cc

 private:
  // One direction.
  struct Half {
    int from = -1;
    int to = -1;
    bool is_out = false;  // from the guest
    bool readable = false;
    bool writable = true;
    bool ended = false;  // nothing more comes
    bool done = false;   // and that was passed on
    Pipe pipe;
    std::size_t held = 0;  // bytes in it
    std::size_t left = 0;  // of this turn
  };
  enum class Moved : std::uint8_t { kBlocked, kTurnOver, kBroken, kOverBudget };
  Moved pump(Half& half);
  Moved drain(Half& half);
  Moved fill(Half& half, std::size_t most);
  Moved copy(Half& half, std::size_t most);
  bool take_pipe(Half& half);
  void give_back(Half& half);
  void count(Half& half, std::size_t bytes);
  Turn end_over_budget();

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

// From now on close() resets instead of ending (or, `at_close` false, ends again).
void reset_at_close(int socket, bool at_close = true);

}  // namespace glovebox::gateway
