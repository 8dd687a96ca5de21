// The sandboxes of a build: what each may and may not get, how output and trees are handled, and
// that no sandbox is left afterwards.
#include "packages/builds/build_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>

#include "packages/builds/testing/fake_build_host.h"
#include "store/sha256.h"

namespace glovebox::packages {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSha = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const std::string kId(kLayerIdSize, 'c');

std::string artefact(const std::string& name) {
  return R"({"name":")" + name + R"(","version":"1","file":")" + name +
         R"(-1-py3-none-any.whl","sha256":")" + kSha + R"("})";
}
std::string ready(const std::string& name) {
  return R"({"state":"ready","interpreter":"cpython-3.11","artefacts":[)" + artefact(name) + "]}";
}
std::string source(const std::string& name, char digit) {
  return R"({"state":"source","source":{"name":")" + name + R"(","version":"1","file":")" + name +
         R"(-1.tar.gz","sha256":")" + std::string(64, digit) + R"("}})";
}

class BuildPipelineTest : public testing::Test {
 protected:
  BuildPipelineTest() {
    options.timeout = seconds(30);
    options.memory_bytes = 1u << 30;
    options.disk_bytes = 1u << 30;
    options.max_layer_bytes = 1u << 20;
    options.indexes.pip_index = "https://bob:hush%21hush@pypi.example/simple";
    options.indexes.npm_registry = "https://npm.example/";
    options.indexes.npmrc_lines = {"//npm.example/:_authToken=npmsecret"};
    options.indexes.ca_bundle = "certificates";
    options.indexes.pip_rules = {net::NetRule::parse("pypi.example:443").value()};
    options.indexes.npm_rules = {net::NetRule::parse("npm.example:443").value()};
    host.on_script = [](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
      work(room, script);
      process.exit(0);
    };
  }

  // A good package of wheels.
  static void work(FakeRoom& room, const std::string& script) {
    if (script == "pip_fetch.py") {
      room.put("/home/user/out/result.json", ready("good"));
      room.put("/home/user/out/wheels/good-1-py3-none-any.whl", "a wheel");
    } else if (script == "pip_install.py") {
      room.put("/home/user/out/result.json", R"({"state":"ready"})");
      room.put("/home/user/out/layer/opt/glovebox-packages/python/good.py", "print()");
      room.put("/home/user/out/layer/usr/local/bin/good", "#!");
      room.put("/home/user/out/layer/etc/passwd", "root::0:0");
    } else if (script == "npm_fetch.py") {
      room.put("/home/user/out/result.json", ready("lodash"));
      room.put("/home/user/out/tree/package.json", "{}");
    } else if (script == "npm_install.py") {
      room.put("/home/user/out/result.json", R"({"state":"ready"})");
      room.put("/home/user/out/layer/node_modules/lodash/index.js", "1");
    }
  }

  template <class T>
  Result<T> await(Task<T> task) {
    std::optional<Result<T>> result;
    asio::co_spawn(io, std::move(task), [&](std::exception_ptr error, Result<T> value) {
      if (error) std::rethrow_exception(error);
      result.emplace(std::move(value));
    });
    const auto deadline = std::chrono::steady_clock::now() + seconds(10);
    while (!result && std::chrono::steady_clock::now() < deadline) {
      io.restart();
      io.run_one_for(milliseconds(20));
    }
    EXPECT_TRUE(result.has_value()) << "it does not end";
    io.restart();
    io.poll();
    return result ? std::move(*result) : fail(Errc::kTimeout, "it does not end");
  }
  OnBuildProgress heard() {
    return [this](const BuildProgress& progress) { words.push_back(progress); };
  }
  std::string all_words() const {
    std::string text;
    for (const BuildProgress& progress : words) text += progress.text + "\n";
    return text;
  }
  BuildRequest request(PackageManager manager = PackageManager::kPip) const {
    BuildRequest wanted;
    wanted.manager = manager;
    wanted.template_name = manager == PackageManager::kPip ? "python" : "node";
    wanted.dependencies.packages = {"good"};
    wanted.project = "p1";
    wanted.layout.own_site = true;
    return wanted;
  }
  BuildPipeline& pipeline() {
    if (!made) made = make_build_pipeline({io, host, host, nullptr}, options);
    return *made;
  }
  Result<FetchedPackages> fetch(PackageManager manager = PackageManager::kPip) {
    return await(pipeline().fetch(request(manager), heard(), cancel));
  }
  Result<LayerRecord> build(PackageManager manager = PackageManager::kPip) {
    Result<FetchedPackages> fetched = fetch(manager);
    if (!fetched) return fail(std::move(fetched.error()));
    return await(pipeline().make_layer(std::move(*fetched), kId, "a note", heard(), cancel));
  }
  void expect_nothing_left() {
    io.restart();
    io.poll();
    EXPECT_EQ(host.alive(), 0u);
  }

