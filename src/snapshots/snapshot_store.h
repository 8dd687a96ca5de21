// Snapshots: files below the store's directory, and their records. A guest wrote the content, so
// the server only copies its bytes and never parses them. Only a session reads them again, inside
// its own sandbox.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/task.h"
#include "node/sessions/session_service.h"
#include "node/sessions/transfer_watch.h"
#include "store/store.h"

namespace glovebox::snapshots {

struct SnapshotStoreOptions {
  std::string directory{};  // created if missing, mode 0700
  std::uint64_t max_per_project = 32;
  std::uint64_t max_bytes = 1ull << 30;       // of one snapshot
  std::uint64_t disk_ceiling = 0;             // of all snapshots and the database; zero: unlimited
  static constexpr std::uint64_t kShare = 4;  // a project may use a fourth of that
  // A transfer without progress for this long is aborted: the guest may have stopped it.
  std::chrono::milliseconds patience{30'000};
};

class SnapshotStore {
 public:
  SnapshotStore(asio::io_context& io, store::Store& store, SnapshotStoreOptions options);

  // Reads the records, and removes files that a killed server has left. Blocks: call it only at
  // startup.
  Result<> load();

  // The snapshots of one project ("*": all), newest first.
  std::vector<store::SnapshotRecord> list(const std::string& project) const;
  Result<store::SnapshotRecord> find(const std::string& project, std::string_view id) const;
  Task<> remove(std::string project, std::string id);
  // Records another layer for its packages, because the old one is gone. kNotFound.
  Task<> set_layer(std::string id, std::string layer);
  // A snapshot that was made with this layer; or null. Valid until the caller awaits something.
  const store::SnapshotRecord* of_layer(const std::string& layer) const;

  // A snapshot of a sandbox of this image; or null. Valid until the caller awaits something.
  const store::SnapshotRecord* of_image(const std::string& image) const;

  // Saves what the session has beyond its template. `wanted` lacks only the sizes.
  // kResourceExhausted: too many, too large, or the disk ceiling is reached.
  Task<store::SnapshotRecord> keep(std::shared_ptr<node::Session> session,
                                   store::SnapshotRecord wanted,
                                   std::shared_ptr<node::CancelFlag> cancel);
  // Restores a snapshot into a session in which nothing has run yet.
  Task<> fill(std::shared_ptr<node::Session> session, store::SnapshotRecord snapshot,
              std::shared_ptr<node::CancelFlag> cancel);

  // Removes files without a record; returns their number.
  Result<std::uint64_t> sweep();
  std::uint64_t bytes() const { return bytes_; }
  std::size_t count() const { return kept_.size(); }

 private:
  class File;
  struct Claim;

  std::string path_of(const store::SnapshotId& id) const;
  Result<> check_share(const std::string& project, std::uint64_t more) const;
  Result<> check_room(const std::string& project, std::uint64_t more) const;
  Task<> copy_out(node::FileTransfer& transfer, std::shared_ptr<File> file,
                  node::TransferWatch& watch, Claim& claim);
  // False: the session stopped reading.
  Task<bool> copy_in(node::FileTransfer& transfer, std::shared_ptr<File> file,
                     node::TransferWatch& watch);

  asio::io_context& io_;
  store::Store& store_;
  const SnapshotStoreOptions options_;
  asio::thread_pool disk_{1};  // reading and writing may block
  std::map<std::string, store::SnapshotRecord, std::less<>> kept_;
  std::map<std::string, std::uint64_t> making_;  // by project
  std::set<std::string> names_;                  // files being written
  std::uint64_t bytes_ = 0;                      // of those kept and those being written
};

}  // namespace glovebox::snapshots
