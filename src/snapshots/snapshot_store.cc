#include "snapshots/snapshot_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include "base/log.h"
#include "base/unique_fd.h"
#include "store/store_call.h"

namespace glovebox::snapshots {
namespace {

constexpr std::size_t kSnapshotChunk = 256 * 1024;
constexpr std::uint64_t kLeastRoom = 1 << 20;  // required to start
constexpr std::string_view kSuffix = ".tar";
constexpr const char* kStalled = "the snapshot transfer stalled in the sandbox";

tl::unexpected<Error> full(std::string message) {
  return fail(Error(Errc::kResourceExhausted, std::move(message), ENOSPC));
}

}  // namespace

// One file, used on the disk thread. A new file is removed unless keep() succeeds.
class SnapshotStore::File {
 public:
  static Result<std::shared_ptr<File>> create(std::string path) {
    UniqueFd fd(::open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd) return fail(Error::from_errno("create the snapshot file"));
    return std::make_shared<File>(std::move(fd), std::move(path), true);
  }
  static Result<std::shared_ptr<File>> open(std::string path) {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd) return fail(Error::from_errno("open the snapshot file"));
    return std::make_shared<File>(std::move(fd), std::move(path), false);
  }
  File(UniqueFd fd, std::string path, bool is_new)
      : fd_(std::move(fd)), path_(std::move(path)), is_new_(is_new) {}
  ~File() {
    if (is_new_) ::unlink((path_ + ".part").c_str());
  }

  Result<> write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(fd_.get(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return fail(Error::from_errno("write the snapshot"));
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  }
  Result<std::size_t> read(char* into, std::size_t size) {
    while (true) {
      const ssize_t got = ::read(fd_.get(), into, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(Error::from_errno("read the snapshot"));
      return static_cast<std::size_t>(got);
    }
  }
  // Syncs the file and renames it to its final name.
  Result<> keep() {
    if (::fdatasync(fd_.get()) != 0) return fail(Error::from_errno("write the snapshot"));
    if (::rename((path_ + ".part").c_str(), path_.c_str()) != 0) {
      return fail(Error::from_errno("rename the snapshot file"));
    }
    is_new_ = false;
    return {};
  }

 private:
  UniqueFd fd_;
  std::string path_;
  bool is_new_;
};

// Counts an unfinished snapshot against the limits until it is kept or aborted.
struct SnapshotStore::Claim {
  Claim(SnapshotStore& the_owner, std::string the_project, std::string the_name)
      : owner(the_owner), project(std::move(the_project)), name(std::move(the_name)) {
    ++owner.making_[project];
    owner.names_.insert(name);
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    owner.bytes_ -= bytes;
    owner.names_.erase(name);
    if (--owner.making_[project] == 0) owner.making_.erase(project);
  }
  SnapshotStore& owner;
  std::string project;
  std::string name;
  std::uint64_t bytes = 0;
};

SnapshotStore::SnapshotStore(asio::io_context& io, store::Store& store,
                             SnapshotStoreOptions options)
    : io_(io), store_(store), options_(std::move(options)) {}

std::string SnapshotStore::path_of(const store::SnapshotId& id) const {
  return options_.directory + "/" + id.str() + std::string(kSuffix);
}

Result<> SnapshotStore::load() {
  if (::mkdir(options_.directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("mkdir").context(options_.directory));
  }
  TRY(const std::vector<store::SnapshotRecord> records, store_.all_snapshots());
  for (const store::SnapshotRecord& record : records) {
    struct stat facts {};
    if (::stat(path_of(record.id).c_str(), &facts) != 0) {
      log::warn("snapshot has no file", {{"snapshot", record.id.str()}});
      store_.remove_snapshot(record.id, {});
      continue;
    }
    bytes_ += record.bytes;
    kept_.emplace(record.id.str(), record);
  }
  TRY(const std::uint64_t removed, sweep());
  if (removed > 0) log::info("snapshot files removed", {{"files", std::to_string(removed)}});
  return {};
}

Result<std::uint64_t> SnapshotStore::sweep() {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(options_.directory.c_str()), ::closedir);
  if (!dir) return fail(Error::from_errno("opendir").context(options_.directory));
  std::vector<std::string> strays;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string id = name.substr(0, name.find('.'));
    const bool is_known = kept_.count(id) != 0 && name == id + std::string(kSuffix);
    if (!is_known && names_.count(id) == 0) strays.push_back(name);
  }
  std::uint64_t removed = 0;
  for (const std::string& name : strays) {
    if (::unlink((options_.directory + "/" + name).c_str()) == 0) ++removed;
  }
  return removed;
}

