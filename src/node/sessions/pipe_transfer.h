// A file request whose bytes go through the pipe that the agent has sent. Destroyed before it is
// done, it abandons the request.
#pragma once

#include <memory>

#include "node/sessions/pending_requests.h"
#include "node/sessions/session_files.h"
#include "node/sessions/session_service.h"

namespace glovebox::node {

class PipeTransfer final : public FileTransfer {
 public:
  PipeTransfer(std::shared_ptr<SessionFiles> files, std::shared_ptr<PendingRequest> request)
      : files_(std::move(files)), request_(std::move(request)) {}
  ~PipeTransfer() override;

  const std::string& entry() const override { return request_->entry; }
  boost::asio::awaitable<std::size_t> read_some(char* into, std::size_t size) override;
  boost::asio::awaitable<bool> write(std::string_view bytes) override;
  void commit() override;
  void mark() override;
  Task<wire::FileDone> done() override;
  void close() override;

 private:
  std::shared_ptr<SessionFiles> files_;
  std::shared_ptr<PendingRequest> request_;
};

// An error of the agent's helper process.
Error helper_error(const wire::FileDone& done);

}  // namespace glovebox::node
