// What both sides of launcher_messages.h are written with. Private to launcher_messages.cc, which
// has the requests, and launcher_replies.cc, which has the replies.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "wire/byte_codec.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::wire {

enum LauncherKind : std::uint8_t {
  kCreate = 1,
  kDestroy = 2,
  kTake,
  kBecomeServer,
  kPrepare,
  kList,
  kFreeze,
  kMeasure,
  kDefine,
  kForget,
  kLend,
  kKeepLayer,
  kNoteLayer,
  kDropLayer,
  kListLayers,
  kMeasureHost,
  kRecycle,
  kCreated = 65,
  kRefused = 66,
  kEnded = 67,
  kTemplate,
  kListed,
  kMeasured,
  kDone,
  kLent,
  kLayerListed,
  kHostMeasured,
};

inline constexpr std::size_t kMaxLauncherName = 64;

inline ByteWriter begin_launcher_message(LauncherKind kind) {
  ByteWriter writer;
  writer.number(kLauncherProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}
inline bool starts_well(ByteReader& from) {
  return from.number<std::uint8_t>() == kLauncherProtocol;
}
inline tl::unexpected<Error> malformed_launcher_message() {
  return fail(Errc::kProtocol, "malformed launcher message");
}
inline Result<SandboxId> get_sandbox_id(ByteReader& from) {
  return SandboxId::parse(from.text(kMaxLauncherName));
}
inline bool is_engine(std::uint8_t engine) {
  return engine == static_cast<std::uint8_t>(EngineKind::kJail) ||
         engine == static_cast<std::uint8_t>(EngineKind::kProcess);
}

void put_record(ByteWriter& writer, const LayerRecord& record);
// Nothing: it is malformed.
std::optional<LayerRecord> get_record(ByteReader& from);

}  // namespace glovebox::wire