  asio::io_context io;
  FakeBuildHost host{io};
  BuildOptions options;
  std::unique_ptr<BuildPipeline> made;
  std::shared_ptr<node::CancelFlag> cancel = std::make_shared<node::CancelFlag>();
  std::vector<BuildProgress> words;
};

TEST_F(BuildPipelineTest, FetchesInstallsAndSeals) {
  const Result<LayerRecord> record = build();
  ASSERT_TRUE(record.has_value()) << record.error().message();
  ASSERT_EQ(host.rooms.size(), 3u);
  const FakeRoom& room = *host.rooms[2];
  EXPECT_EQ(record->id, kId);
  EXPECT_EQ(record->note, "a note");
  EXPECT_EQ(record->entries, 2u);
  EXPECT_GT(record->bytes, 0u);
  EXPECT_GT(record->made_ms, 0);
  EXPECT_EQ(record->digest, store::sha256_hex(fake_archive(room, "/layer")));
  EXPECT_EQ(host.layers.at(kId), *record);
  EXPECT_EQ(room.files.at("/layer/opt/glovebox-packages/python/good.py"), "print()");
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, OnlyTheFetchingSandboxHasNetworkAndSettings) {
  ASSERT_TRUE(build().has_value());
  const FakeRoom& fetcher = *host.rooms[0];
  const FakeRoom& installer = *host.rooms[1];
  const FakeRoom& room = *host.rooms[2];
  EXPECT_EQ(fetcher.spec.net.allow, options.indexes.pip_rules);
  EXPECT_EQ(fetcher.spec.net.base, net::NetBase::kNone);
  EXPECT_THAT(fetcher.files.at("/home/user/in/pip.conf"),
              HasSubstr("index-url = https://bob:hush%21hush@pypi.example/simple\n"));
  EXPECT_EQ(fetcher.modes.at("/home/user/in/pip.conf"), 0600u);
  EXPECT_EQ(fetcher.files.at("/home/user/in/request.json"), R"({"packages":["good"]})");
  EXPECT_EQ(fetcher.files.at("/home/user/in/ca.pem"), "certificates");
  EXPECT_FALSE(fetcher.has("/home/user/in/npmrc"));
  for (const auto& one : host.rooms) {
    EXPECT_TRUE(one->spec.is_build);
    EXPECT_EQ(one->spec.template_name, "python");
    EXPECT_EQ(one->spec.project, "p1");
    if (one.get() == &fetcher) continue;
    EXPECT_TRUE(one->spec.net.is_none());
    for (const auto& [path, content] : one->files) {
      EXPECT_THAT(content, Not(HasSubstr("hush"))) << path;
      EXPECT_THAT(content, Not(HasSubstr("certificates"))) << path;
    }
  }
  EXPECT_EQ(installer.files.at("/home/user/in/wheels/good-1-py3-none-any.whl"), "a wheel");
  EXPECT_EQ(installer.files.at("/home/user/in/layout.json"),
            R"({"host_packages":false,"own_site":true})");
  EXPECT_EQ(room.spec.layer, kId);
  EXPECT_TRUE(room.spec.make_layer);
  EXPECT_TRUE(room.scripts.empty());  // nothing runs where a layer is made
  EXPECT_TRUE(installer.spec.layer.empty());
}

