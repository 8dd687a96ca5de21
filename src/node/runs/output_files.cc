#include "node/runs/output_files.h"

#include <set>
#include <utility>

namespace glovebox::node {
namespace {

Error unexpected_frame() {
  return Error(Errc::kProtocol, "unexpected answer from the sandbox's agent");
}

}  // namespace

boost::asio::awaitable<void> OutputFiles::fetch_all() {
  auto found = co_await find();
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
    // A file that cannot be read does not stop the others; a connection out of step does.
    if (fetched.error().code() != Errc::kNotFound) co_return;
  }
}

Task<std::vector<wire::FoundFile>> OutputFiles::find() {
  std::vector<wire::FoundFile> all;
  std::set<std::string> seen;
  for (const std::string& pattern : job_.return_files) {
    link_.queue(wire::FindFiles{pattern});
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame_());
    if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      if (report_.files_error.empty()) report_.files_error = pattern + ": " + failed->what;
      continue;
    }
    auto* found = std::get_if<wire::FoundFiles>(&incoming.frame);
    if (found == nullptr) co_return fail(unexpected_frame());
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

Task<> OutputFiles::fetch(wire::FoundFile file, std::uint64_t& left) {
  OutputFile out{file.path.str(), {}};
  link_.queue(wire::GetFile{std::move(file.path)});
  while (true) {
    CO_TRY(SandboxLink::Incoming incoming, co_await next_frame_());
    if (const auto* chunk = std::get_if<wire::FileChunk>(&incoming.frame)) {
      // The size was the guest's claim; the file may have grown since, or it lied.
      if (chunk->bytes.size() > left - out.content.size()) {
        report_.files_truncated = true;
        co_return fail(Errc::kResourceExhausted, "it is larger than the sandbox announced");
      }
      out.content += chunk->bytes;
    } else if (const auto* failed = std::get_if<wire::FileFailed>(&incoming.frame)) {
      co_return fail(Errc::kNotFound, failed->what);
    } else if (std::holds_alternative<wire::FileEnd>(incoming.frame)) {
      left -= out.content.size();
      report_.files.push_back(std::move(out));
      co_return Result<>();
    } else {
      co_return fail(unexpected_frame());
    }
  }
}

}  // namespace glovebox::node