std::vector<store::SnapshotRecord> SnapshotStore::list(const std::string& project) const {
  std::vector<store::SnapshotRecord> found;
  for (const auto& [id, record] : kept_) {
    if (project == "*" || record.project == project) found.push_back(record);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.created_ms > b.created_ms; });
  return found;
}

Result<store::SnapshotRecord> SnapshotStore::find(const std::string& project,
                                                  std::string_view id) const {
  const auto found = kept_.find(id);
  if (found == kept_.end() || (project != "*" && found->second.project != project)) {
    return fail(Errc::kNotFound, "there is no such snapshot");
  }
  return found->second;
}

Task<> SnapshotStore::remove(std::string project, std::string id) {
  CO_TRY(const store::SnapshotRecord record, find(project, id));
  // From here on it cannot be found. The record goes before the file, so that no record lacks one.
  kept_.erase(id);
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.remove_snapshot(record.id, done);
  };
  Result<> removed = co_await store::store_call(ask);
  if (!removed && removed.error().code() != Errc::kNotFound) {
    kept_.emplace(id, record);
    co_return removed;
  }
  bytes_ -= record.bytes;
  ::unlink(path_of(record.id).c_str());
  co_return Result<>();
}

Task<> SnapshotStore::set_layer(std::string id, std::string layer) {
  const auto at = kept_.find(id);
  if (at == kept_.end()) co_return fail(Errc::kNotFound, "there is no such snapshot");
  at->second.layer = layer;
  const store::SnapshotId which = at->second.id;
  const store::Ask<void> ask = [&](store::Callback<> done) {
    store_.set_snapshot_layer(which, layer, std::move(done));
  };
  co_return co_await store::store_call(ask);
}

const store::SnapshotRecord* SnapshotStore::of_layer(const std::string& layer) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& one) { return one.second.layer == layer; });
  return found == kept_.end() ? nullptr : &found->second;
}

const store::SnapshotRecord* SnapshotStore::of_image(const std::string& image) const {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& one) { return one.second.image == image; });
  return found == kept_.end() ? nullptr : &found->second;
}

// One project must leave room for the others.
Result<> SnapshotStore::check_share(const std::string& project, std::uint64_t more) const {
  if (options_.disk_ceiling == 0) return {};
  std::uint64_t used = more;
  for (const auto& [id, record] : kept_) used += record.project == project ? record.bytes : 0;
  if (used <= options_.disk_ceiling / SnapshotStoreOptions::kShare) return {};
  return full("the project's share of the disk is full: remove a snapshot");
}

Result<> SnapshotStore::check_room(const std::string& project, std::uint64_t more) const {
  std::uint64_t count = 0;
  for (const auto& [id, record] : kept_) count += record.project == project ? 1 : 0;
  if (const auto making = making_.find(project); making != making_.end()) count += making->second;
  if (count + 1 > options_.max_per_project) {
    return fail(Errc::kResourceExhausted, "the project has " + std::to_string(count) +
                                              " snapshots, which is the limit: remove one");
  }
  TRY_OK(check_share(project, more));
  if (options_.disk_ceiling != 0 && bytes_ + more + store_.bytes_used() > options_.disk_ceiling) {
    return full("the disk ceiling of the server is reached: remove a snapshot");
  }
  return {};
}

Task<> SnapshotStore::copy_out(node::FileTransfer& transfer, std::shared_ptr<File> file,
                               node::TransferWatch& watch, Claim& claim) {
  auto buffer = std::make_shared<std::string>(kSnapshotChunk, '\0');
  bool more = true;
  while (more) {
    std::size_t filled = 0;
    while (more && filled < kSnapshotChunk) {
      const std::size_t got =
          co_await transfer.read_some(buffer->data() + filled, kSnapshotChunk - filled);
      more = got != 0;
      filled += got;
      watch.feed();
    }
    claim.bytes += filled;
    bytes_ += filled;
    if (claim.bytes > options_.max_bytes) {
      co_return full("the snapshot exceeds " + std::to_string(options_.max_bytes >> 20) + " MB");
    }
    CO_TRY_OK(check_share(claim.project, claim.bytes));
    if (options_.disk_ceiling != 0 && bytes_ + store_.bytes_used() > options_.disk_ceiling) {
      co_return full("the disk ceiling of the server is reached: remove a snapshot");
    }
    auto work = [file, buffer, filled]() -> Task<> {
      co_return file->write(std::string_view(*buffer).substr(0, filled));
    };
    CO_TRY_OK(co_await asio::co_spawn(disk_, work, asio::use_awaitable));
  }
  co_return Result<>();
}