TEST_F(BuildPipelineTest, OnlyExpectedPathsGoIntoALayer) {
  ASSERT_TRUE(build().has_value());
  for (const auto& [path, content] : host.rooms[2]->files) {
    EXPECT_TRUE(path.starts_with("/layer/opt/glovebox-packages/") ||
                path.starts_with("/layer/usr/local/"))
        << path;
  }
}

TEST_F(BuildPipelineTest, BuildsNpmPackages) {
  const Result<LayerRecord> record = build(PackageManager::kNpm);
  ASSERT_TRUE(record.has_value()) << record.error().message();
  EXPECT_EQ(host.rooms[0]->spec.net.allow, options.indexes.npm_rules);
  EXPECT_THAT(host.rooms[0]->files.at("/home/user/in/npmrc"),
              HasSubstr("//npm.example/:_authToken=npmsecret\n"));
  EXPECT_FALSE(host.rooms[0]->has("/home/user/in/pip.conf"));
  EXPECT_TRUE(host.rooms[1]->has("/home/user/in/tree/package.json"));
  EXPECT_TRUE(host.rooms[2]->has("/layer/node_modules/lodash/index.js"));
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, SourceIsBuiltInASandboxOfItsOwn) {
  host.on_script = [](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
    if (script == "pip_fetch.py" && !room.has("/home/user/in/built/Old_Thing-1-py3-none-any.whl")) {
      room.put("/home/user/out/result.json", source("old.thing", 'b'));
      room.put("/home/user/out/source/old-thing-1.tar.gz", "setup.py and all");
    } else if (script == "pip_build.py") {
      EXPECT_EQ(room.files.at("/home/user/in/source/old-thing-1.tar.gz"), "setup.py and all");
      room.put("/home/user/out/wheels/Old_Thing-1-py3-none-any.whl", "built");
      room.put("/home/user/out/wheels/requests-9-py3-none-any.whl", "not asked for");
      room.put("/home/user/out/result.json",
               R"({"state":"ready","file":"Old_Thing-1-py3-none-any.whl"})");
    } else {
      work(room, script);
    }
    process.exit(0);
  };
  const Result<FetchedPackages> fetched = fetch();
  ASSERT_TRUE(fetched.has_value()) << fetched.error().message();
  ASSERT_EQ(host.rooms.size(), 2u);
  EXPECT_TRUE(host.rooms[1]->spec.net.is_none());
  EXPECT_TRUE(host.rooms[1]->is_gone);
  EXPECT_EQ(host.rooms[0]->files.at("/home/user/in/built/Old_Thing-1-py3-none-any.whl"), "built");
  EXPECT_FALSE(host.rooms[0]->has("/home/user/in/built/requests-9-py3-none-any.whl"));
  EXPECT_THAT(host.rooms[0]->files.at("/home/user/in/built.json"),
              HasSubstr(R"("Old_Thing-1-py3-none-any.whl":{"name":"old.thing","version":"1")"));
  EXPECT_EQ(host.rooms[0]->scripts.size(), 2u);
}

