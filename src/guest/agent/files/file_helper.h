// Runs inside a session's sandbox, in a process of its own, as the requested user: does one file
// operation and exits. It has no more rights than that user, so no symlink or race of a guest can
// make it reach anything that the user could not reach. It never blocks on a FIFO or a device, and
// never reads its own files in /proc.
#pragma once

#include "wire/guest/session_frames.h"

namespace glovebox::agent {

struct HelperDescriptors {
  int data = -1;     // its end of the data pipe; unused by kStat, kMakeDir, kMove, kCopy, kRemove
  int status = -1;   // SEQPACKET: one encoded SessionFrame per message, FileOpened and FileDone
  int control = -1;  // one byte 'c' arrives: commit (of kWatch: a mark); end of file: abandoned
  int upper = -1;    // root of the sandbox's writable filesystem, for snapshots
};

// Data flows only after FileOpened was sent. FileDone is the last message. The caller has switched
// to the user and closed all other descriptors; `request.path` and `request.target` are absolute.
// Ignores SIGPIPE and the caller's umask and working directory.
[[noreturn]] void run_file_helper(const wire::FileRequest& request,
                                  const HelperDescriptors& descriptors);

}  // namespace glovebox::agent
