// The helper's connection to the agent, and its end of the data pipe.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "guest/agent/files/file_helper.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

class HelperLink {
 public:
  HelperLink(const wire::FileRequest& request, const HelperDescriptors& descriptors);

  // Sends FileOpened, with an entry or without.
  Result<> opened(const std::string& record = {});
  // After the end of the incoming data: an error unless the request is committed.
  Result<> wait_for_commit();

  const wire::FileRequest& request() const { return request_; }
  int data() const { return descriptors_.data; }
  int control() const { return descriptors_.control; }
  int upper() const { return descriptors_.upper; }

  // The last message.
  wire::FileDone done;
  void send_done(const Result<>& outcome);

 private:
  Result<> send(const wire::SessionFrame& frame);

  const wire::FileRequest& request_;
  const HelperDescriptors& descriptors_;
};

// Buffered writes to the pipe. More than `max_bytes` in total is EFBIG.
class PipeWriter {
 public:
  explicit PipeWriter(int fd, std::uint64_t max_bytes = UINT64_MAX)
      : fd_(fd), max_bytes_(max_bytes) {}
  Result<> write(std::string_view bytes);
  Result<> flush();
  // `size` bytes of a file from `offset` on, fewer if it is shorter. Uses splice where possible.
  Result<std::uint64_t> send_file(int file, std::uint64_t offset, std::uint64_t size);
  // Padding for what send_file() did not find.
  Result<> fill(std::string_view bytes);
  std::uint64_t written() const { return written_; }

 private:
  Result<std::uint64_t> send_small(int file, std::uint64_t offset, std::size_t size);
  Result<> write_through(std::string_view bytes);
  Result<> count(std::uint64_t bytes);

  int fd_;
  std::uint64_t max_bytes_;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

}  // namespace glovebox::agent
