#include "wire/launcher_messages.h"

#include "model/template_rules.h"
#include "wire/byte_codec.h"
#include "wire/limits_codec.h"

namespace glovebox::wire {
namespace {

enum Kind : std::uint8_t {
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
  kCreated = 65,
  kRefused = 66,
  kEnded = 67,
  kTemplate,
  kListed,
  kMeasured,
  kDone,
  kLent,
};

constexpr std::size_t kMaxName = 64;
constexpr std::size_t kMaxText = 2048;
constexpr std::size_t kMaxTraceback = 8192;
constexpr std::size_t kMaxListed = 64;  // modules, variables or layers of a template
constexpr std::size_t kMaxListedBytes = 512;
constexpr std::uint32_t kAbsent32 = ~0u;
constexpr std::uint64_t kAbsent64 = ~0ull;

ByteWriter begin(Kind kind) {
  ByteWriter writer;
  writer.number(kLauncherProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

Result<SandboxId> get_id(ByteReader& from) { return SandboxId::parse(from.text(kMaxName)); }

tl::unexpected<Error> malformed() { return fail(Errc::kProtocol, "malformed launcher message"); }

struct Encoder {
  std::vector<std::byte> operator()(const CreateSandbox& create) const {
    ByteWriter writer = begin(kCreate);
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
    writer.number(static_cast<std::uint8_t>(create.waits));
    writer.number(static_cast<std::uint8_t>(create.session));
    writer.text(create.project);
    writer.number(static_cast<std::uint8_t>(create.network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const TakeSandbox& take) const {
    ByteWriter writer = begin(kTake);
    writer.text(take.id.str());
    put_limits(writer, take.limits);
    writer.number(static_cast<std::uint8_t>(take.network_up));
    return writer.take();
  }
  std::vector<std::byte> operator()(const ListSandboxes& list) const {
    ByteWriter writer = begin(kList);
    writer.number(list.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const FreezeSandbox& freeze) const {
    ByteWriter writer = begin(kFreeze);
    writer.number(freeze.seq);
    writer.text(freeze.id.str());
    writer.number(static_cast<std::uint8_t>(freeze.frozen));
    return writer.take();
  }
  std::vector<std::byte> operator()(const MeasureSandbox& measure) const {
    ByteWriter writer = begin(kMeasure);
    writer.number(measure.seq);
    writer.text(measure.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const DefineTemplate& define) const {
    const TemplateDefinition& one = define.definition;
    ByteWriter writer = begin(kDefine);
    writer.number(define.seq);
    writer.text(one.id);
    writer.text(one.from);
    writer.texts(one.preload);
    writer.texts(one.env);
    put_limits(writer, one.limits);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ForgetTemplate& forget) const {
    ByteWriter writer = begin(kForget);
    writer.number(forget.seq);
    writer.text(forget.id);
    return writer.take();
  }
  std::vector<std::byte> operator()(const LendNetwork& lend) const {
    ByteWriter writer = begin(kLend);
    writer.number(lend.seq);
    writer.text(lend.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworkLent& lent) const {
    ByteWriter writer = begin(kLent);
    writer.number(lent.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxListed& listed) const {
    ByteWriter writer = begin(kListed);
    writer.number(listed.seq);
    writer.text(listed.id.str());
    writer.number(static_cast<std::uint8_t>(listed.engine));
    writer.text(listed.template_name);
    put_limits(writer, listed.limits);
    writer.number(listed.walls.bits());
    writer.number(listed.generation);
    writer.number(static_cast<std::uint8_t>(listed.frozen));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxMeasured& measured) const {
    ByteWriter writer = begin(kMeasured);
    writer.number(measured.seq);
    writer.number(measured.cpu_us);
    writer.number(measured.memory_bytes);
    writer.number(measured.peak_memory_bytes.value_or(kAbsent64));
    writer.number(measured.processes);
    writer.number(measured.disk_bytes);
    writer.number(measured.disk_limit_bytes);
    writer.number(measured.oom_kills);
    return writer.take();
  }
  std::vector<std::byte> operator()(const Done& done) const {
    ByteWriter writer = begin(kDone);
    writer.number(done.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const BecomeServer&) const {
    return begin(kBecomeServer).take();
  }
  std::vector<std::byte> operator()(const PrepareTemplate& prepare) const {
    ByteWriter writer = begin(kPrepare);
    writer.text(prepare.name);
    return writer.take();
  }
  std::vector<std::byte> operator()(const TemplateChanged& changed) const {
    const TemplateStatus& status = changed.status;
    const Template& one = status.description;
    ByteWriter writer = begin(kTemplate);
    writer.text(one.name);
    writer.text(one.description);
    writer.number(static_cast<std::uint8_t>(one.built_in));
    writer.number(static_cast<std::uint8_t>(one.runtime));
    writer.text(one.language);
    writer.texts(one.layers);
    writer.texts(one.preload);
    writer.texts(one.env);
    put_limits(writer, one.limits);
    writer.number(one.pool_min);
    writer.number(one.pool_max);
    writer.number(static_cast<std::uint8_t>(status.state));
    writer.number(status.generation);
    writer.number(status.zygotes);
    writer.number(status.forks);
    writer.text(std::string_view(status.error).substr(0, kMaxTraceback));
    return writer.take();
  }
  std::vector<std::byte> operator()(const DestroySandbox& destroy) const {
    ByteWriter writer = begin(kDestroy);
    writer.text(destroy.id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxCreated& created) const {
    ByteWriter writer = begin(kCreated);
    writer.number(created.seq);
    writer.text(created.id.str());
    writer.number(created.walls.bits());
    writer.number(created.generation);
    writer.number(static_cast<std::uint8_t>(created.has_network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxRefused& refused) const {
    ByteWriter writer = begin(kRefused);
    writer.number(refused.seq);
    writer.number(static_cast<std::uint8_t>(refused.code));
    writer.number(static_cast<std::uint32_t>(refused.sys_errno));
    writer.text(std::string_view(refused.message).substr(0, kMaxText));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxEnded& ended) const {
    ByteWriter writer = begin(kEnded);
    writer.text(ended.id.str());
    writer.number(static_cast<std::uint8_t>(ended.reason));
    writer.number(static_cast<std::uint64_t>(ended.usage.cpu.count()));
    writer.number(ended.usage.peak_memory_bytes.value_or(kAbsent64));
    writer.number(ended.usage.processes_peak.value_or(kAbsent32));
    writer.number(ended.usage.oom_kills);
    return writer.take();
  }
};

bool starts_well(ByteReader& from) { return from.number<std::uint8_t>() == kLauncherProtocol; }

bool is_engine(std::uint8_t engine) {
  return engine == static_cast<std::uint8_t>(EngineKind::kJail) ||
         engine == static_cast<std::uint8_t>(EngineKind::kProcess);
}

Result<LauncherRequest> get_create(ByteReader& from) {
  CreateSandbox create;
  create.seq = from.number<std::uint32_t>();
  const auto engine = from.number<std::uint8_t>();
  if (!is_engine(engine)) return malformed();
  create.engine = static_cast<EngineKind>(engine);
  create.template_name = from.text(kMaxName);
  create.limits = get_limits(from);
  const auto mounts = from.number<std::uint8_t>();
  if (mounts > kMaxMounts) return malformed();
  for (unsigned i = 0; i < mounts; ++i) {
    const auto mode = from.number<std::uint8_t>();
    auto guest = GuestPath::parse(from.text(GuestPath::kMaxBytes));
    std::string name = from.text(kMaxMountName);
    if (!guest || (mode != static_cast<std::uint8_t>(MountMode::kReadOnly) &&
                   mode != static_cast<std::uint8_t>(MountMode::kReadWrite))) {
      return malformed();
    }
    create.mounts.push_back({static_cast<MountMode>(mode), std::move(*guest), std::move(name)});
  }
  const auto warm = from.number<std::uint8_t>();
  const auto waits = from.number<std::uint8_t>();
  const auto session = from.number<std::uint8_t>();
  create.project = from.text(kMaxName);
  const auto network = from.number<std::uint8_t>();
  if (!from.finished() || warm > 1 || waits > 1 || session > 1 ||
      network > static_cast<std::uint8_t>(NetworkStage::kUp)) {
    return malformed();
  }
  create.network = static_cast<NetworkStage>(network);
  create.warm = warm == 1;
  create.waits = waits == 1;
  create.session = session == 1;
  return create;
}

Result<LauncherRequest> get_define(ByteReader& from) {
  DefineTemplate define;
  TemplateDefinition& one = define.definition;
  define.seq = from.number<std::uint32_t>();
  one.id = from.text(kMaxName);
  one.from = from.text(kMaxName);
  one.preload = from.texts(kMaxPreload, kMaxModuleBytes);
  one.env = from.texts(kMaxTemplateEnv, kMaxTemplateVariable);
  one.limits = get_limits(from);
  if (!from.finished()) return malformed();
  return define;
}

Result<LauncherReply> get_listed(ByteReader& from) {
  const auto seq = from.number<std::uint32_t>();
  auto id = get_id(from);
  const auto engine = from.number<std::uint8_t>();
  std::string template_name = from.text(kMaxName);
  const Limits limits = get_limits(from);
  const WallSet walls(from.number<std::uint32_t>());
  const auto generation = from.number<std::uint32_t>();
  const auto frozen = from.number<std::uint8_t>();
  if (!id || !from.finished() || !is_engine(engine) || frozen > 1) return malformed();
  return SandboxListed{seq,
                       std::move(*id),
                       static_cast<EngineKind>(engine),
                       std::move(template_name),
                       limits,
                       walls,
                       generation,
                       frozen == 1};
}

Result<LauncherReply> get_measured(ByteReader& from) {
  SandboxMeasured measured;
  measured.seq = from.number<std::uint32_t>();
  measured.cpu_us = from.number<std::uint64_t>();
  measured.memory_bytes = from.number<std::uint64_t>();
  const auto peak = from.number<std::uint64_t>();
  if (peak != kAbsent64) measured.peak_memory_bytes = peak;
  measured.processes = from.number<std::uint32_t>();
  measured.disk_bytes = from.number<std::uint64_t>();
  measured.disk_limit_bytes = from.number<std::uint64_t>();
  measured.oom_kills = from.number<std::uint32_t>();
  if (!from.finished()) return malformed();
  return measured;
}

Result<LauncherReply> get_template(ByteReader& from) {
  TemplateStatus status;
  Template& one = status.description;
  one.name = from.text(kMaxName);
  one.description = from.text(kMaxListedBytes);
  const auto built_in = from.number<std::uint8_t>();
  const auto runtime = from.number<std::uint8_t>();
  one.language = from.text(kMaxName);
  one.layers = from.texts(kMaxListed, kMaxListedBytes);
  one.preload = from.texts(kMaxListed, kMaxListedBytes);
  one.env = from.texts(kMaxListed, kMaxListedBytes);
  one.limits = get_limits(from);
  one.pool_min = from.number<std::uint32_t>();
  one.pool_max = from.number<std::uint32_t>();
  const auto state = from.number<std::uint8_t>();
  status.generation = from.number<std::uint32_t>();
  status.zygotes = from.number<std::uint32_t>();
  status.forks = from.number<std::uint64_t>();
  status.error = from.text(kMaxTraceback);
  if (!from.finished() || built_in > 1 || runtime < 1 ||
      runtime > static_cast<std::uint8_t>(RuntimeKind::kNode) || state < 1 ||
      state > static_cast<std::uint8_t>(RuntimeState::kRemoved)) {
    return malformed();
  }
  one.built_in = built_in == 1;
  one.runtime = static_cast<RuntimeKind>(runtime);
  status.state = static_cast<RuntimeState>(state);
  return TemplateChanged{std::move(status)};
}

}  // namespace

std::vector<std::byte> encode(const LauncherRequest& request) {
  return std::visit(Encoder{}, request);
}
std::vector<std::byte> encode(const LauncherReply& reply) { return std::visit(Encoder{}, reply); }

Result<LauncherRequest> decode_launcher_request(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxLauncherMessage || !starts_well(from)) return malformed();
  switch (from.number<std::uint8_t>()) {
    case kCreate:
      return get_create(from);
    case kDestroy: {
      auto id = get_id(from);
      if (!id || !from.finished()) return malformed();
      return DestroySandbox{std::move(*id)};
    }
    case kTake: {
      auto id = get_id(from);
      const Limits limits = get_limits(from);
      const auto network_up = from.number<std::uint8_t>();
      if (!id || !from.finished() || network_up > 1) return malformed();
      return TakeSandbox{std::move(*id), limits, network_up == 1};
    }
    case kBecomeServer:
      if (!from.finished()) return malformed();
      return BecomeServer{};
    case kPrepare: {
      PrepareTemplate prepare{from.text(kMaxName)};
      if (!from.finished()) return malformed();
      return prepare;
    }
    case kList: {
      const ListSandboxes list{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed();
      return list;
    }
    case kFreeze: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_id(from);
      const auto frozen = from.number<std::uint8_t>();
      if (!id || !from.finished() || frozen > 1) return malformed();
      return FreezeSandbox{seq, std::move(*id), frozen == 1};
    }
    case kMeasure: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_id(from);
      if (!id || !from.finished()) return malformed();
      return MeasureSandbox{seq, std::move(*id)};
    }
    case kDefine:
      return get_define(from);
    case kForget: {
      const auto seq = from.number<std::uint32_t>();
      ForgetTemplate forget{seq, from.text(kMaxName)};
      if (!from.finished()) return malformed();
      return forget;
    }
    case kLend: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_id(from);
      if (!id || !from.finished()) return malformed();
      return LendNetwork{seq, std::move(*id)};
    }
    default:
      return malformed();
  }
}

Result<LauncherReply> decode_launcher_reply(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxLauncherMessage || !starts_well(from)) return malformed();
  switch (from.number<std::uint8_t>()) {
    case kCreated: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_id(from);
      const WallSet walls(from.number<std::uint32_t>());
      const auto generation = from.number<std::uint32_t>();
      const auto has_network = from.number<std::uint8_t>();
      if (!id || !from.finished() || has_network > 1) return malformed();
      return SandboxCreated{seq, std::move(*id), walls, generation, has_network == 1};
    }
    case kTemplate:
      return get_template(from);
    case kListed:
      return get_listed(from);
    case kMeasured:
      return get_measured(from);
    case kDone: {
      const Done done{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed();
      return done;
    }
    case kLent: {
      const NetworkLent lent{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed();
      return lent;
    }
    case kRefused: {
      SandboxRefused refused;
      refused.seq = from.number<std::uint32_t>();
      const auto code = from.number<std::uint8_t>();
      refused.code = code >= 1 && code <= static_cast<std::uint8_t>(Errc::kInternal)
                         ? static_cast<Errc>(code)
                         : Errc::kInternal;
      refused.sys_errno = static_cast<int>(from.number<std::uint32_t>() & 0xffff);
      refused.message = from.text(kMaxText);
      if (!from.finished()) return malformed();
      return refused;
    }
    case kEnded: {
      auto id = get_id(from);
      const auto reason = from.number<std::uint8_t>();
      Usage usage;
      usage.cpu = std::chrono::microseconds(from.number<std::uint64_t>() & (kAbsent64 >> 1));
      const auto memory = from.number<std::uint64_t>();
      const auto processes = from.number<std::uint32_t>();
      usage.oom_kills = from.number<std::uint32_t>();
      if (memory != kAbsent64) usage.peak_memory_bytes = memory;
      if (processes != kAbsent32) usage.processes_peak = processes;
      if (!id || reason < 1 || reason > static_cast<std::uint8_t>(EndReason::kAgentKilled) ||
          !from.finished()) {
        return malformed();
      }
      return SandboxEnded{std::move(*id), static_cast<EndReason>(reason), usage};
    }
    default:
      return malformed();
  }
}

}  // namespace glovebox::wire
