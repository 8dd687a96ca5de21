// Every message survives a round trip, and no cut, stretched or flipped one is taken for another.
#include <gtest/gtest.h>

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
          ProgramExited{1, 0, 77, 4096}};
}

std::vector<PlanMessage> plan_messages() {
  SandboxPlan plan;
  plan.mounts = {path("/data")};
  plan.mount_is_writable = {1};
  plan.home = "/run/x";
  plan.runtime = RuntimeKind::kNode;
  plan.runtime_argv = {"/usr/bin/node"};
  plan.session = true;
  return {MakeSandbox{EngineKind::kJail, 65536, 65536, 3},
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

TEST(Job, RoundTripsAndTakesNothingElse) {
  const Job job{{"A=b"}, {"-x"}, "/tmp", "main.py", std::string("print(1)\0", 9)};
  const std::string bytes = encode_job(job);
  EXPECT_EQ(decode_job(bytes).value(), job);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_job(std::string_view(bytes).substr(0, size)));
  }
  EXPECT_FALSE(decode_job(bytes + "x"));
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
