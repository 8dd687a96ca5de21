// The agent's state of one process of a session: its output, its input, and what has to be sent to
// the server. Never blocks, and its memory is bounded: when a buffer is full, the process's pipe
// fills up and the process waits.
#pragma once

#include <sys/resource.h>

#include <deque>
#include <optional>

#include "guest/agent/session/output_buffer.h"
#include "guest/agent/session/session_start.h"
#include "guest/agent/watched_fd.h"
#include "wire/guest/session_frames.h"

namespace glovebox::agent {

// Which descriptor of a process an epoll event is about.
enum class StreamFd : std::uint8_t { kStdin, kStdout, kStderr, kResults, kRequests, kFailure };

// What wait4() says of a process that has ended.
wire::ProcessEnd end_of(int status, const rusage& usage);

class SessionProcess {
 public:
  // The epoll keys of its descriptors are `key` plus a StreamFd.
  SessionProcess(const wire::StartProcess& start, int epoll, std::uint64_t key);

  // Its streams, once they are made; and the process.
  void take_streams(StreamEnds ours);
  void take_process(pid_t pid, UniqueFd failure, bool warm);

  void on_event(StreamFd which);
  void write_input(const wire::Input& input);
  void close_input(wire::Stream stream);
  void subscribe(const wire::Subscribe& subscribe);
  void unsubscribe(wire::Stream stream);
  void unsubscribe_all();
  void acknowledge(const wire::Acknowledge& acknowledge);
  void set_lossy(bool lossy);
  void signal(int signal, bool group);
  void resize(TerminalSize size);
  // It has ended; what it printed may still be in its pipes.
  void ended(const wire::ProcessEnd& end);
  // The server was replaced: a new one learns of the exit from describe().
  void discard_unsent_exit();
  void drop_output();

  // The next frame for the server, if there is one now.
  std::optional<wire::SessionFrame> next_frame();
  wire::ProcessStatus describe() const;

  wire::ProcessNumber number() const { return number_; }
  std::uint64_t key() const { return key_; }
  pid_t pid() const { return pid_; }
  bool warm() const { return warm_; }
  bool has_ended() const { return end_.has_value(); }
  bool is_subscribed() const;
  std::size_t output_memory() const;

  // Between fork and exec; see Forked.
  WatchedFd failure;
  bool queued =
      false;  // maintained by ProcessTable: it is in the list of those with frames to send

 private:
  struct Outgoing {
    OutputBuffer kept{wire::kKeptOutput};
    WatchedFd fd;
    bool subscribed = false;
    std::uint32_t subscription = 0;
    std::uint64_t sent = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t left_at_end = 0;  // of what was in the pipe when the process ended
    std::uint64_t end_at_end = 0;
  };
  struct Incoming {
    WatchedFd fd;
    std::string waiting;  // received, not written yet
    std::uint64_t taken = 0;
    bool close_requested = false;
    bool end_typed = false;  // of a terminal
    bool closed = true;
    bool unsent = false;
  };
  // Results that were read when so much had been printed.
  struct Mark {
    std::uint64_t results_end;
    std::uint64_t out;
    std::uint64_t err;
  };
  enum class Reading { kSome, kNothing, kFull, kClosed };

  Outgoing* outgoing(wire::Stream stream);
  Incoming* incoming(wire::Stream stream);
  std::size_t room(const Outgoing& stream) const;
  bool stuck(const Outgoing& stream) const { return stream.fd && room(stream) == 0; }
  Reading read_some(Outgoing& stream, std::size_t most);
  bool drain(Outgoing& stream);
  Reading read_results();
  void add_mark();
  void read_remaining_output();
  bool all_was_read() const;
  bool all_was_sent() const;
  void write_some(Incoming& stream);
  void stop_input(Incoming& stream);
  void update_interest();
  bool has_output(const Outgoing& stream) const;
  wire::Output next_output(Outgoing& stream, wire::Stream name);
  wire::ProcessExited exited() const;

  wire::ProcessNumber number_;
  wire::ProcessKind kind_;
  std::string label_;
  bool terminal_;
  bool lossy_;
  int epoll_;
  std::uint64_t key_;
  pid_t pid_ = 0;
  bool warm_ = false;
  std::uint64_t started_ms_ = 0;
  Outgoing out_, err_, results_;
  Incoming in_, requests_;
  std::deque<Mark> marks_;
  std::optional<wire::ProcessEnd> end_;
  bool exit_unsent_ = false;
  bool exit_sent_ = false;
  unsigned next_stream_ = 0;  // the stream whose output is sent next
};

}  // namespace glovebox::agent
