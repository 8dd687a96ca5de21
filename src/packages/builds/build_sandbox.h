// One sandbox of a build: writes input files, runs one of our scripts with line-by-line output,
// reads results. The sandbox ends with this object at the latest.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "packages/builds/build_deadline.h"
#include "packages/builds/build_output.h"

namespace glovebox::packages {

class BuildSandbox {
 public:
  // Borrowed; valid until `life` expires.
  struct Host {
    asio::io_context& io;
    node::SessionService& service;
    std::weak_ptr<void> life;
  };

  // Errors as SessionService::create_session's, or the watch's verdict.
  static Task<std::shared_ptr<BuildSandbox>> make(Host host, node::SessionSpec spec,
                                                  BuildDeadline& watch);
  BuildSandbox(Host host, std::shared_ptr<node::Session> session)
      : host_(std::move(host)), session_(std::move(session)) {}
  ~BuildSandbox() { abandon(); }
  BuildSandbox(const BuildSandbox&) = delete;
  BuildSandbox& operator=(const BuildSandbox&) = delete;

  const std::shared_ptr<node::Session>& session() const { return session_; }

  // Written as the sandbox user with mode 0600.
  Task<> write_file(std::string path, std::string content);
  // kResourceExhausted: the file has more than `most` bytes.
  Task<std::string> read_file(std::string path, std::uint64_t most);
  // Runs a script of /opt/glovebox/packages and returns when it has ended.
  Task<wire::ProcessEnd> run_script(std::string name, BuildOutput& lines);

  // Destroys the sandbox and waits for that.
  Task<> end();
  // Destroys it in the background. Pending operations fail.
  void abandon();

 private:
  Host host_;
  std::shared_ptr<node::Session> session_;
  bool is_ended_ = false;
};

}  // namespace glovebox::packages
