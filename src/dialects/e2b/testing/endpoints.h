// The routes of a sandbox's virtual ports, for tests that call them as a client does.
#pragma once

#include <string>

#include "http/message.h"

namespace glovebox::e2b {

struct Endpoint {
  http::Method method = http::Method::kPost;
  std::string path;
  bool operator==(const Endpoint&) const = default;
};

inline constexpr std::uint16_t kEnvdTestPort = 49983;
inline constexpr std::uint16_t kInterpreterTestPort = 49999;

inline const Endpoint kStart{http::Method::kPost, "/process.Process/Start"};
inline const Endpoint kConnect{http::Method::kPost, "/process.Process/Connect"};
inline const Endpoint kListProcesses{http::Method::kPost, "/process.Process/List"};
inline const Endpoint kSendInput{http::Method::kPost, "/process.Process/SendInput"};
inline const Endpoint kStreamInput{http::Method::kPost, "/process.Process/StreamInput"};
inline const Endpoint kCloseStdin{http::Method::kPost, "/process.Process/CloseStdin"};
inline const Endpoint kSendSignal{http::Method::kPost, "/process.Process/SendSignal"};
inline const Endpoint kUpdate{http::Method::kPost, "/process.Process/Update"};

inline const Endpoint kStat{http::Method::kPost, "/filesystem.Filesystem/Stat"};
inline const Endpoint kListDir{http::Method::kPost, "/filesystem.Filesystem/ListDir"};
inline const Endpoint kMakeDir{http::Method::kPost, "/filesystem.Filesystem/MakeDir"};
inline const Endpoint kMove{http::Method::kPost, "/filesystem.Filesystem/Move"};
inline const Endpoint kRemove{http::Method::kPost, "/filesystem.Filesystem/Remove"};
inline const Endpoint kWatchDir{http::Method::kPost, "/filesystem.Filesystem/WatchDir"};
inline const Endpoint kCreateWatcher{http::Method::kPost, "/filesystem.Filesystem/CreateWatcher"};
inline const Endpoint kGetWatcherEvents{http::Method::kPost,
                                        "/filesystem.Filesystem/GetWatcherEvents"};
inline const Endpoint kRemoveWatcher{http::Method::kPost, "/filesystem.Filesystem/RemoveWatcher"};
inline const Endpoint kDownload{http::Method::kGet, "/files"};
inline const Endpoint kUpload{http::Method::kPost, "/files"};
inline const Endpoint kHealth{http::Method::kGet, "/health"};
inline const Endpoint kEnvs{http::Method::kGet, "/envs"};

inline const Endpoint kExecute{http::Method::kPost, "/execute"};
inline const Endpoint kCreateContext{http::Method::kPost, "/contexts"};
inline const Endpoint kListContexts{http::Method::kGet, "/contexts"};

}  // namespace glovebox::e2b
