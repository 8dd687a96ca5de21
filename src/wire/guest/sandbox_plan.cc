#include "wire/guest/sandbox_plan.h"

#include "wire/byte_codec.h"
#include "wire/launcher/limits_codec.h"

namespace glovebox::wire {
namespace {

constexpr std::uint8_t kPlanProtocol = 4;
constexpr std::size_t kMaxPlanMounts = 17;  // kMaxMounts, and a layer
constexpr std::size_t kMaxPlanCgroups = 8;
constexpr std::size_t kMaxStep = 256;
constexpr std::size_t kMaxHome = 1024;
constexpr std::size_t kMaxWords = 128;  // of a runtime's command line, or of its environment
constexpr std::size_t kMaxWordBytes = 1024;

enum Kind : std::uint8_t {
  kMake = 1,
  kHello,
  kPlan,
  kSealed,
  kFailed,
  kBasics,
  kTaken,
  kZygote,
  kReady,
  kPlaces,
  kJoinRefused,
  kRaise,
};

ByteWriter begin(Kind kind) {
  ByteWriter writer;
  writer.number(kPlanProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

tl::unexpected<Error> malformed() { return fail(Errc::kProtocol, "malformed plan message"); }

struct Encoder {
  std::vector<std::byte> operator()(const MakeSandbox& make) const {
    ByteWriter writer = begin(kMake);
    writer.number(static_cast<std::uint8_t>(make.engine));
    writer.number(make.slice_first);
    writer.number(make.slice_count);
    writer.number(make.maker);
    return writer.take();
  }
  std::vector<std::byte> operator()(const MakeZygote& make) const {
    ByteWriter writer = begin(kZygote);
    writer.number(make.uid);
    writer.number(make.cgroups);
    writer.texts(make.argv);
    writer.texts(make.env);
    return writer.take();
  }
  std::vector<std::byte> operator()(const RuntimeReady&) const { return begin(kReady).take(); }
  std::vector<std::byte> operator()(const SandboxHello&) const { return begin(kHello).take(); }
  std::vector<std::byte> operator()(const SandboxTaken& taken) const {
    ByteWriter writer = begin(kTaken);
    put_limits(writer, taken.limits);
    writer.number(static_cast<std::uint8_t>(taken.network_up));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxBasics& basics) const {
    ByteWriter writer = begin(kBasics);
    writer.number(basics.cgroups);
    writer.number(static_cast<std::uint8_t>(basics.network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxPlan& plan) const {
    ByteWriter writer = begin(kPlan);
    put_limits(writer, plan.limits);
    writer.number(static_cast<std::uint8_t>(plan.memory_is_bounded));
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
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxSealed& sealed) const {
    ByteWriter writer = begin(kSealed);
    writer.number(sealed.walls.bits());
    writer.number(static_cast<std::uint8_t>(sealed.network));
    return writer.take();
  }
  std::vector<std::byte> operator()(const RaiseNetwork&) const { return begin(kRaise).take(); }
  std::vector<std::byte> operator()(const JoinPlaces& places) const {
    ByteWriter writer = begin(kPlaces);
    writer.number(places.ticket);
    return writer.take();
  }
  std::vector<std::byte> operator()(const JoinRefused& refused) const {
    ByteWriter writer = begin(kJoinRefused);
    writer.number(refused.ticket);
    writer.text(std::string_view(refused.why).substr(0, kMaxStep));
    return writer.take();
  }
  std::vector<std::byte> operator()(const SandboxFailed& failed) const {
    ByteWriter writer = begin(kFailed);
    writer.text(std::string_view(failed.step).substr(0, kMaxStep));
    writer.number(static_cast<std::uint32_t>(failed.sys_errno));
    return writer.take();
  }
};

Result<PlanMessage> get_plan(ByteReader& from) {
  SandboxPlan plan;
  plan.limits = get_limits(from);
  plan.memory_is_bounded = from.number<std::uint8_t>() != 0;
  const auto mounts = from.number<std::uint8_t>();
  if (mounts > kMaxPlanMounts) return malformed();
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
  if (!from.finished() || runtime < 1 || runtime > static_cast<std::uint8_t>(RuntimeKind::kNode)) {
    return malformed();
  }
  plan.runtime = static_cast<RuntimeKind>(runtime);
  return plan;
}

}  // namespace

std::vector<std::byte> encode(const PlanMessage& message) { return std::visit(Encoder{}, message); }

Result<PlanMessage> decode_plan_message(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxPlanMessage || from.number<std::uint8_t>() != kPlanProtocol) {
    return malformed();
  }
  PlanMessage message;
  switch (from.number<std::uint8_t>()) {
    case kMake: {
      const auto engine = from.number<std::uint8_t>();
      const auto first = from.number<std::uint32_t>();
      const auto count = from.number<std::uint32_t>();
      const auto maker = from.number<std::uint32_t>();
      if (engine < 1 || engine > 2) return malformed();
      message = MakeSandbox{static_cast<EngineKind>(engine), first, count, maker};
      break;
    }
    case kZygote: {
      MakeZygote make;
      make.uid = from.number<std::uint32_t>();
      make.cgroups = from.number<std::uint8_t>();
      make.argv = from.texts(kMaxWords, kMaxWordBytes);
      make.env = from.texts(kMaxWords, kMaxWordBytes);
      if (make.cgroups > kMaxPlanCgroups || make.argv.empty()) return malformed();
      message = std::move(make);
      break;
    }
    case kReady:
      message = RuntimeReady{};
      break;
    case kHello:
      message = SandboxHello{};
      break;
    case kPlan:
      return get_plan(from);
    case kTaken: {
      const Limits limits = get_limits(from);
      message = SandboxTaken{limits, from.number<std::uint8_t>() == 1};
      break;
    }
    case kBasics: {
      const auto cgroups = from.number<std::uint8_t>();
      const auto network = from.number<std::uint8_t>();
      if (cgroups > kMaxPlanCgroups || network > static_cast<std::uint8_t>(NetworkStage::kUp)) {
        return malformed();
      }
      message = SandboxBasics{cgroups, static_cast<NetworkStage>(network)};
      break;
    }
    case kSealed: {
      const WallSet walls(from.number<std::uint32_t>());
      message = SandboxSealed{walls, from.number<std::uint8_t>() == 1};
      break;
    }
    case kRaise:
      message = RaiseNetwork{};
      break;
    case kPlaces:
      message = JoinPlaces{from.number<std::uint32_t>()};
      break;
    case kJoinRefused: {
      const auto ticket = from.number<std::uint32_t>();
      message = JoinRefused{ticket, from.text(kMaxStep)};
      break;
    }
    case kFailed: {
      std::string step = from.text(kMaxStep);
      message =
          SandboxFailed{std::move(step), static_cast<int>(from.number<std::uint32_t>() & 0xffff)};
      break;
    }
    default:
      return malformed();
  }
  if (!from.finished()) return malformed();
  return message;
}

}  // namespace glovebox::wire
