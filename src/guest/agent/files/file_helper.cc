#include "guest/agent/files/file_helper.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

struct Operation {
  wire::FileOp op;
  const char* name;  // as a message begins
  bool pipe;
  Result<> (*run)(HelperLink&);
};

constexpr Operation kOperations[] = {
    {wire::FileOp::kRead, "read", true, read_file},
    {wire::FileOp::kWrite, "write", true, write_file},
    {wire::FileOp::kStat, "stat", false, stat_file},
    {wire::FileOp::kList, "list", true, list_files},
    {wire::FileOp::kMakeDir, "create directory", false, make_directory},
    {wire::FileOp::kMove, "move", false, move_file},
    {wire::FileOp::kCopy, "copy", false, copy_file},
    {wire::FileOp::kRemove, "remove", false, remove_file},
    {wire::FileOp::kTarOut, "archive", true, tar_out},
    {wire::FileOp::kTarIn, "unpack into", true, tar_in},
    {wire::FileOp::kWatch, "watch", true, watch_files},
    {wire::FileOp::kSnapshotOut, "take a snapshot", true, snapshot_out},
    {wire::FileOp::kSnapshotIn, "unpack a snapshot", true, snapshot_in},
    {wire::FileOp::kImageIn, "unpack an image into", true, image_in},
};

Result<> run(HelperLink& link, const HelperDescriptors& descriptors) {
  const wire::FileRequest& request = link.request();
  for (const Operation& operation : kOperations) {
    if (operation.op != request.op) continue;
    if (operation.pipe != (descriptors.data >= 0))
      return fail_with(EINVAL, "the agent's descriptors");
    auto outcome = operation.run(link);
    if (outcome) return outcome;
    std::string doing = operation.name;
    if (!request.path.empty()) doing += " " + request.path;
    if (!request.target.empty()) doing += " to " + request.target;
    return fail(std::move(outcome.error()).context(doing));
  }
  return fail_with(ENOSYS, "unknown file operation");
}

}  // namespace

void run_file_helper(const wire::FileRequest& request, const HelperDescriptors& descriptors) {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // exceeding a limit is an error
  ::umask(0);                  // modes are given in full below
  // A path that is not absolute begins nowhere else; and no directory is kept busy.
  (void)!::chdir("/");
  HelperLink link(request, descriptors);
  link.send_done(run(link, descriptors));
  ::_exit(0);
}

}  // namespace glovebox::agent
