// What a launcher tells its clients, as bytes and back.
#include "wire/launcher/launcher_codec.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/launcher/limits_codec.h"

namespace glovebox::wire {
namespace {

constexpr std::size_t kMaxReplyText = 2048;
constexpr std::size_t kMaxTraceback = 8192;
constexpr std::size_t kMaxListed = 64;  // modules, variables or layers of a template
constexpr std::size_t kMaxListedBytes = 512;
constexpr std::uint32_t kAbsent32 = ~0u;
constexpr std::uint64_t kAbsent64 = ~0ull;

struct LauncherReplyEncoder {
  std::vector<std::byte> operator()(const SandboxCreated& created) const {
    ByteWriter writer = begin_launcher_message(kCreated);
    writer.number(created.seq);
    writer.text(created.id.str());
    writer.number(created.walls.bits());
    writer.number(created.generation);
    writer.number(static_cast<std::uint8_t>(created.has_network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxRefused& refused) const {
    ByteWriter writer = begin_launcher_message(kRefused);
    writer.number(refused.seq);
    writer.number(static_cast<std::uint8_t>(refused.code));
    writer.number(static_cast<std::uint32_t>(refused.sys_errno));
    writer.text(std::string_view(refused.message).substr(0, kMaxReplyText));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxEnded& ended) const {
    ByteWriter writer = begin_launcher_message(kEnded);
    writer.text(ended.id.str());
    writer.number(static_cast<std::uint8_t>(ended.reason));
    writer.number(static_cast<std::uint64_t>(ended.usage.cpu.count()));
    writer.number(ended.usage.peak_memory_bytes.value_or(kAbsent64));
    writer.number(ended.usage.processes_peak.value_or(kAbsent32));
    writer.number(ended.usage.oom_kills);
    return writer.take();
  }
  std::vector<std::byte> operator()(const TemplateChanged& changed) const {
    const TemplateStatus& status = changed.status;
    const Template& one = status.description;
    ByteWriter writer = begin_launcher_message(kTemplate);
    writer.text(one.name);
    writer.text(one.description);
    writer.number(static_cast<std::uint8_t>(one.built_in));
    writer.number(static_cast<std::uint8_t>(one.runtime));
    writer.text(one.language);
    writer.text(one.root);
    writer.texts(one.layers);
    writer.texts(one.preload);
    writer.texts(one.env);
    writer.number(static_cast<std::uint8_t>(one.host_packages));
    put_limits(writer, one.limits);
    writer.number(one.pool_min);
    writer.number(one.pool_max);
    writer.number(one.session_pool.min);
    writer.number(one.session_pool.max);
    writer.number(static_cast<std::uint8_t>(status.state));
    writer.number(status.generation);
    writer.number(status.zygotes);
    writer.number(status.forks);
    writer.text(std::string_view(status.error).substr(0, kMaxTraceback));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxListed& listed) const {
    ByteWriter writer = begin_launcher_message(kListed);
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
    ByteWriter writer = begin_launcher_message(kMeasured);
    writer.number(measured.seq);
    writer.number(measured.cpu_us.value_or(kAbsent64));
    writer.number(measured.memory_bytes.value_or(kAbsent64));
    writer.number(measured.peak_memory_bytes.value_or(kAbsent64));
    writer.number(measured.processes.value_or(kAbsent32));
    writer.number(measured.disk_bytes);
    writer.number(measured.disk_limit_bytes);
    writer.number(measured.oom_kills);
    writer.number(measured.socket_bytes);
    return writer.take();
  }
  std::vector<std::byte> operator()(const HostMeasured& measured) const {
    ByteWriter writer = begin_launcher_message(kHostMeasured);
    writer.number(measured.seq);
    writer.number(measured.memory_bytes);
    writer.number(measured.memory_limit_bytes);
    writer.number(measured.socket_bytes);
    writer.number(measured.pids);
    writer.number(measured.pids_limit);
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworkLent& lent) const {
    ByteWriter writer = begin_launcher_message(kLent);
    writer.number(lent.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const LayerListed& listed) const {
    ByteWriter writer = begin_launcher_message(kLayerListed);
    writer.number(listed.seq);
    put_record(writer, listed.record);
    return writer.take();
  }
  std::vector<std::byte> operator()(const Done& done) const {
    ByteWriter writer = begin_launcher_message(kDone);
    writer.number(done.seq);
    return writer.take();
  }
};

Result<LauncherReply> get_template_list(ByteReader& from) {
  const auto seq = from.number<std::uint32_t>();
  auto id = get_sandbox_id(from);
  const auto engine = from.number<std::uint8_t>();
  std::string template_name = from.text(kMaxLauncherName);
  const Limits limits = get_limits(from);
  const WallSet walls(from.number<std::uint32_t>());
  const auto generation = from.number<std::uint32_t>();
  const auto frozen = from.number<std::uint8_t>();
  if (!id || !from.finished() || !is_engine(engine) || frozen > 1)
    return malformed_launcher_message();
  return SandboxListed{seq,
                       std::move(*id),
                       static_cast<EngineKind>(engine),
                       std::move(template_name),
                       limits,
                       walls,
                       generation,
                       frozen == 1};
}

// A figure that was counted.
template <class Number>
std::optional<Number> get_known(ByteReader& from, Number absent) {
  const auto number = from.number<Number>();
  return number == absent ? std::nullopt : std::optional<Number>(number);
}

Result<LauncherReply> get_measured(ByteReader& from) {
  SandboxMeasured measured;
  measured.seq = from.number<std::uint32_t>();
  measured.cpu_us = get_known<std::uint64_t>(from, kAbsent64);
  measured.memory_bytes = get_known<std::uint64_t>(from, kAbsent64);
  measured.peak_memory_bytes = get_known<std::uint64_t>(from, kAbsent64);
  measured.processes = get_known<std::uint32_t>(from, kAbsent32);
  measured.disk_bytes = from.number<std::uint64_t>();
  measured.disk_limit_bytes = from.number<std::uint64_t>();
  measured.oom_kills = from.number<std::uint32_t>();
  measured.socket_bytes = from.number<std::uint64_t>();
  if (!from.finished()) return malformed_launcher_message();
  return measured;
}

Result<LauncherReply> get_host_measured(ByteReader& from) {
  HostMeasured measured;
  measured.seq = from.number<std::uint32_t>();
  measured.memory_bytes = from.number<std::uint64_t>();
  measured.memory_limit_bytes = from.number<std::uint64_t>();
  measured.socket_bytes = from.number<std::uint64_t>();
  measured.pids = from.number<std::uint32_t>();
  measured.pids_limit = from.number<std::uint32_t>();
  if (!from.finished()) return malformed_launcher_message();
  return measured;
}

Result<LauncherReply> get_template(ByteReader& from) {
  TemplateStatus status;
  Template& one = status.description;
  one.name = from.text(kMaxLauncherName);
  one.description = from.text(kMaxListedBytes);
  const auto built_in = from.number<std::uint8_t>();
  const auto runtime = from.number<std::uint8_t>();
  one.language = from.text(kMaxLauncherName);
  one.root = from.text(kMaxListedBytes);
  one.layers = from.texts(kMaxListed, kMaxListedBytes);
  one.preload = from.texts(kMaxListed, kMaxListedBytes);
  one.env = from.texts(kMaxListed, kMaxListedBytes);
  const auto host_packages = from.number<std::uint8_t>();
  one.limits = get_limits(from);
  one.pool_min = from.number<std::uint32_t>();
  one.pool_max = from.number<std::uint32_t>();
  one.session_pool.min = from.number<std::uint32_t>();
  one.session_pool.max = from.number<std::uint32_t>();
  const auto state = from.number<std::uint8_t>();
  status.generation = from.number<std::uint32_t>();
  status.zygotes = from.number<std::uint32_t>();
  status.forks = from.number<std::uint64_t>();
  status.error = from.text(kMaxTraceback);
  if (!from.finished() || built_in > 1 || host_packages > 1 || runtime < 1 ||
      runtime > static_cast<std::uint8_t>(RuntimeKind::kNode) || state < 1 ||
      state > static_cast<std::uint8_t>(RuntimeState::kRemoved)) {
    return malformed_launcher_message();
  }
  one.built_in = built_in == 1;
  one.host_packages = host_packages == 1;
  one.runtime = static_cast<RuntimeKind>(runtime);
  status.state = static_cast<RuntimeState>(state);
  return TemplateChanged{std::move(status)};
}

}  // namespace

std::vector<std::byte> encode(const LauncherReply& reply) {
  return std::visit(LauncherReplyEncoder{}, reply);
}

Result<LauncherReply> decode_launcher_reply(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxLauncherMessage || !starts_well(from)) return malformed_launcher_message();
  switch (from.number<std::uint8_t>()) {
    case kCreated: {
      const auto seq = from.number<std::uint32_t>();
      auto id = get_sandbox_id(from);
      const WallSet walls(from.number<std::uint32_t>());
      const auto generation = from.number<std::uint32_t>();
      const auto has_network = from.number<std::uint8_t>();
      if (!id || !from.finished() || has_network > 1) return malformed_launcher_message();
      return SandboxCreated{seq, std::move(*id), walls, generation, has_network == 1};
    }
    case kTemplate:
      return get_template(from);
    case kListed:
      return get_template_list(from);
    case kMeasured:
      return get_measured(from);
    case kHostMeasured:
      return get_host_measured(from);
    case kDone: {
      const Done done{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_launcher_message();
      return done;
    }
    case kLent: {
      const NetworkLent lent{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_launcher_message();
      return lent;
    }
    case kLayerListed: {
      const auto seq = from.number<std::uint32_t>();
      auto record = get_record(from);
      if (!record) return malformed_launcher_message();
      return LayerListed{seq, std::move(*record)};
    }
    case kRefused: {
      SandboxRefused refused;
      refused.seq = from.number<std::uint32_t>();
      const auto code = from.number<std::uint8_t>();
      refused.code = code >= 1 && code <= static_cast<std::uint8_t>(Errc::kInternal)
                         ? static_cast<Errc>(code)
                         : Errc::kInternal;
      refused.sys_errno = static_cast<int>(from.number<std::uint32_t>() & 0xffff);
      refused.message = from.text(kMaxReplyText);
      if (!from.finished()) return malformed_launcher_message();
      return refused;
    }
    case kEnded: {
      auto id = get_sandbox_id(from);
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
        return malformed_launcher_message();
      }
      return SandboxEnded{std::move(*id), static_cast<EndReason>(reason), usage};
    }
    default:
      return malformed_launcher_message();
  }
}

}  // namespace glovebox::wire
