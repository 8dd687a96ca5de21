#include "guest/agent/session/session_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "base/wall_clock.h"
#include "guest/agent/run/program.h"

namespace glovebox::agent {
namespace {

constexpr std::size_t kMaxMarks = 1024;
// More than the kernel buffers of a terminal's unread output.
constexpr std::uint64_t kTerminalHolds = 128 * 1024;
constexpr char kEndOfInput = 4;  // what Ctrl-D types

std::size_t bytes_in(int pipe) {
  int count = 0;
  return ::ioctl(pipe, FIONREAD, &count) == 0 && count > 0 ? static_cast<std::size_t>(count) : 0;
}

wire::StreamState state_of(const OutputBuffer& kept) { return {kept.begin(), kept.end()}; }

}  // namespace

wire::ProcessEnd end_of(int status, const rusage& usage) {
  wire::ProcessEnd end;
  if (WIFSIGNALED(status)) {
    end.signal = static_cast<std::uint8_t>(WTERMSIG(status));
  } else {
    end.code = static_cast<std::uint8_t>(WEXITSTATUS(status));
  }
  const auto microseconds = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  end.cpu_us = microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  end.max_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return end;
}

SessionProcess::SessionProcess(const wire::StartProcess& start, int epoll, std::uint64_t key)
    : number_(start.process),
      kind_(start.kind),
      label_(start.label),
      terminal_(start.exec.terminal.has_value()),
      lossy_(start.lossy),
      epoll_(epoll),
      key_(key),
      started_ms_(static_cast<std::uint64_t>(wall_clock_ms())) {
  for (Outgoing* stream : {&out_, &err_, &results_}) stream->subscribed = start.subscribed;
  // Input is queued until its pipes exist.
  in_.closed = !start.has_stdin && !terminal_;
  requests_.closed = kind_ == wire::ProcessKind::kProgram;
}

void SessionProcess::take_streams(StreamEnds ours) {
  const auto watched = [&](StreamFd part, UniqueFd fd) {
    return WatchedFd(epoll_, key_ + static_cast<std::uint64_t>(part), std::move(fd));
  };
  in_.fd = watched(StreamFd::kStdin, std::move(ours.in));
  out_.fd = watched(StreamFd::kStdout, std::move(ours.out));
  err_.fd = watched(StreamFd::kStderr, std::move(ours.err));
  results_.fd = watched(StreamFd::kResults, std::move(ours.results));
  requests_.fd = watched(StreamFd::kRequests, std::move(ours.requests));
  write_some(in_);
  write_some(requests_);
  update_interest();
}

void SessionProcess::take_process(pid_t pid, UniqueFd failure_pipe, bool warm) {
  pid_ = pid;
  warm_ = warm;
  failure = WatchedFd(epoll_, key_ + static_cast<std::uint64_t>(StreamFd::kFailure),
                      std::move(failure_pipe));
  failure.want(EPOLLIN);
}

SessionProcess::Outgoing* SessionProcess::outgoing(wire::Stream stream) {
  switch (stream) {
    case wire::Stream::kStdout:
      return &out_;
    case wire::Stream::kStderr:
      return &err_;
    case wire::Stream::kResults:
      return &results_;
    default:
      return nullptr;
  }
}

SessionProcess::Incoming* SessionProcess::incoming(wire::Stream stream) {
  if (stream == wire::Stream::kStdin) return &in_;
  return stream == wire::Stream::kRequests ? &requests_ : nullptr;
}

void SessionProcess::on_event(StreamFd part) {
  switch (part) {
    case StreamFd::kStdin:
      write_some(in_);
      break;
    case StreamFd::kRequests:
      write_some(requests_);
      break;
    case StreamFd::kStdout:
      read_some(out_, wire::kMaxSessionChunk);
      break;
    case StreamFd::kStderr:
      read_some(err_, wire::kMaxSessionChunk);
      break;
    case StreamFd::kResults:
      read_results();
      break;
    case StreamFd::kFailure:
      break;
  }
  if (end_) read_remaining_output();
  update_interest();
}

// ---- output ------------------------------------------------------------------------

// A subscriber loses nothing that it has not acknowledged; nor does a later subscriber, unless the
// process is lossy.
std::size_t SessionProcess::room(const Outgoing& stream) const {
  if (lossy_ && !stream.subscribed) return wire::kKeptOutput;
  return stream.kept.room(stream.acknowledged);
}

SessionProcess::Reading SessionProcess::read_some(Outgoing& stream, std::size_t most) {
  if (!stream.fd) return Reading::kClosed;
  static char buffer[wire::kMaxSessionChunk];
  most = std::min({most, sizeof buffer, room(stream)});
  if (most == 0) return Reading::kFull;
  const ssize_t got = ::read(stream.fd.get(), buffer, most);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Reading::kNothing;
  if (got <= 0) {  // a terminal that no process has open returns EIO
    stream.fd.close();
    if (terminal_) stop_input(in_);
    return Reading::kClosed;
  }
  stream.kept.add({buffer, static_cast<std::size_t>(got)});
  stream.left_at_end -= std::min(stream.left_at_end, static_cast<std::uint64_t>(got));
  return Reading::kSome;
}

// Reads all that is in the pipe now. False: there is no room for it.
bool SessionProcess::drain(Outgoing& stream) {
  if (!stream.fd) return true;
  const std::uint64_t wanted = stream.kept.end() + bytes_in(stream.fd.get());
  while (stream.kept.end() < wanted) {
    const Reading reading = read_some(stream, static_cast<std::size_t>(wanted - stream.kept.end()));
    if (reading == Reading::kFull) return false;
    if (reading != Reading::kSome) break;
  }
  return true;
}

// Output that was printed before a result must be read before the result: so first the number of
// result bytes is taken, then all output is read, then exactly those result bytes.
SessionProcess::Reading SessionProcess::read_results() {
  if (!results_.fd) return Reading::kClosed;
  const std::size_t there = bytes_in(results_.fd.get());
  if (!drain(out_) || !drain(err_)) return Reading::kFull;
  const Reading reading = read_some(results_, std::max<std::size_t>(there, 1));
  if (reading == Reading::kSome) add_mark();
  return reading;
}

void SessionProcess::add_mark() {
  const Mark mark{results_.kept.end(), out_.kept.end(), err_.kept.end()};
  while (!marks_.empty() && marks_.front().results_end <= results_.kept.begin()) {
    marks_.pop_front();
  }
  const bool same =
      !marks_.empty() && marks_.back().out == mark.out && marks_.back().err == mark.err;
  if (same || marks_.size() >= kMaxMarks) {
    marks_.back() = mark;
  } else {
    marks_.push_back(mark);
  }
}

void SessionProcess::ended(const wire::ProcessEnd& end) {
  end_ = end;
  exit_sent_ = false;
  // Results first: see read_results().
  for (Outgoing* stream : {&results_, &out_, &err_}) {
    if (stream->fd) stream->left_at_end = terminal_ ? kTerminalHolds : bytes_in(stream->fd.get());
  }
  read_remaining_output();
  update_interest();
}

// Until what it left in its pipes is read, or there is no room for more now. Output that its
// children write later is not waited for.
void SessionProcess::read_remaining_output() {
  if (exit_unsent_ || exit_sent_) return;
  for (Outgoing* stream : {&results_, &out_, &err_}) {
    while (stream->fd && stream->left_at_end > 0) {
      const Reading reading =
          stream == &results_ ? read_results()
                              : read_some(*stream, static_cast<std::size_t>(stream->left_at_end));
      // Another process has read it: a guest can open its own pipes.
      if (reading == Reading::kNothing) stream->left_at_end = 0;
      if (reading != Reading::kSome) break;
    }
  }
  if (!all_was_read()) return;
  for (Outgoing* stream : {&out_, &err_, &results_}) stream->end_at_end = stream->kept.end();
  exit_unsent_ = true;
  stop_input(in_);
  stop_input(requests_);
}

bool SessionProcess::all_was_read() const {
  for (const Outgoing* stream : {&out_, &err_, &results_}) {
    if (stream->fd && stream->left_at_end > 0) return false;
  }
  return true;
}

void SessionProcess::subscribe(const wire::Subscribe& subscribe) {
  Outgoing* stream = outgoing(subscribe.stream);
  if (stream == nullptr) return;
  stream->subscribed = true;
  stream->subscription = subscribe.subscription;
  stream->sent = std::clamp(subscribe.offset, stream->kept.begin(), stream->kept.end());
  stream->acknowledged = stream->sent;
  update_interest();
}

void SessionProcess::unsubscribe(wire::Stream name) {
  Outgoing* stream = outgoing(name);
  if (stream == nullptr) return;
  stream->subscribed = false;
  update_interest();
}

void SessionProcess::unsubscribe_all() {
  for (Outgoing* stream : {&out_, &err_, &results_}) stream->subscribed = false;
  update_interest();
}

void SessionProcess::acknowledge(const wire::Acknowledge& acknowledge) {
  Outgoing* stream = outgoing(acknowledge.stream);
  if (stream == nullptr) return;
  const std::uint64_t most = stream->subscribed ? stream->sent : stream->kept.end();
  stream->acknowledged = std::max(stream->acknowledged, std::min(acknowledge.offset, most));
  if (end_) read_remaining_output();
  update_interest();
}

void SessionProcess::set_lossy(bool lossy) {
  lossy_ = lossy;
  if (end_) read_remaining_output();
  update_interest();
}

bool SessionProcess::is_subscribed() const {
  return out_.subscribed || err_.subscribed || results_.subscribed;
}

std::size_t SessionProcess::output_memory() const {
  return out_.kept.memory() + err_.kept.memory() + results_.kept.memory();
}

void SessionProcess::drop_output() {
  for (Outgoing* stream : {&out_, &err_, &results_}) stream->kept.drop_all();
  marks_.clear();
}

// ---- input ----------------------------------------------------------------------

void SessionProcess::write_input(const wire::Input& input) {
  Incoming* stream = incoming(input.stream);
  if (stream == nullptr) return;
  if (stream->closed || stream->close_requested) {
    stream->unsent = true;  // that it is
    return;
  }
  const std::uint64_t received = stream->taken + stream->waiting.size();
  if (input.offset > received) return;  // some of it is missing
  const std::uint64_t known = received - input.offset;
  if (known >= input.bytes.size()) return;
  const std::string_view fresh = std::string_view(input.bytes).substr(known);
  // A new server counts from what was received; the previous one may have filled the window.
  if (stream->waiting.size() + fresh.size() > 2 * wire::kInputWindow) return;
  stream->waiting.append(fresh);
  write_some(*stream);
  update_interest();
}

void SessionProcess::close_input(wire::Stream name) {
  Incoming* stream = incoming(name);
  if (stream == nullptr || stream->closed || stream->close_requested) return;
  stream->close_requested = true;
  write_some(*stream);
  update_interest();
}

void SessionProcess::write_some(Incoming& stream) {
  if (!stream.fd) return;
  std::size_t written = 0;
  bool broken = false;
  while (written < stream.waiting.size()) {
    const ssize_t got =
        ::write(stream.fd.get(), stream.waiting.data() + written, stream.waiting.size() - written);
    if (got < 0 && errno == EINTR) continue;
    broken = got < 0 && errno != EAGAIN;
    if (got <= 0) break;
    written += static_cast<std::size_t>(got);
  }
  if (written > 0) {
    stream.waiting.erase(0, written);
    stream.taken += written;
    stream.unsent = true;
  }
  if (stream.waiting.empty() && stream.waiting.capacity() > 4096) stream.waiting.shrink_to_fit();
  // A terminal cannot be half-closed: the end of input is typed (Ctrl-D), and not part of the
  // stream.
  if (terminal_ && stream.close_requested && !stream.end_typed && stream.waiting.empty() &&
      !broken) {
    stream.end_typed = ::write(stream.fd.get(), &kEndOfInput, 1) == 1;
  }
  // A pipe without a reader reports that itself.
  if (!broken && !terminal_ && stream.waiting.empty()) {
    pollfd state{stream.fd.get(), 0, 0};
    broken = ::poll(&state, 1, 0) > 0 && (state.revents & POLLERR) != 0;
  }
  if (broken || (stream.close_requested && stream.waiting.empty() && !terminal_))
    stop_input(stream);
}

void SessionProcess::stop_input(Incoming& stream) {
  if (stream.closed) return;
  stream.fd.close();
  stream.closed = true;
  stream.unsent = true;
  stream.waiting = std::string();
}

void SessionProcess::update_interest() {
  const auto read_when = [](Outgoing& stream, bool wanted) {
    if (wanted) {
      stream.fd.want(EPOLLIN);
    } else {
      stream.fd.ignore();
    }
  };
  read_when(out_, room(out_) > 0);
  read_when(err_, room(err_) > 0);
  read_when(results_, room(results_) > 0 && !stuck(out_) && !stuck(err_));
  for (Incoming* stream : {&in_, &requests_}) {
    if (!stream->waiting.empty() || (terminal_ && stream->close_requested && !stream->end_typed)) {
      stream->fd.want(EPOLLOUT);
    } else if (terminal_) {
      stream->fd.ignore();  // its output reports the hang-up
    } else {
      stream->fd.want(0);
    }
  }
}

// ---- control --------------------------------------------------------------------

void SessionProcess::signal(int signal, bool group) {
  if (pid_ <= 1 || end_) return;
  // A process that was just forked does not lead its group yet.
  if (group && ::kill(-pid_, signal) == 0) return;
  ::kill(pid_, signal);
}

void SessionProcess::resize(TerminalSize size) {
  if (terminal_ && out_.fd) resize_terminal(out_.fd.get(), size);
}

// ---- frames to the server --------------------------------------------------------------------

bool SessionProcess::has_output(const Outgoing& stream) const {
  return stream.subscribed && stream.sent < stream.kept.end() &&
         stream.sent < stream.acknowledged + wire::kWindow;
}

bool SessionProcess::all_was_sent() const {
  for (const Outgoing* stream : {&out_, &err_, &results_}) {
    if (has_output(*stream) && stream->sent < stream->end_at_end) return false;
  }
  return true;
}

wire::Output SessionProcess::next_output(Outgoing& stream, wire::Stream name) {
  wire::Output output;
  output.process = number_;
  output.stream = name;
  output.subscription = stream.subscription;
  stream.sent = std::max(stream.sent, stream.kept.begin());
  output.offset = stream.sent;
  std::uint64_t most = std::min<std::uint64_t>(wire::kMaxSessionChunk,
                                               stream.acknowledged + wire::kWindow - stream.sent);
  if (name == wire::Stream::kResults) {
    output.out_before = out_.kept.end();
    output.err_before = err_.kept.end();
    for (const Mark& mark : marks_) {
      if (mark.results_end <= stream.sent) continue;
      most = std::min(most, mark.results_end - stream.sent);
      output.out_before = mark.out;
      output.err_before = mark.err;
      break;
    }
  }
  output.bytes = stream.kept.copy(stream.sent, static_cast<std::size_t>(most));
  stream.sent += output.bytes.size();
  return output;
}

std::optional<wire::SessionFrame> SessionProcess::next_frame() {
  constexpr wire::Stream kIn[] = {wire::Stream::kStdin, wire::Stream::kRequests};
  for (const wire::Stream name : kIn) {
    Incoming& stream = *incoming(name);
    if (!std::exchange(stream.unsent, false)) continue;
    return wire::InputTaken{number_, name, stream.taken, stream.closed};
  }
  if (exit_unsent_ && all_was_sent()) {
    exit_unsent_ = false;
    exit_sent_ = true;
    return exited();
  }
  constexpr wire::Stream kOut[] = {wire::Stream::kStdout, wire::Stream::kStderr,
                                   wire::Stream::kResults};
  for (unsigned i = 0; i < 3; ++i) {
    const wire::Stream name = kOut[next_stream_++ % 3];
    Outgoing& stream = *outgoing(name);
    if (has_output(stream)) return next_output(stream, name);
  }
  return std::nullopt;
}

wire::ProcessExited SessionProcess::exited() const {
  const auto state = [](const Outgoing& stream) {
    return wire::StreamState{std::min(stream.kept.begin(), stream.end_at_end), stream.end_at_end};
  };
  return {number_, *end_, state(out_), state(err_), state(results_)};
}

void SessionProcess::discard_unsent_exit() {
  in_.unsent = false;
  requests_.unsent = false;
  if (exit_unsent_) exit_sent_ = true;
  exit_unsent_ = false;
}

wire::ProcessStatus SessionProcess::describe() const {
  wire::ProcessStatus is;
  is.process = number_;
  is.kind = kind_;
  is.pid = static_cast<std::uint32_t>(pid_);
  is.label = label_;
  is.warm = warm_;
  is.terminal = terminal_;
  is.lossy = lossy_;
  is.started_ms = started_ms_;
  is.out = state_of(out_.kept);
  is.err = state_of(err_.kept);
  is.results = state_of(results_.kept);
  // All that was received: it will be written.
  is.input_taken = in_.taken + in_.waiting.size();
  is.requests_taken = requests_.taken + requests_.waiting.size();
  // A process whose last output is not read yet is reported as running.
  if (end_ && (exit_unsent_ || exit_sent_)) is.ended = *end_;
  return is;
}

}  // namespace glovebox::agent
