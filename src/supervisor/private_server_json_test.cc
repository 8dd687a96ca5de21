#include "supervisor/private_server_json.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace glovebox::supervisor {
namespace {

class PrivateServerJson : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override {
    ::unlink(key().c_str());
    ::rmdir(directory_.c_str());
  }
  std::string key() const { return directory_ + "/key"; }
  void write(const std::string& text) const { std::ofstream(key()) << text; }
  std::string directory_ = "/tmp/gbx-words-XXXXXX";
};

TEST_F(PrivateServerJson, AreOneLineOfJson) {
  write("gbx_0123\n");
  EXPECT_EQ(private_server_json("http://127.0.0.1:80", key(), 7).value(),
            R"({"url":"http://127.0.0.1:80","api_key":"gbx_0123","pid":7})");
}

TEST_F(PrivateServerJson, AreNoneWhenTheServerWroteSomethingElse) {
  write("a\",\"b");
  EXPECT_FALSE(private_server_json("http://127.0.0.1:80", key(), 7));
  write("gbx_0123\n");
  EXPECT_FALSE(private_server_json("http://x\"", key(), 7));
  EXPECT_FALSE(private_server_json("http://127.0.0.1:80", "/nonexistent", 7));
}

}  // namespace
}  // namespace glovebox::supervisor
