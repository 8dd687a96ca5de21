// What a helper says to the agent, and its end of the data pipe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "guest/agent/files/file_helper.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

class HelperLink {
 public:
  HelperLink(const wire::FileRequest& request, const HelperPlaces& places);

  // Says FileOpened. With an entry, or without.
  Result<> opened(const std::string& record = {});
  // After the end of what comes through the pipe: an error unless it is to be kept.
  Result<> wait_for_commit();

  const wire::FileRequest& request() const { return request_; }
  int data() const { return places_.data; }
  int upper() const { return places_.upper; }

  // The last word.
  wire::FileDone done;
  void say_done(const Result<>& outcome);

 private:
  Result<> say(const wire::SessionFrame& frame);

  const wire::FileRequest& request_;
  const HelperPlaces& places_;
};

// Bytes into the pipe, few and large at a time. More than `most` in all is EFBIG.
class PipeWriter {
 public:
  explicit PipeWriter(int fd, std::uint64_t most = UINT64_MAX) : fd_(fd), most_(most) {}
  Result<> write(std::string_view bytes);
  Result<> flush();
  // `size` bytes of a file from `offset` on; fewer when it ends before. By pages where that works.
  Result<std::uint64_t> send_file(int file, std::uint64_t offset, std::uint64_t size);
  // In place of what send_file() was asked for and did not find.
  Result<> fill(std::string_view bytes);
  std::uint64_t written() const { return written_; }

 private:
  Result<std::uint64_t> send_small(int file, std::uint64_t offset, std::size_t size);
  Result<> write_through(std::string_view bytes);
  Result<> count(std::uint64_t bytes);

  int fd_;
  std::uint64_t most_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

}  // namespace glovebox::agent
