// For tests: runs a file helper in a process of its own, as an agent would, and plays the server.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "guest/agent/files/file_helper.h"
#include "wire/guest/file_records.h"

namespace glovebox::agent {

enum class Commit : bool { kNo, kYes };

struct Answer {
  std::optional<wire::FileOpened> opened;
  std::optional<wire::FileDone> done;
  std::string data;  // what came through the pipe
  int status = 0;    // of the process
  int error() const { return done ? done->sys_errno : -1; }
  std::string message() const { return done ? done->message : "the helper died"; }
  wire::FileEntry entry() const;                 // of done
  std::vector<wire::FileEntry> entries() const;  // of data
};

// A directory that goes with the test.
class TestDir {
 public:
  TestDir();
  ~TestDir();
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class TestHelper {
 public:
  // `inside` runs in the child, before it becomes the helper; it returns the upper descriptor.
  explicit TestHelper(const wire::FileRequest& request, std::function<int()> inside = {});
  ~TestHelper();  // ends it

  void send(const std::string& input);  // as much as it takes
  void close_data() { data_.reset(); }
  void commit(Commit commit);
  // Of a watch: a kReady after all events up to now.
  void ask_for_mark();
  // Everything until the end.
  Answer finish();
  // The next event of a watch; nothing after the deadline.
  std::optional<wire::WatchEvent> next_event();
  pid_t pid() const { return pid_; }

 private:
  bool read_some(std::string& into);
  void take_status(Answer& answer);

  wire::FileRequest request_;
  pid_t pid_ = -1;
  UniqueFd data_, status_, control_;
  wire::RecordReader records_;
};

Answer run_helper(const wire::FileRequest& request, const std::string& input = {},
                  Commit commit = Commit::kYes, std::function<int()> inside = {});

wire::FileRequest request_for(wire::FileOp op, const std::string& path,
                              const std::string& target = {});
std::string read_whole(const std::string& path);
void write_whole(const std::string& path, const std::string& content);
// Runs a shell line; true when it ended well.
bool shell(const std::string& line);
std::string odd_name();  // every byte that a name may have, in 254 bytes

}  // namespace glovebox::agent
