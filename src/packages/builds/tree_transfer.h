// Bytes from one sandbox to another, or to nobody: a tree as an archive, or one file. Counted,
// bounded, as fast as the slower of the two, and given up when nothing moves. What the bytes are is
// never looked at; they are packed and unpacked by the agents in there.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "packages/builds/stream_hash.h"

namespace glovebox::packages {

struct TransferEnd {
  std::shared_ptr<node::Session> session;
  wire::FileRequest request;  // kTarOut and kTarIn, or kRead and kWrite
};

struct TransferLimits {
  std::uint64_t most = 0;  // bytes through the server
  std::chrono::milliseconds patience{90'000};
};

struct Transferred {
  std::uint64_t bytes = 0;   // through the server
  wire::FileDone out, in{};  // what the two helpers counted
};

// kResourceExhausted with EFBIG: there is more than `most`; kTimeout: nothing moves; else what the
// sandboxes say. After an error some of it may have arrived.
Task<Transferred> transfer_bytes(asio::io_context& io, TransferEnd from, TransferEnd to, TransferLimits bounds);
// To nobody: only its hash is wanted.
struct Hashed {
  std::string sha256;
  Transferred moved;
};
Task<Hashed> hash_bytes(asio::io_context& io, TransferEnd from, TransferLimits bounds);

}  // namespace glovebox::packages