TEST_F(BuildPipelineTest, AWheelOfAnotherPackageIsRefused) {
  host.on_script = [](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
    if (script == "pip_fetch.py") {
      room.put("/home/user/out/result.json", source("evil", 'b'));
      room.put("/home/user/out/source/evil-1.tar.gz", "x");
    } else {
      room.put("/home/user/out/wheels/requests-9-py3-none-any.whl", "y");
      room.put("/home/user/out/result.json",
               R"({"state":"ready","file":"requests-9-py3-none-any.whl"})");
    }
    process.exit(0);
  };
  const Result<FetchedPackages> fetched = fetch();
  ASSERT_FALSE(fetched.has_value());
  EXPECT_EQ(fetched.error().code(), Errc::kInvalidArgument);
  EXPECT_THAT(fetched.error().message(), HasSubstr("did not produce a wheel of evil"));
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, LimitsTheNumberOfSourcePackages) {
  int asked = 0;
  host.on_script = [&](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
    if (script == "pip_fetch.py") {
      room.put("/home/user/out/result.json", source("deep", static_cast<char>(asked % 10 + '0')));
      std::string text = room.files.at("/home/user/out/result.json");
      text.replace(text.find("\"sha256\":\"") + 10, 2,
                   asked < 10   ? "aa"
                   : asked < 20 ? "bb"
                                : "cc");
      room.put("/home/user/out/result.json", text);
      room.put("/home/user/out/source/deep-1.tar.gz", "x");
      ++asked;
    } else {
      room.put("/home/user/out/wheels/deep-1-py3-none-any.whl", "y");
      room.put("/home/user/out/result.json",
               R"({"state":"ready","file":"deep-1-py3-none-any.whl"})");
    }
    process.exit(0);
  };
  const Result<FetchedPackages> fetched = fetch();
  ASSERT_FALSE(fetched.has_value());
  EXPECT_THAT(fetched.error().message(), HasSubstr("more than 20 packages"));
  EXPECT_EQ(asked, 21);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, DoesNotBuildTheSameSourceTwice) {
  host.on_script = [](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
    if (script == "pip_fetch.py") {
      room.put("/home/user/out/result.json", source("odd", 'b'));
      room.put("/home/user/out/source/odd-1.tar.gz", "x");
    } else {
      room.put("/home/user/out/wheels/odd-1-py3-none-any.whl", "y");
      room.put("/home/user/out/result.json",
               R"({"state":"ready","file":"odd-1-py3-none-any.whl"})");
    }
    process.exit(0);
  };
  EXPECT_THAT(fetch().error().message(), HasSubstr("was built, but the package client does not"));
  EXPECT_EQ(host.rooms.size(), 2u);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, AFailureHasTheInstallersMessageWithoutSecrets) {
  host.on_script = [](FakeRoom& room, const std::string&, sessions::FakeProcess& process) {
    process.print(
        "Looking in https://bob:hush%21hush@pypi.example/simple\n\x1b]0;title\x07 \xff\n");
    room.put(
        "/home/user/out/result.json",
        R"({"state":"failed","error":"ERROR: No matching distribution\nfor hush!hush \u001b[31mred"})");
    process.exit(0);
  };
  const Result<FetchedPackages> fetched = fetch();
  ASSERT_FALSE(fetched.has_value());
  EXPECT_EQ(fetched.error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(fetched.error().message(), "ERROR: No matching distribution\nfor **** \\x1b[31mred");
  EXPECT_THAT(all_words(), HasSubstr("Looking in https://bob:****@pypi.example/simple\n"));
  EXPECT_THAT(all_words(), HasSubstr("\\x1b]0;title\\x07 \\xff"));
  EXPECT_THAT(all_words(), Not(HasSubstr("hush")));
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, AScriptThatDiesIsAnErrorWithItsLastLines) {
  host.on_script = [](FakeRoom&, const std::string&, sessions::FakeProcess& process) {
    process.print("Traceback\nMemoryError\n", wire::Stream::kStderr);
    process.exit(0, 9);
  };
  const Result<FetchedPackages> fetched = fetch();
  EXPECT_EQ(fetched.error().code(), Errc::kInvalidArgument);
  EXPECT_EQ(fetched.error().message(),
            "the package client was killed by signal 9:\nTraceback\nMemoryError");
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, EndsAtItsDeadline) {
  options.timeout = milliseconds(60);
  host.on_script = [](FakeRoom&, const std::string&, sessions::FakeProcess&) {};  // hangs
  const Result<FetchedPackages> fetched = fetch();
  EXPECT_EQ(fetched.error().code(), Errc::kTimeout);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, TheDeadlineCoversTheWholeBuild) {
  options.timeout = milliseconds(200);
  Result<FetchedPackages> fetched = fetch();
  ASSERT_TRUE(fetched.has_value());
  host.on_script = [](FakeRoom&, const std::string&, sessions::FakeProcess&) {};
  const auto since = std::chrono::steady_clock::now();
  EXPECT_EQ(
      await(pipeline().make_layer(std::move(*fetched), kId, "", heard(), cancel)).error().code(),
      Errc::kTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - since, seconds(5));
  EXPECT_TRUE(host.layers.empty());
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, EndsWhenCancelled) {
  host.on_script = [this](FakeRoom&, const std::string&, sessions::FakeProcess&) {
    asio::post(io, [this] { cancel->cancel(); });
  };
  EXPECT_EQ(fetch().error().code(), Errc::kUnavailable);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, EndsWhileWaitingForASandboxOrBytes) {
  options.timeout = milliseconds(60);
  host.holds_creates = true;
  EXPECT_EQ(fetch().error().code(), Errc::kTimeout);
  host.holds_creates = false;
  host.is_stuck = true;
  EXPECT_EQ(fetch().error().code(), Errc::kTimeout);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, TheFetchingSandboxEndsWithItsResult) {
  {
    const Result<FetchedPackages> fetched = fetch();
    ASSERT_TRUE(fetched.has_value());
    EXPECT_EQ(host.alive(), 1u);
  }
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, RefusesATooLargeTree) {
  host.on_script = [](FakeRoom& room, const std::string& script, sessions::FakeProcess& process) {
    work(room, script);
    if (script == "pip_install.py") {
      room.put("/home/user/out/layer/opt/glovebox-packages/big", std::string(2u << 20, 'x'));
    }
    process.exit(0);
  };
  const Result<LayerRecord> record = build();
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(record.error().code(), Errc::kInvalidArgument);
  EXPECT_THAT(record.error().message(), HasSubstr("exceed 1 MB"));
  EXPECT_TRUE(host.layers.empty());
  EXPECT_EQ(host.dropped, std::vector<std::string>{kId});
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, DropsALayerThatWasNotKeptUnlessAnotherBuildMadeIt) {
  host.refuses_keeping = Error(Errc::kResourceExhausted, "the disk is full", ENOSPC);
  const Result<LayerRecord> full = build();
  EXPECT_EQ(full.error().code(), Errc::kResourceExhausted);
  EXPECT_EQ(full.error().sys_errno(), ENOSPC);
  EXPECT_EQ(host.dropped.size(), 1u);
  host.refuses_keeping = Error(Errc::kConflict, "it is there");
  EXPECT_EQ(build().error().code(), Errc::kConflict);
  EXPECT_EQ(host.dropped.size(), 1u);
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, ALayerIsReadInASandboxOfItsOwn) {
  ASSERT_TRUE(build().has_value());
  host.on_create = [](const node::SessionSpec& spec) -> Result<> {
    EXPECT_EQ(spec.layer, kId);
    EXPECT_FALSE(spec.make_layer);
    EXPECT_TRUE(spec.net.is_none());
    return {};
  };
  const std::size_t before = host.rooms.size();
  const Result<std::string> empty = await(pipeline().digest_of(kId, "python", cancel));
  ASSERT_EQ(host.rooms.size(), before + 1);
  EXPECT_FALSE(empty.has_value());  // this host forgets what was in it
  expect_nothing_left();
}

TEST_F(BuildPipelineTest, RefusesToBuildWithoutAnIndex) {
  options.indexes.pip_rules.clear();
  const Result<FetchedPackages> fetched = fetch();
  EXPECT_EQ(fetched.error().code(), Errc::kPolicy);
  EXPECT_TRUE(host.rooms.empty());
}

TEST_F(BuildPipelineTest, WorksWithoutAProgressCallback) {
  const Result<FetchedPackages> fetched = await(pipeline().fetch(request(), {}, nullptr));
  EXPECT_TRUE(fetched.has_value());
}

}  // namespace
}  // namespace glovebox::packages
