// The part of Attempt that copies files out, after the program has ended and while its sandbox is
// still there. What cannot be had is said in the report; the outcome stands.
#include <set>
#include <utility>

#include "node/runs/run_attempt.h"

namespace glovebox::node {

boost::asio::awaitable<void> Attempt::fetch_files() {
  if (job_.return_files.empty() || stopped_) co_return;
  if (!exited_ || !link_open_) {
    report_.files_error = "the sandbox ended before its program did";
    co_return;
  }
  auto found = co_await find_files();
  if (!found) {
    report_.files_error = found.error().message();
    co_return;
  }
  std::uint64_t left = job_.return_bytes_limit;
  for (wire::FoundFile& file : *found) {
    if (file.size > left) {
      report_.files_truncated = true;
      continue;
    }
    const std::string path = file.path.str();
    Result<> fetched = co_await fetch(std::move(file), left);
    if (fetched) continue;
    if (report_.files_error.empty()) {
      report_.files_error = "copy out " + path + ": " + fetched.error().message();
    }
    // One that cannot be read does not stop the others; a link out of step does.
    if (fetched.error().code() != Errc::kNotFound) co_return;
  }
}

Task<std::vector<wire::FoundFile>> Attempt::find_files() {
  std::vector<wire::FoundFile> all;
  std::set<std::string> seen;
  for (const std::string& pattern : job_.return_files) {
    link_.queue(wire::FindFiles{pattern});
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame());
    if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      if (report_.files_error.empty()) report_.files_error = pattern + ": " + failed->what;
      continue;
    }
    auto* found = std::get_if<wire::FoundFiles>(&incoming.frame);
    if (found == nullptr) co_return fail(Errc::kProtocol, "the sandbox answers something else");
    if (!found->complete) report_.files_truncated = true;
    for (wire::FoundFile& file : found->files) {
      if (all.size() >= wire::kMaxFoundFiles) {
        report_.files_truncated = true;
        break;
      }
      if (seen.insert(file.path.str()).second) all.push_back(std::move(file));
    }
  }
  co_return all;
}

// kNotFound: this one cannot be read. Anything else: nothing more comes.
Task<> Attempt::fetch(wire::FoundFile file, std::uint64_t& left) {
  OutputFile out{file.path.str(), {}};
  link_.queue(wire::GetFile{std::move(file.path)});
  while (true) {
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame());
    if (const auto* chunk = std::get_if<wire::FileChunk>(&incoming.frame)) {
      // Its size was the guest's word; it may have grown, or lied.
      if (chunk->bytes.size() > left - out.content.size()) {
        report_.files_truncated = true;
        co_return fail(Errc::kResourceExhausted, "it is larger than it was said to be");
      }
      out.content += chunk->bytes;
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      co_return fail(Errc::kNotFound, failed->what);
    } else if (std::holds_alternative<wire::FileEnd>(incoming.frame)) {
      left -= out.content.size();
      report_.files.push_back(std::move(out));
      co_return Result<>();
    } else {
      co_return fail(Errc::kProtocol, "the sandbox answers something else");
    }
  }
}

}  // namespace glovebox::node
