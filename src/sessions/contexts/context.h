// One code context: a live interpreter in a sandbox, under an id that outlives it. Created and
// owned by ContextTable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/task.h"
#include "node/async/async_fifo_lock.h"
#include "node/sessions/session_service.h"
#include "sessions/contexts/context_languages.h"

namespace glovebox::sessions {

struct ContextSpec {
  Language language = Language::kPython;
  std::string cwd = "/home/user";
  std::vector<std::string> env;
  std::string user = "user";
  // Whether the caller said them; if not, those of an image count.
  bool has_cwd = false;
  bool has_user = false;
};

struct Context : std::enable_shared_from_this<Context> {
  Context(asio::io_context& io, std::string id_, ContextSpec spec_)
      : id(std::move(id_)), spec(std::move(spec_)), lock(io) {}

  const std::string id;
  ContextSpec spec;
  node::AsyncFifoLock lock;
  std::int64_t created_ms = 0;
  std::uint64_t order = 0;          // among contexts created in the same millisecond
  wire::ProcessNumber process = 0;  // zero: its interpreter has died
  bool warm = false;
  bool adopted = false;  // from an earlier server, whose cell may still run
  bool removed = false;
  bool starting = false;
  std::uint64_t cells = 0;
  node::AttachFrom read{};  // all output up to here was passed on
};

}  // namespace glovebox::sessions
