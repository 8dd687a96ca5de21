#include "wire/launcher/launcher_messages.h"

#include "model/template_rules.h"
#include "wire/launcher/launcher_codec.h"
#include "wire/launcher/limits_codec.h"

namespace glovebox::wire {
namespace {

constexpr std::size_t kMaxDigest = 64;

struct LauncherMessageEncoder {
  std::vector<std::byte> operator()(const CreateSandbox& create) const {
    ByteWriter writer = begin_launcher_message(kCreate);
    writer.number(create.seq);
    writer.number(static_cast<std::uint8_t>(create.engine));
    writer.text(create.template_name);
    put_limits(writer, create.limits);
    writer.number(static_cast<std::uint8_t>(create.mounts.size()));
    for (const MountRequest& mount : create.mounts) {
      writer.number(static_cast<std::uint8_t>(mount.mode));
      writer.text(mount.guest.str());
      writer.text(mount.name);
    }
    writer.number(static_cast<std::uint8_t>(create.warm));
    writer.number(static_cast<std::uint8_t>(create.hurry));
    writer.number(static_cast<std::uint8_t>(create.waits));
    writer.number(static_cast<std::uint8_t>(create.session));
    writer.text(create.project);
    writer.number(static_cast<std::uint8_t>(create.network));
    writer.text(create.layer);
    writer.number(static_cast<std::uint8_t>(create.make_layer));
    writer.number(create.tenant);
    writer.number(static_cast<std::uint8_t>(create.reusable));
    return writer.take();
  }
  std::vector<std::byte> operator()(const RecycleSandbox& recycle) const {
    ByteWriter writer = begin_launcher_message(kRecycle);
    writer.number(recycle.seq);
    writer.text(recycle.id.str());
    writer.number(static_cast<std::uint8_t>(recycle.hurry));
    writer.number(static_cast<std::uint8_t>(recycle.keeps_runtime));
    return writer.take();
  }
  std::vector<std::byte> operator()(const TakeSandbox& take) const {
    ByteWriter writer = begin_launcher_message(kTake);
    writer.text(take.id.str());
    put_limits(writer, take.limits);
    writer.number(static_cast<std::uint8_t>(take.network_up));
    writer.number(take.cpu_weight);
    writer.number(take.tenant);
    return writer.take();
  }
  std::vector<std::byte> operator()(const DestroySandbox& destroy) const {
    ByteWriter writer = begin_launcher_message(kDestroy);
    writer.text(destroy.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const BecomeServer&) const {
    return begin_launcher_message(kBecomeServer).take();
  }
  std::vector<std::byte> operator()(const PrepareTemplate& prepare) const {
    ByteWriter writer = begin_launcher_message(kPrepare);
    writer.text(prepare.name);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ListSandboxes& list) const {
    ByteWriter writer = begin_launcher_message(kList);
    writer.number(list.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const FreezeSandbox& freeze) const {
    ByteWriter writer = begin_launcher_message(kFreeze);
    writer.number(freeze.seq);
    writer.text(freeze.id.str());
    writer.number(static_cast<std::uint8_t>(freeze.frozen));
    return writer.take();
  }
  std::vector<std::byte> operator()(const MeasureSandbox& measure) const {
    ByteWriter writer = begin_launcher_message(kMeasure);
    writer.number(measure.seq);
    writer.text(measure.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const DefineTemplate& define) const {
    const TemplateDefinition& one = define.definition;
    ByteWriter writer = begin_launcher_message(kDefine);
    writer.number(define.seq);
    writer.text(one.id);
    writer.text(one.from);
    writer.texts(one.preload);
    writer.texts(one.env);
    put_limits(writer, one.limits);
    writer.texts(one.layers);
    writer.text(one.image);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ForgetTemplate& forget) const {
    ByteWriter writer = begin_launcher_message(kForget);
    writer.number(forget.seq);
    writer.text(forget.id);
    return writer.take();
  }
  std::vector<std::byte> operator()(const LendNetwork& lend) const {
    ByteWriter writer = begin_launcher_message(kLend);
    writer.number(lend.seq);
    writer.text(lend.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const KeepLayer& keep) const {
    ByteWriter writer = begin_launcher_message(kKeepLayer);
    writer.number(keep.seq);
    put_record(writer, keep.record);
    return writer.take();
  }
  std::vector<std::byte> operator()(const NoteLayer& note) const {
    ByteWriter writer = begin_launcher_message(kNoteLayer);
    writer.number(note.seq);
    writer.text(note.id);
    writer.text(note.note);
    return writer.take();
  }
  std::vector<std::byte> operator()(const DropLayer& drop) const {
    ByteWriter writer = begin_launcher_message(kDropLayer);
    writer.number(drop.seq);
    writer.text(drop.id);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ListLayers& list) const {
    ByteWriter writer = begin_launcher_message(kListLayers);
    writer.number(list.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const MeasureHost& measure) const {
    ByteWriter writer = begin_launcher_message(kMeasureHost);
    writer.number(measure.seq);
    return writer.take();
  }
};

Result<LauncherRequest> get_create(ByteReader& from) {
  CreateSandbox create;
  create.seq = from.number<std::uint32_t>();
  const auto engine = from.number<std::uint8_t>();
  if (!is_engine(engine)) return malformed_launcher_message();
  create.engine = static_cast<EngineKind>(engine);
  create.template_name = from.text(kMaxLauncherName);
  create.limits = get_limits(from);
  const auto mounts = from.number<std::uint8_t>();
  if (mounts > kMaxMounts) return malformed_launcher_message();
  for (unsigned i = 0; i < mounts; ++i) {
    const auto mode = from.number<std::uint8_t>();
    auto guest = GuestPath::parse(from.text(GuestPath::kMaxBytes));
    std::string name = from.text(kMaxMountName);
    if (!guest || (mode != static_cast<std::uint8_t>(MountMode::kReadOnly) &&
                   mode != static_cast<std::uint8_t>(MountMode::kReadWrite))) {
      return malformed_launcher_message();
    }
    create.mounts.push_back({static_cast<MountMode>(mode), std::move(*guest), std::move(name)});
  }
  const auto warm = from.number<std::uint8_t>();
  const auto hurry = from.number<std::uint8_t>();
  const auto waits = from.number<std::uint8_t>();
  const auto session = from.number<std::uint8_t>();
  create.project = from.text(kMaxLauncherName);
  const auto network = from.number<std::uint8_t>();
  create.layer = from.text(kLayerIdSize);
  const auto make_layer = from.number<std::uint8_t>();
  create.tenant = from.number<std::uint64_t>();
  const auto reusable = from.number<std::uint8_t>();
  if (!from.finished() || reusable > 1 || warm > 1 || hurry > 1 || waits > 1 || session > 1 ||
      make_layer > 1 || (!create.layer.empty() && !is_layer_id(create.layer)) ||
      network > static_cast<std::uint8_t>(NetworkStage::kUp)) {
    return malformed_launcher_message();
  }
  create.network = static_cast<NetworkStage>(network);
  create.warm = warm == 1;
  create.hurry = hurry == 1;
  create.waits = waits == 1;
  create.session = session == 1;
  create.make_layer = make_layer == 1;
  create.reusable = reusable == 1;
  return create;
}

Result<LauncherRequest> get_define(ByteReader& from) {
  DefineTemplate define;
  TemplateDefinition& one = define.definition;
  define.seq = from.number<std::uint32_t>();
  one.id = from.text(kMaxLauncherName);
  one.from = from.text(kMaxLauncherName);
  one.preload = from.texts(kMaxPreload, kMaxModuleBytes);
  one.env = from.texts(kMaxTemplateEnv, kMaxTemplateVariable);
  one.limits = get_limits(from);
  one.layers = from.texts(kMaxTemplateLayers, kLayerIdSize);
  one.image = from.text(kLayerIdSize);
  if (!from.finished()) return malformed_launcher_message();
  return define;
}

}  // namespace

void put_record(ByteWriter& writer, const LayerRecord& record) {
  writer.text(record.id);
  writer.number(record.bytes);
  writer.number(record.entries);
  writer.text(record.digest);
  writer.number(static_cast<std::uint64_t>(record.made_ms));
  writer.number(static_cast<std::uint64_t>(record.used_ms));
  writer.number(static_cast<std::uint8_t>(record.in_use));
  writer.text(record.note);
}

std::optional<LayerRecord> get_record(ByteReader& from) {
  LayerRecord record;
  record.id = from.text(kLayerIdSize);
  record.bytes = from.number<std::uint64_t>();
  record.entries = from.number<std::uint64_t>();
  record.digest = from.text(kMaxDigest);
  record.made_ms = static_cast<std::int64_t>(from.number<std::uint64_t>());
  record.used_ms = static_cast<std::int64_t>(from.number<std::uint64_t>());
  const auto in_use = from.number<std::uint8_t>();
  record.note = from.text(kMaxLayerNote);
  record.in_use = in_use == 1;
  if (!from.finished() || in_use > 1 || !is_layer_id(record.id)) return std::nullopt;
  return record;
}

std::vector<std::byte> encode(const LauncherRequest& request) {
  return std::visit(LauncherMessageEncoder{}, request);
}

Result<LauncherRequest> decode_launcher_request(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxLauncherMessage || !starts_well(from)) return malformed_launcher_message();
  switch (from.number<std::uint8_t>()) {
    case kCreate:
      return get_create(from);
    case kDestroy: {
      auto id = get_sandbox_id(from);
      if (!id || !from.finished()) return malformed_launcher_message();
      return DestroySandbox{std::move(*id)};
    }
    case kTake: {
      auto id = get_sandbox_id(from);
      const Limits limits = get_limits(from);
      const auto network_up = from.number<std::uint8_t>();
      const auto cpu_weight = from.number<std::uint16_t>();
      const auto tenant = from.number<std::uint64_t>();
      if (!id || !from.finished() || network_up > 1 || cpu_weight == 0 ||
          cpu_weight > kFullCpuWeight) {
        return malformed_launcher_message();
      }
      return TakeSandbox{std::move(*id), limits, network_up == 1, cpu_weight, tenant};
    }
    case kRecycle: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_sandbox_id(from);
      const auto hurry = from.number<std::uint8_t>();
      const auto keeps = from.number<std::uint8_t>();
      if (!id || !from.finished() || hurry > 1 || keeps > 1) return malformed_launcher_message();
      return RecycleSandbox{seq, std::move(*id), hurry == 1, keeps == 1};
    }
    case kBecomeServer:
      if (!from.finished()) return malformed_launcher_message();
      return BecomeServer{};
    case kPrepare: {
      PrepareTemplate prepare{from.text(kMaxLauncherName)};
      if (!from.finished()) return malformed_launcher_message();
      return prepare;
    }
    case kList: {
      const ListSandboxes list{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_launcher_message();
      return list;
    }
    case kFreeze: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_sandbox_id(from);
      const auto frozen = from.number<std::uint8_t>();
      if (!id || !from.finished() || frozen > 1) return malformed_launcher_message();
      return FreezeSandbox{seq, std::move(*id), frozen == 1};
    }
    case kMeasure: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_sandbox_id(from);
      if (!id || !from.finished()) return malformed_launcher_message();
      return MeasureSandbox{seq, std::move(*id)};
    }
    case kDefine:
      return get_define(from);
    case kForget: {
      const auto seq = from.number<std::uint32_t>();
      ForgetTemplate forget{seq, from.text(kMaxLauncherName)};
      if (!from.finished()) return malformed_launcher_message();
      return forget;
    }
    case kLend: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_sandbox_id(from);
      if (!id || !from.finished()) return malformed_launcher_message();
      return LendNetwork{seq, std::move(*id)};
    }
    case kKeepLayer: {
      const auto seq = from.number<std::uint32_t>();
      auto record = get_record(from);
      if (!record) return malformed_launcher_message();
      return KeepLayer{seq, std::move(*record)};
    }
    case kNoteLayer: {
      NoteLayer note;
      note.seq = from.number<std::uint32_t>();
      note.id = from.text(kLayerIdSize);
      note.note = from.text(kMaxLayerNote);
      if (!from.finished() || !is_layer_id(note.id)) return malformed_launcher_message();
      return note;
    }
    case kDropLayer: {
      DropLayer drop;
      drop.seq = from.number<std::uint32_t>();
      drop.id = from.text(kLayerIdSize);
      if (!from.finished() || !is_layer_id(drop.id)) return malformed_launcher_message();
      return drop;
    }
    case kListLayers: {
      const ListLayers list{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_launcher_message();
      return list;
    }
    case kMeasureHost: {
      const MeasureHost measure{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_launcher_message();
      return measure;
    }
    default:
      return malformed_launcher_message();
  }
}

}  // namespace glovebox::wire
