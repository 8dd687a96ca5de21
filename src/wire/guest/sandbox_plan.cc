#include "wire/guest/sandbox_plan.h"

#include "wire/byte_codec.h"
#include "wire/launcher/limits_codec.h"

namespace glovebox::wire {
namespace {

constexpr std::uint8_t kPlanProtocol = 6;
constexpr std::size_t kMaxPlanMounts = 17;  // kMaxMounts, and a layer
constexpr std::size_t kMaxPlanCgroups = 8;
constexpr std::size_t kMaxPlanStep = 256;
constexpr std::size_t kMaxHome = 1024;
constexpr std::size_t kMaxWords = 128;  // of a runtime's command line, or of its environment
constexpr std::size_t kMaxWordBytes = 1024;

enum PlanKind : std::uint8_t {
  kPlanMake = 1,
  kPlanHello,
  kPlanWhole,
  kPlanSealed,
  kPlanFailed,
  kPlanBasics,
  kPlanTaken,
  kPlanZygote,
  kPlanReady,
  kPlanPlaces,
  kPlanJoinRefused,
  kPlanRaise,
  kPlanClean,
};

ByteWriter begin_plan(PlanKind kind) {
  ByteWriter writer;
  writer.number(kPlanProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

tl::unexpected<Error> malformed_plan() { return fail(Errc::kProtocol, "malformed plan message"); }

struct PlanEncoder {
  std::vector<std::byte> operator()(const MakeSandbox& make) const {
    ByteWriter writer = begin_plan(kPlanMake);
    writer.number(static_cast<std::uint8_t>(make.engine));
    writer.number(make.slice_first);
    writer.number(make.slice_count);
    writer.number(make.maker);
    writer.number(make.processes);
    return writer.take();
  }
  std::vector<std::byte> operator()(const MakeZygote& make) const {
    ByteWriter writer = begin_plan(kPlanZygote);
    writer.number(make.uid);
    writer.number(make.cgroups);
    writer.texts(make.argv);
    writer.texts(make.env);
    return writer.take();
  }
  std::vector<std::byte> operator()(const RuntimeReady&) const {
    return begin_plan(kPlanReady).take();
  }
  std::vector<std::byte> operator()(const SandboxHello&) const {
    return begin_plan(kPlanHello).take();
  }
  std::vector<std::byte> operator()(const SandboxTaken& taken) const {
    ByteWriter writer = begin_plan(kPlanTaken);
    put_limits(writer, taken.limits);
    writer.number(static_cast<std::uint8_t>(taken.network_up));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxBasics& basics) const {
    ByteWriter writer = begin_plan(kPlanBasics);
    writer.number(basics.cgroups);
    writer.number(static_cast<std::uint8_t>(basics.network));
    writer.number(basics.shares.terminals);
    writer.number(basics.shares.open_files);
    writer.number(basics.shares.inotify_instances);
    writer.number(basics.shares.inotify_watches);
    writer.number(static_cast<std::uint8_t>(basics.reusable));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxPlan& plan) const {
    ByteWriter writer = begin_plan(kPlanWhole);
    put_limits(writer, plan.limits);
    writer.number(static_cast<std::uint8_t>(plan.memory_is_bounded));
    writer.number(static_cast<std::uint8_t>(plan.cpu_time_is_counted));
    writer.number(static_cast<std::uint8_t>(plan.mounts.size()));
    for (std::size_t i = 0; i < plan.mounts.size(); ++i) {
      writer.number(plan.mount_is_writable[i]);
      writer.text(plan.mounts[i].str());
    }
    writer.number(static_cast<std::uint8_t>(plan.own_uid));
    writer.text(plan.home);
    writer.number(static_cast<std::uint8_t>(plan.runtime));
    writer.texts(plan.runtime_argv);
    writer.texts(plan.runtime_env);
    writer.number(static_cast<std::uint8_t>(plan.session));
    writer.number(static_cast<std::uint8_t>(plan.image));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxSealed& sealed) const {
    ByteWriter writer = begin_plan(kPlanSealed);
    writer.number(sealed.walls.bits());
    writer.number(static_cast<std::uint8_t>(sealed.network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const RaiseNetwork&) const {
    return begin_plan(kPlanRaise).take();
  }
  std::vector<std::byte> operator()(const CleanSandbox&) const {
    return begin_plan(kPlanClean).take();
  }
  std::vector<std::byte> operator()(const JoinRuntime& join) const {
    ByteWriter writer = begin_plan(kPlanPlaces);
    writer.number(join.ticket);
    return writer.take();
  }
  std::vector<std::byte> operator()(const JoinRefused& refused) const {
    ByteWriter writer = begin_plan(kPlanJoinRefused);
    writer.number(refused.ticket);
    writer.text(std::string_view(refused.why).substr(0, kMaxPlanStep));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxFailed& failed) const {
    ByteWriter writer = begin_plan(kPlanFailed);
    writer.text(std::string_view(failed.step).substr(0, kMaxPlanStep));
    writer.number(static_cast<std::uint32_t>(failed.sys_errno));
    return writer.take();
  }
};

Result<PlanMessage> get_plan(ByteReader& from) {
  SandboxPlan plan;
  plan.limits = get_limits(from);
  plan.memory_is_bounded = from.number<std::uint8_t>() != 0;
  plan.cpu_time_is_counted = from.number<std::uint8_t>() != 0;
  const auto mounts = from.number<std::uint8_t>();
  if (mounts > kMaxPlanMounts) return malformed_plan();
  for (unsigned i = 0; i < mounts; ++i) {
    plan.mount_is_writable.push_back(from.number<std::uint8_t>() != 0);
    TRY(GuestPath guest, GuestPath::parse(from.text(GuestPath::kMaxBytes)));
    plan.mounts.push_back(std::move(guest));
  }
  plan.own_uid = from.number<std::uint8_t>() != 0;
  plan.home = from.text(kMaxHome);
  const auto runtime = from.number<std::uint8_t>();
  plan.runtime_argv = from.texts(kMaxWords, kMaxWordBytes);
  plan.runtime_env = from.texts(kMaxWords, kMaxWordBytes);
  plan.session = from.number<std::uint8_t>() != 0;
  plan.image = from.number<std::uint8_t>() != 0;
  if (!from.finished() || runtime < 1 || runtime > static_cast<std::uint8_t>(RuntimeKind::kNode)) {
    return malformed_plan();
  }
  plan.runtime = static_cast<RuntimeKind>(runtime);
  return plan;
}

}  // namespace

std::vector<std::byte> encode(const PlanMessage& message) {
  return std::visit(PlanEncoder{}, message);
}

Result<PlanMessage> decode_plan_message(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxPlanMessage || from.number<std::uint8_t>() != kPlanProtocol) {
    return malformed_plan();
  }
  PlanMessage message;
  switch (from.number<std::uint8_t>()) {
    case kPlanMake: {
      const auto engine = from.number<std::uint8_t>();
      const auto first = from.number<std::uint32_t>();
      const auto count = from.number<std::uint32_t>();
      const auto maker = from.number<std::uint32_t>();
      const auto processes = from.number<std::uint32_t>();
      if (engine < 1 || engine > 2) return malformed_plan();
      message = MakeSandbox{static_cast<EngineKind>(engine), first, count, maker, processes};
      break;
    }
    case kPlanZygote: {
      MakeZygote make;
      make.uid = from.number<std::uint32_t>();
      make.cgroups = from.number<std::uint8_t>();
      make.argv = from.texts(kMaxWords, kMaxWordBytes);
      make.env = from.texts(kMaxWords, kMaxWordBytes);
      if (make.cgroups > kMaxPlanCgroups || make.argv.empty()) return malformed_plan();
      message = std::move(make);
      break;
    }
    case kPlanReady:
      message = RuntimeReady{};
      break;
    case kPlanHello:
      message = SandboxHello{};
      break;
    case kPlanWhole:
      return get_plan(from);
    case kPlanTaken: {
      const Limits limits = get_limits(from);
      message = SandboxTaken{limits, from.number<std::uint8_t>() == 1};
      break;
    }
    case kPlanBasics: {
      const auto cgroups = from.number<std::uint8_t>();
      const auto network = from.number<std::uint8_t>();
      if (cgroups > kMaxPlanCgroups || network > static_cast<std::uint8_t>(NetworkStage::kUp)) {
        return malformed_plan();
      }
      SandboxShares shares;
      shares.terminals = from.number<std::uint32_t>();
      shares.open_files = from.number<std::uint32_t>();
      shares.inotify_instances = from.number<std::uint32_t>();
      shares.inotify_watches = from.number<std::uint32_t>();
      const bool reusable = from.number<std::uint8_t>() == 1;
      message = SandboxBasics{cgroups, static_cast<NetworkStage>(network), shares, reusable};
      break;
    }
    case kPlanSealed: {
      const WallSet walls(from.number<std::uint32_t>());
      message = SandboxSealed{walls, from.number<std::uint8_t>() == 1};
      break;
    }
    case kPlanRaise:
      message = RaiseNetwork{};
      break;
    case kPlanClean:
      message = CleanSandbox{};
      break;
    case kPlanPlaces:
      message = JoinRuntime{from.number<std::uint32_t>()};
      break;
    case kPlanJoinRefused: {
      const auto ticket = from.number<std::uint32_t>();
      message = JoinRefused{ticket, from.text(kMaxPlanStep)};
      break;
    }
    case kPlanFailed: {
      std::string step = from.text(kMaxPlanStep);
      message =
          SandboxFailed{std::move(step), static_cast<int>(from.number<std::uint32_t>() & 0xffff)};
      break;
    }
    default:
      return malformed_plan();
  }
  if (!from.finished()) return malformed_plan();
  return message;
}

}  // namespace glovebox::wire
