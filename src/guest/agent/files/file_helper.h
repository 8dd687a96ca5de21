// Runs inside a session's sandbox, in a process of its own, as the user that was asked for: does
// one thing with files and ends. It has no more rights than that user, so whatever a guest's links
// and races make of a path, nothing is reached that he could not have reached himself. It never
// waits for a FIFO or a device, and never takes content from /proc.
#pragma once

#include "wire/guest/session_frames.h"

namespace glovebox::agent {

struct HelperPlaces {
  int data = -1;     // its end of the data pipe; unused by kStat, kMakeDir, kMove, kCopy, kRemove
  int status = -1;   // SEQPACKET: one encoded SessionFrame per message, FileOpened and FileDone
  int control = -1;  // one byte 'c' arrives: commit; end of file: abandoned
  int upper = -1;    // root of the sandbox's writable filesystem, for snapshots
};

// Bytes flow only after FileOpened was said. FileDone is the last word, save when nobody reads it.
// The caller has become the user, and has closed what a helper must not have; `request.path` and
// `request.target` are absolute. Ignores SIGPIPE, umask and working directory of its caller.
[[noreturn]] void run_file_helper(const wire::FileRequest& request, const HelperPlaces& places);

}  // namespace glovebox::agent