Task<bool> SnapshotStore::copy_in(node::FileTransfer& transfer, std::shared_ptr<File> file,
                                  node::TransferWatch& watch) {
  auto buffer = std::make_shared<std::string>(kSnapshotChunk, '\0');
  while (true) {
    auto work = [file, buffer]() -> Task<std::size_t> {
      co_return file->read(buffer->data(), buffer->size());
    };
    CO_TRY(const std::size_t got, co_await asio::co_spawn(disk_, work, asio::use_awaitable));
    if (got == 0) co_return true;
    const bool taken = co_await transfer.write(std::string_view(*buffer).substr(0, got));
    if (!taken) co_return false;  // done() has the error
    watch.feed();
  }
}

Task<store::SnapshotRecord> SnapshotStore::keep(std::shared_ptr<node::Session> session,
                                                store::SnapshotRecord wanted,
                                                std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY_OK(check_room(wanted.project, kLeastRoom));
  Claim claim(*this, wanted.project, wanted.id.str());
  CO_TRY(std::shared_ptr<File> file, File::create(path_of(wanted.id)));
  wire::FileRequest request;
  request.op = wire::FileOp::kSnapshotOut;
  request.user = "root";
  request.most = options_.max_bytes;
  CO_TRY(std::unique_ptr<node::FileTransfer> transfer,
         co_await session->transfer(std::move(request)));
  node::TransferWatch watch(io_, options_.patience, kStalled, cancel);
  watch.watch(*transfer);
  Result<> copied = co_await copy_out(*transfer, file, watch, claim);
  if (Result<> verdict = watch.verdict(); !verdict) co_return fail(verdict.error());
  if (!copied) co_return fail(std::move(copied.error()));
  Result<wire::FileDone> done = co_await transfer->done();
  if (Result<> verdict = watch.verdict(); !verdict) co_return fail(verdict.error());
  if (!done) co_return fail(std::move(done.error()));
  auto work = [file]() -> Task<> { co_return file->keep(); };
  CO_TRY_OK(co_await asio::co_spawn(disk_, work, asio::use_awaitable));
  wanted.bytes = claim.bytes;
  wanted.files = done->entries;
  const store::Ask<void> ask = [&](store::Callback<> saved) { store_.add_snapshot(wanted, saved); };
  Result<> saved = co_await store::store_call(ask);
  if (!saved) {
    ::unlink(path_of(wanted.id).c_str());
    co_return fail(std::move(saved.error()));
  }
  kept_.emplace(wanted.id.str(), wanted);
  claim.bytes = 0;  // now counted by the record
  co_return wanted;
}

Task<> SnapshotStore::fill(std::shared_ptr<node::Session> session, store::SnapshotRecord snapshot,
                           std::shared_ptr<node::CancelFlag> cancel) {
  CO_TRY(std::shared_ptr<File> file, File::open(path_of(snapshot.id)));
  wire::FileRequest request;
  request.op = wire::FileOp::kSnapshotIn;
  request.user = "root";
  request.most = snapshot.bytes;
  CO_TRY(std::unique_ptr<node::FileTransfer> transfer,
         co_await session->transfer(std::move(request)));
  node::TransferWatch watch(io_, options_.patience, kStalled, cancel);
  watch.watch(*transfer);
  Result<bool> copied = co_await copy_in(*transfer, file, watch);
  if (Result<> verdict = watch.verdict(); !verdict) co_return fail(verdict.error());
  if (!copied) co_return fail(std::move(copied.error()));
  if (*copied) transfer->commit();
  Result<wire::FileDone> done = co_await transfer->done();
  if (Result<> verdict = watch.verdict(); !verdict) co_return fail(verdict.error());
  if (!done) co_return fail(std::move(done.error()));
  if (!*copied) co_return fail(Errc::kProtocol, "the sandbox did not accept the whole snapshot");
  co_return Result<>();
}

}  // namespace glovebox::snapshots
