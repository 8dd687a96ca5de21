// Every message survives a round trip, and no cut, stretched or flipped one is taken for another.
#include <gtest/gtest.h>

#include <algorithm>

#include "wire/guest/guest_frames.h"
#include "wire/guest/job.h"
#include "wire/guest/sandbox_plan.h"
#include "wire/launcher/launcher_messages.h"
#include "wire/testing/round_trips.h"

namespace glovebox::wire {
namespace {

GuestPath path(std::string_view text) { return GuestPath::parse(text).value(); }

LayerRecord layer_record() {
  LayerRecord record;
  record.id = "0123456789abcdef0123456789abcdef";
  record.bytes = 1ull << 40;
  record.entries = 3;
  record.digest = std::string(64, 'd');
  record.made_ms = 1'700'000'000'000;
  record.used_ms = record.made_ms + 1;
  record.in_use = true;
  record.note = R"({"spec": "x"})";
  return record;
}

std::vector<LauncherRequest> requests() {
  CreateSandbox create;
  create.limits.pids = 7;
  create.limits.mark_asked_for(LimitKind::kPids);
  create.mounts = {{MountMode::kReadOnly, path("/data"), {}},
                   {MountMode::kReadWrite, path("/out"), "shared"}};
  create.seq = 77;
  create.warm = true;
  create.hurry = true;
  create.project = "default";
  create.tenant = 0xfedcba9876543210;
  CreateSandbox session;
  session.session = true;
  CreateSandbox reusable;
  reusable.reusable = true;
  CreateSandbox making = session;
  making.layer = std::string(kLayerIdSize, 'a');
  making.make_layer = true;
  TemplateDefinition definition{
      "own.0123456789abcdefghij", "python", {"json.tool", "re"}, {"A=b=c"}, {}};
  definition.limits.memory_bytes = 1u << 30;
  definition.limits.mark_asked_for(LimitKind::kMemory);
  TemplateDefinition layered = definition;
  layered.layers = {std::string(kLayerIdSize, '0'), std::string(kLayerIdSize, 'f')};
  layered.image = std::string(kLayerIdSize, 'a');
  return {create,
          CreateSandbox{},
          TakeSandbox{SandboxId::make(), create.limits, true, 17, 0x1234},
          DestroySandbox{SandboxId::make()},
          BecomeServer{},
          PrepareTemplate{"python"},
          session,
          making,
          DefineTemplate{13, layered},
          KeepLayer{14, layer_record()},
          NoteLayer{15, layer_record().id, "a note"},
          DropLayer{16, layer_record().id},
          ListLayers{17},
          ListSandboxes{5},
          FreezeSandbox{6, SandboxId::make(), true},
          FreezeSandbox{7, SandboxId::make(), false},
          MeasureSandbox{8, SandboxId::make()},
          DefineTemplate{9, definition},
          DefineTemplate{10, {"own.0123456789abcdefghij", "base", {}, {}, {}}},
          ForgetTemplate{11, "own.0123456789abcdefghij"},
          LendNetwork{12, SandboxId::make()},
          MeasureHost{18},
          RecycleSandbox{19, SandboxId::make(), true},
          RecycleSandbox{20, SandboxId::make(), false, true},
          reusable};
}

std::vector<LauncherReply> replies() {
  Usage usage{.cpu = std::chrono::microseconds(5),
              .peak_memory_bytes = 4096,
              .processes_peak = 3,
              .oom_kills = 1};
  TemplateStatus status;
  status.description.name = "python";
  status.description.preload = {"json", "re"};
  status.description.env = {"A=b"};
  status.description.host_packages = true;
  status.state = RuntimeState::kFailed;
  status.error = "Traceback";
  return {SandboxCreated{3, SandboxId::make(), WallSet(5), 9, true},
          SandboxRefused{4, Errc::kPolicy, EPERM, "no"},
          TemplateChanged{status},
          SandboxEnded{SandboxId::make(), EndReason::kCpuTimeout, usage},
          SandboxEnded{SandboxId::make(), EndReason::kExited, Usage{}},
          SandboxListed{4, SandboxId::make(), EngineKind::kJail, "python", Limits{}, WallSet(7), 2,
                        true},
          SandboxMeasured{9, 1, 2, 3, 4, 5, 6, 7, 8},
          SandboxMeasured{9, 1, 2, std::nullopt, 4, 5, 6, 7, 8},
          SandboxMeasured{9, std::nullopt, std::nullopt, std::nullopt, std::nullopt, 5, 6, 7, 8},
          Done{3},
          NetworkLent{5},
          LayerListed{6, layer_record()},
          HostMeasured{7, 1ull << 40, 2, 3, 4, 5}};
}

std::vector<ClientFrame> client_frames() {
  StartProgram piped{{.argv = {"/bin/sh", "-c", ""}, .env = {"A=b"}, .terminal = std::nullopt}};
  StartProgram terminal{{.argv = {"x"}, .env = {}, .terminal = TerminalSize{50, 132}}};
  return {PutFile{path("/a"), 0755},
          GetFile{path("/b/c")},
          FileChunk{std::string("\0\xff", 2)},
          FileEnd{},
          piped,
          terminal,
          StartProgram{piped.exec, true},
          JobChunk{"x"},
          StartJob{},
          StartJob{true},
          CheckCall{},
          FindFiles{"/home/user/*.png"},
          SignalProgram{15},
          ResizeTerminal{{1, 2}}};
}

std::vector<AgentFrame> agent_frames() {
  return {FileStored{},
          FileFailed{ENOENT, "open"},
          FileChunk{"x"},
          FileEnd{},
          FoundFiles{{{path("/a"), 7}, {path("/b"), 0}}, false},
          ProgramStarted{2},
          StartFailed{ENOENT, "exec"},
          ProgramExited{1, 0, 77, 4096},
          CallChecked{},
          CallChecked{"a process"}};
}

std::vector<PlanMessage> plan_messages() {
  SandboxPlan plan;
  plan.mounts = {path("/data")};
  plan.mount_is_writable = {1};
  plan.home = "/run/x";
  plan.runtime = RuntimeKind::kNode;
  plan.runtime_argv = {"/usr/bin/node"};
  plan.session = true;
  plan.image = true;
  return {MakeSandbox{EngineKind::kJail, 65536, 65536, 3, 64},
          MakeZygote{5, 2, {"/usr/bin/python3", "-I"}, {"A=b"}},
          RuntimeReady{},
          SandboxHello{},
          SandboxBasics{4, NetworkStage::kUp, {16, 131'072, 8, 2048}, true},
          RaiseNetwork{},
          CleanSandbox{},
          SandboxTaken{{}, true},
          SandboxSealed{WallSet(3), true},
          SandboxTaken{},
          plan,
          SandboxSealed{WallSet(3)},
          JoinRuntime{7},
          JoinRefused{8, "the zygote is gone"},
          SandboxFailed{"mount proc", EPERM}};
}

TEST(LauncherMessages, RoundTripAndTakeNothingElse) {
  expect_round_trips(requests(), decode_launcher_request);
  expect_round_trips(replies(), decode_launcher_reply);
}
TEST(GuestFrames, RoundTripAndTakeNothingElse) {
  expect_round_trips(client_frames(), decode_client_frame);
  expect_round_trips(agent_frames(), decode_agent_frame);
}
TEST(PlanMessages, RoundTripAndTakeNothingElse) {
  expect_round_trips(plan_messages(), decode_plan_message);
}

TEST(LauncherMessages, HaveOneSpelling) {
  expect_one_spelling(requests(), decode_launcher_request);
  std::vector<LauncherReply> told = replies();
  std::erase_if(told, [](const LauncherReply& reply) {  // whose code is ours or "internal"
    return std::holds_alternative<SandboxRefused>(reply);
  });
  expect_one_spelling(told, decode_launcher_reply);
}
TEST(GuestFrames, HaveOneSpelling) {
  expect_one_spelling(client_frames(), decode_client_frame);
  expect_one_spelling(agent_frames(), decode_agent_frame);
}

bool is_taken(const LauncherRequest& request) {
  return decode_launcher_request(encode(request)) == request;
}
bool is_taken(const LauncherReply& reply) { return decode_launcher_reply(encode(reply)) == reply; }
bool is_taken(const ClientFrame& frame) { return decode_client_frame(encode(frame)) == frame; }
bool is_taken(const AgentFrame& frame) { return decode_agent_frame(encode(frame)) == frame; }
bool is_taken(const PlanMessage& message) {
  return decode_plan_message(encode(message)) == message;
}

// With `size` bytes when it is encoded.
template <class Message, class Made, class Lengthen>
bool is_taken_at(std::size_t size, Made message, Lengthen lengthen) {
  lengthen(message, size - encode(Message(message)).size());
  EXPECT_EQ(encode(Message(message)).size(), size);
  return is_taken(Message(message));
}

TEST(Messages, AreTakenUpToTheirLargestSize) {
  const auto a_path = [](std::size_t size) {
    std::string text;
    while (text.size() + 1 < size) text += text.size() % 100 == 0 ? '/' : 'x';
    return path(text + 'x');
  };
  DefineTemplate define;
  define.definition.env.assign(64, std::string(500, 'x'));
  define.definition.env.back().clear();
  const auto variable = [](DefineTemplate& one, std::size_t more) {
    one.definition.preload.assign(more / 104, std::string(100, 'x'));
    one.definition.env.back().assign(more % 104, 'x');
  };
  EXPECT_TRUE(is_taken_at<LauncherRequest>(kMaxLauncherMessage, define, variable));
  EXPECT_FALSE(is_taken_at<LauncherRequest>(kMaxLauncherMessage + 1, define, variable));

  TemplateChanged changed;
  changed.status.description.preload.assign(60, std::string(500, 'x'));
  const auto traceback = [](TemplateChanged& one, std::size_t more) {
    one.status.error.assign(more, 'x');
  };
  EXPECT_TRUE(is_taken_at<LauncherReply>(kMaxLauncherMessage, changed, traceback));
  EXPECT_FALSE(is_taken_at<LauncherReply>(kMaxLauncherMessage + 1, changed, traceback));

  MakeZygote zygote{5, 8, {"x"}, std::vector<std::string>(24, std::string(1000, 'x'))};
  const auto word = [](MakeZygote& one, std::size_t more) { one.argv[0].append(more, 'x'); };
  EXPECT_TRUE(is_taken_at<PlanMessage>(kMaxPlanMessage, zygote, word));
  EXPECT_FALSE(is_taken_at<PlanMessage>(kMaxPlanMessage + 1, zygote, word));

  FoundFiles found;
  found.files.assign(160, {a_path(1000), 1});
  found.files.push_back({path("/x"), 1});
  const auto last = [&a_path](FoundFiles& one, std::size_t more) {
    one.files.back().path = a_path(2 + more % 900);
    for (; more >= 900; more -= 900) one.files.push_back({a_path(900 - 12), 1});
  };
  EXPECT_TRUE(is_taken_at<AgentFrame>(kMaxGuestFrame, found, last));
  EXPECT_FALSE(is_taken_at<AgentFrame>(kMaxGuestFrame + 1, found, last));

  StartProgram start{{.argv = {"x"}, .env = {}, .terminal = {}}};
  start.exec.env.assign(1, std::string(kMaxExecBytes, 'x'));
  const auto argument = [](StartProgram& one, std::size_t more) {
    one.exec.argv[0].append(more, 'x');
  };
  EXPECT_TRUE(is_taken_at<ClientFrame>(kMaxGuestFrame, start, argument));
  EXPECT_FALSE(is_taken_at<ClientFrame>(kMaxGuestFrame + 1, start, argument));
}

TEST(LauncherMessages, WhatIsNotSaidIsNotAskedFor) {
  const CreateSandbox create;
  EXPECT_FALSE(create.warm || create.hurry || create.waits);
  EXPECT_FALSE(create.session || create.make_layer);
  EXPECT_FALSE((TakeSandbox{SandboxId::make(), Limits{}}.network_up));
  EXPECT_FALSE((FreezeSandbox{1, SandboxId::make()}.frozen));
  EXPECT_FALSE((SandboxCreated{1, SandboxId::make(), WallSet(0)}.has_network));
  EXPECT_FALSE(
      (SandboxListed{1, SandboxId::make(), EngineKind::kJail, "x", Limits{}, WallSet(0)}.frozen));
}

TEST(LauncherMessages, TakeEachFlagAndChoice) {
  CreateSandbox waiting;
  waiting.waits = true;
  waiting.network = NetworkStage::kUp;
  EXPECT_TRUE(is_taken(LauncherRequest(waiting)));
  CreateSandbox layer;
  layer.session = layer.make_layer = true;
  layer.layer = std::string(kLayerIdSize, 'f');
  EXPECT_TRUE(is_taken(LauncherRequest(layer)));
  for (const EngineKind engine : {EngineKind::kProcess, EngineKind::kJail}) {
    CreateSandbox create;
    create.engine = engine;
    EXPECT_TRUE(is_taken(LauncherRequest(create)));
  }
  TemplateStatus status;
  status.description.name = "x";
  status.description.built_in = status.description.host_packages = true;
  status.description.runtime = RuntimeKind::kNode;
  for (unsigned state = 1; state <= static_cast<unsigned>(RuntimeState::kRemoved); ++state) {
    status.state = static_cast<RuntimeState>(state);
    EXPECT_TRUE(is_taken(LauncherReply(TemplateChanged{status}))) << state;
  }
  status.state = static_cast<RuntimeState>(static_cast<unsigned>(RuntimeState::kRemoved) + 1);
  EXPECT_FALSE(is_taken(LauncherReply(TemplateChanged{status})));
  for (unsigned why = 1; why <= static_cast<unsigned>(EndReason::kAgentKilled); ++why) {
    EXPECT_TRUE(is_taken(
        LauncherReply(SandboxEnded{SandboxId::make(), static_cast<EndReason>(why), Usage{}})))
        << why;
  }
  for (const unsigned why : {0u, static_cast<unsigned>(EndReason::kAgentKilled) + 1}) {
    EXPECT_FALSE(is_taken(
        LauncherReply(SandboxEnded{SandboxId::make(), static_cast<EndReason>(why), Usage{}})))
        << why;
  }
  for (unsigned code = 1; code <= static_cast<unsigned>(Errc::kInternal); ++code) {
    EXPECT_TRUE(is_taken(LauncherReply(SandboxRefused{4, static_cast<Errc>(code), EPERM, "no"})))
        << code;
  }
}

TEST(LauncherMessages, AWeightIsAPartOfTheWhole) {
  const auto with = [](std::uint16_t weight) {
    return LauncherRequest(TakeSandbox{SandboxId::make(), Limits{}, false, weight});
  };
  EXPECT_FALSE(is_taken(with(0)));
  EXPECT_TRUE(is_taken(with(1)));
  EXPECT_TRUE(is_taken(with(kFullCpuWeight)));
  EXPECT_FALSE(is_taken(with(kFullCpuWeight + 1)));
}

TEST(LauncherMessages, ASandboxHasAtMostSoManyMounts) {
  CreateSandbox create;
  create.mounts.assign(kMaxMounts, {MountMode::kReadOnly, path("/data"), {}});
  EXPECT_TRUE(is_taken(LauncherRequest(create)));
  create.mounts.push_back(create.mounts.front());
  EXPECT_FALSE(is_taken(LauncherRequest(create)));
}

TEST(LauncherMessages, LimitsHaveBounds) {
  const auto is_good = [](const auto& change) {
    CreateSandbox create;
    change(create.limits);
    return is_taken(LauncherRequest(create));
  };
  using std::chrono::milliseconds;
  static constexpr milliseconds kYear(366ull * 24 * 3'600'000);
  static constexpr std::uint64_t kPetabyte = 1ull << 50;
  EXPECT_TRUE(is_good([](Limits& of) { of.wall = kYear; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.wall = kYear + milliseconds(1); }));
  EXPECT_TRUE(is_good([](Limits& of) { of.wall = milliseconds(1); }));
  EXPECT_FALSE(is_good([](Limits& of) { of.wall = milliseconds(0); }));
  EXPECT_TRUE(is_good([](Limits& of) { of.cpu_time = kYear; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.cpu_time = kYear + milliseconds(1); }));
  EXPECT_TRUE(is_good([](Limits& of) { of.cpu_time = milliseconds(0); }));  // none of its own
  EXPECT_TRUE(is_good([](Limits& of) { of.memory_bytes = kPetabyte; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.memory_bytes = kPetabyte + 1; }));
  EXPECT_TRUE(is_good([](Limits& of) { of.disk_bytes = kPetabyte; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.disk_bytes = kPetabyte + 1; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.disk_bytes = 0; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.pids = 0; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.cpu_thousandths = 0; }));
  EXPECT_FALSE(is_good([](Limits& of) { of.disk_inodes = 0; }));
}

TEST(GuestFrames, WhatIsNotSaidIsNotAskedFor) {
  EXPECT_FALSE(StartProgram{}.runtime);
  EXPECT_TRUE(FoundFiles{}.complete);  // false is what must be said
}

TEST(GuestFrames, NumbersHaveBounds) {
  for (const unsigned signal : {1u, 64u}) {
    EXPECT_TRUE(is_taken(ClientFrame(SignalProgram{static_cast<std::uint8_t>(signal)})));
  }
  for (const unsigned signal : {0u, 65u}) {
    EXPECT_FALSE(is_taken(ClientFrame(SignalProgram{static_cast<std::uint8_t>(signal)})));
  }
  ProgramExited exited{0, 64, 0, 0};
  EXPECT_TRUE(is_taken(AgentFrame(exited)));
  exited.signal = 65;
  EXPECT_FALSE(is_taken(AgentFrame(exited)));
  EXPECT_TRUE(is_taken(AgentFrame(FileFailed{0xffff, "open"})));
  EXPECT_FALSE(is_taken(AgentFrame(FileFailed{0x10000, "open"})));
  EXPECT_TRUE(is_taken(AgentFrame(StartFailed{0xffff, "exec"})));
  EXPECT_FALSE(is_taken(AgentFrame(StartFailed{0x10000, "exec"})));
  FoundFiles found;
  found.files.assign(kMaxFoundFiles, {path("/a"), 1});
  EXPECT_TRUE(is_taken(AgentFrame(found)));
  found.files.push_back({path("/b"), 1});
  EXPECT_FALSE(is_taken(AgentFrame(found)));
}

TEST(PlanMessages, WhatIsNotSaidIsTheStricterWay) {
  const SandboxPlan plan;
  EXPECT_TRUE(plan.memory_is_bounded);  // by the cgroup, so that no rlimit stands in for it
  EXPECT_TRUE(plan.cpu_time_is_counted);
  EXPECT_FALSE(plan.own_uid);
  EXPECT_FALSE(plan.session);
  EXPECT_FALSE(SandboxSealed{}.network);
  EXPECT_FALSE(SandboxTaken{}.network_up);
}

TEST(PlanMessages, ChoicesAndCountsHaveBounds) {
  const auto plan_for = [](unsigned runtime, std::size_t mounts) {
    SandboxPlan plan;
    plan.runtime = static_cast<RuntimeKind>(runtime);
    plan.mounts.assign(mounts, path("/data"));
    plan.mount_is_writable.assign(mounts, 1);
    return PlanMessage(plan);
  };
  const auto last = static_cast<unsigned>(RuntimeKind::kNode);
  for (unsigned runtime = 1; runtime <= last; ++runtime) {
    EXPECT_TRUE(is_taken(plan_for(runtime, 0))) << runtime;
  }
  EXPECT_FALSE(is_taken(plan_for(0, 0)));
  EXPECT_FALSE(is_taken(plan_for(last + 1, 0)));
  EXPECT_TRUE(is_taken(plan_for(last, kMaxMounts + 1)));  // those that were asked for, and a layer
  EXPECT_FALSE(is_taken(plan_for(last, kMaxMounts + 2)));
  for (const unsigned engine : {0u, 1u, 2u, 3u}) {
    EXPECT_EQ(is_taken(PlanMessage(MakeSandbox{static_cast<EngineKind>(engine), 1, 1, 1})),
              engine == 1 || engine == 2);
  }
  EXPECT_TRUE(is_taken(PlanMessage(MakeZygote{5, 8, {"x"}, {}})));
  EXPECT_FALSE(is_taken(PlanMessage(MakeZygote{5, 9, {"x"}, {}})));
  EXPECT_TRUE(is_taken(PlanMessage(SandboxBasics{8, NetworkStage::kUp, {16, 131'072, 8, 2048}})));
  EXPECT_FALSE(is_taken(PlanMessage(SandboxBasics{9, NetworkStage::kUp, {16, 131'072, 8, 2048}})));
  EXPECT_FALSE(is_taken(
      PlanMessage(SandboxBasics{8, static_cast<NetworkStage>(3), {16, 131'072, 8, 2048}})));
}

TEST(Job, RoundTripsAndTakesNothingElse) {
  const Job job{{"A=b"}, {"-x"}, "/tmp", "main.py", std::string("print(1)\0", 9)};
  const std::string bytes = encode_job(job);
  EXPECT_EQ(decode_job(bytes).value(), job);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_job(std::string_view(bytes).substr(0, size)));
  }
  EXPECT_FALSE(decode_job(bytes + "x"));
}

TEST(GuestFrames, APathHasOneSpelling) {
  std::vector<std::byte> bytes = encode(ClientFrame(GetFile{path("/a/x/b")}));
  const auto place = std::find(bytes.begin(), bytes.end(), std::byte{'x'});
  ASSERT_NE(place, bytes.end());
  EXPECT_TRUE(decode_client_frame(bytes));
  for (const char c : {'/', '.', '\0'}) {  // "/a///b", "/a/./b"
    *place = static_cast<std::byte>(c);
    EXPECT_FALSE(decode_client_frame(bytes)) << static_cast<int>(c);
  }
}

TEST(GuestFrames, RefuseANulInAnArgument) {
  StartProgram start{{.argv = {std::string("/bin/true\0x", 11)}, .env = {}, .terminal = {}}};
  EXPECT_FALSE(decode_client_frame(encode(ClientFrame(start))));
}

TEST(LauncherMessages, RefuseALimitOfZero) {
  CreateSandbox create;
  create.limits.memory_bytes = 0;
  EXPECT_FALSE(decode_launcher_request(encode(LauncherRequest(create))));
}

TEST(LauncherMessages, RefuseAnUnknownEngine) {
  CreateSandbox create;
  EXPECT_TRUE(decode_launcher_request(encode(LauncherRequest(create))));
  create.engine = static_cast<EngineKind>(255);
  EXPECT_FALSE(decode_launcher_request(encode(LauncherRequest(create))));
}

TEST(LauncherMessages, ALayersIdIsOneAndItsNoteIsBounded) {
  for (const std::string id : {"", "..", "../../etc", "0123456789ABCDEF0123456789abcdef",
                               "0123456789abcdef0123456789abcde/"}) {
    LayerRecord record = layer_record();
    record.id = id;
    EXPECT_FALSE(decode_launcher_request(encode(LauncherRequest(KeepLayer{1, record})))) << id;
    EXPECT_FALSE(decode_launcher_reply(encode(LauncherReply(LayerListed{1, record})))) << id;
    EXPECT_FALSE(decode_launcher_request(encode(LauncherRequest(DropLayer{1, id})))) << id;
    EXPECT_FALSE(decode_launcher_request(encode(LauncherRequest(NoteLayer{1, id, ""})))) << id;
    CreateSandbox create;
    create.layer = id;
    EXPECT_EQ(decode_launcher_request(encode(LauncherRequest(create))).has_value(), id.empty());
  }
  const std::string note(kMaxLayerNote + 1, 'n');
  EXPECT_FALSE(
      decode_launcher_request(encode(LauncherRequest(NoteLayer{1, layer_record().id, note}))));
  LayerRecord longest = layer_record();
  longest.note = note.substr(1);
  EXPECT_LT(encode(LauncherReply(LayerListed{1, longest})).size(), kMaxLauncherMessage);
}

TEST(LauncherMessages, ALyingCountAllocatesNothing) {
  // A start frame that promises four thousand strings in six bytes.
  std::vector<std::byte> bytes = {std::byte{2},    std::byte{5},    std::byte{0x00},
                                  std::byte{0x10}, std::byte{0x00}, std::byte{0x00}};
  EXPECT_FALSE(decode_client_frame(bytes));
}

}  // namespace
}  // namespace glovebox::wire
