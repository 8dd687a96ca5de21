#include "supervisor/program_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace glovebox::supervisor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// With these variables, whatever the test was started with.
class ProgramArguments : public ::testing::Test {
 protected:
  ProgramArguments() {
    for (const char* name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_TRUSTED_HOST",
                             "SSL_CERT_FILE", "NPM_CONFIG_REGISTRY", "npm_config_registry"}) {
      ::unsetenv(name);
    }
    settings.log_level = "info";
  }
  config::Settings settings;
};

TEST_F(ProgramArguments, OnlyTheServerGetsPasswordsOfIndexes) {
  ::setenv("PIP_INDEX_URL", "https://me:topsecret@mirror.corp/simple", 1);
  ::setenv("PIP_CERT", "/etc/ca.pem", 1);
  ::setenv("PIP_FIND_LINKS", "/home/me", 1);
  EXPECT_THAT(environment_of_server(settings),
              Contains("PIP_INDEX_URL=https://me:topsecret@mirror.corp/simple"));
  EXPECT_THAT(environment_of_server(settings), Contains("PIP_CERT=/etc/ca.pem"));
  EXPECT_THAT(environment_of_server(settings), Not(Contains(StartsWith("PIP_FIND_LINKS"))));
  EXPECT_THAT(environment_of_programs(settings), Not(Contains(StartsWith("PIP_"))));
  EXPECT_THAT(index_arguments(settings),
              ElementsAre("--index", "mirror.corp:443", "--index", "registry.npmjs.org:443"));
  ::unsetenv("PIP_FIND_LINKS");
}

TEST_F(ProgramArguments, AGatewayGetsNoIndexWithoutBuilds) {
  EXPECT_THAT(index_arguments(settings), Contains("pypi.org:443"));
  settings.deps_enabled = false;
  EXPECT_THAT(index_arguments(settings), IsEmpty());
  settings.deps_enabled = true;
  ::setenv("PIP_INDEX_URL", "nonsense", 1);
  EXPECT_THAT(index_arguments(settings), IsEmpty());
}

TEST_F(ProgramArguments, RegistriesAreReachedWithoutBuildsAsWell) {
  settings.deps_enabled = false;
  settings.image_registries = {"http://registry.test:5000?host=auth.test:5001"};
  EXPECT_THAT(index_arguments(settings),
              ElementsAre("--index", "registry.test:5000", "--index", "auth.test:5001"));
}

}  // namespace
}  // namespace glovebox::supervisor
