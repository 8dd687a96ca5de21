// Copies a tree (as an archive) or a file from one sandbox to another, or only hashes it. Counted,
// bounded, with back-pressure, and aborted when no bytes move. The server never parses the bytes:
// the agents in the sandboxes pack and unpack them.
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

struct TransferCounts {
  std::uint64_t bytes = 0;   // through the server
  wire::FileDone out, in{};  // what the two helpers counted
};

// kResourceExhausted with EFBIG: more than `most` bytes; kTimeout: no bytes move; else errors of
// the sandboxes. After an error some of it may have arrived.
Task<TransferCounts> transfer_bytes(asio::io_context& io, TransferEnd from, TransferEnd to,
                                    TransferLimits bounds);
// Reads without a destination, for the hash.
struct HashedTransfer {
  std::string sha256;
  TransferCounts moved;
};
Task<HashedTransfer> hash_bytes(asio::io_context& io, TransferEnd from, TransferLimits bounds);

}  // namespace glovebox::packages
