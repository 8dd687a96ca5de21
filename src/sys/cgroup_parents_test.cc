// Against directories that look like /sys/fs/cgroup: making one fills it with files, as the kernel
// does.
#include "sys/cgroup_parents.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace glovebox::sys {
namespace {

namespace fs = std::filesystem;

constexpr CgroupTotals kTotals{.memory_bytes = 1ull << 30,
                               .pids = 4000,
                               .tenant_memory_bytes = 768ull << 20,
                               .tenant_pids = 1500};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Parents : public ::testing::Test {
 protected:
  Parents() {
    std::string pattern = (fs::temp_directory_path() / "gbx-parents-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    for (const char* name : {"memory", "pids", "cpu", "unified"})
      fs::create_directory(root_ / name);
    v1_.v1_memory = root_ / "memory";
    v1_.v1_pids = root_ / "pids";
    v1_.v1_cpu = v1_.v1_cpuacct = root_ / "cpu";
    v2_.v2 = root_ / "unified";
    v2_.v2_controls = true;
  }
  ~Parents() override { fs::remove_all(root_); }

  // A directory of files cannot be removed as a cgroup can: their place is elsewhere.
  CgroupParents::MakeDirectory kernel() {
    return [](const std::string& path) {
      if (::mkdir(path.c_str(), 0755) != 0) return -1;
      for (const char* file :
           {"pids.max", "pids.current", "memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes",
            "memory.kmem.tcp.usage_in_bytes", "memory.usage_in_bytes", "memory.stat", "memory.max",
            "memory.current", "cgroup.subtree_control", "cgroup.procs"}) {
        std::ofstream(path + "/" + file) << "";
      }
      return 0;
    };
  }
  void empty(const fs::path& group) {
    for (const auto& entry : fs::directory_iterator(group)) {
      if (entry.is_regular_file()) fs::remove(entry.path());
    }
  }
  void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  fs::path root_;
  CgroupRoots v1_, v2_;
};

TEST_F(Parents, TenantsShareTheCpus) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto roots = parents->roots_for(0x12);
  ASSERT_TRUE(roots);
  EXPECT_EQ(roots->v1_cpu, root_ / "cpu/glovebox-ln-all/glovebox-ln-t12");
  EXPECT_EQ(roots->v1_cpuacct, roots->v1_cpu) << "one hierarchy has both";
}

TEST_F(Parents, OneIsAboveAllWithWhatTheyMayUseTogether) {
  const auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  EXPECT_TRUE(parents->is_bounded());
  EXPECT_EQ(text_of(root_ / "pids/glovebox-ln-all/pids.max"), "4000");
  const MemorySplit split = split_memory(kTotals.memory_bytes);
  EXPECT_EQ(text_of(root_ / "memory/glovebox-ln-all/memory.limit_in_bytes"),
            std::to_string(split.memory_bytes));
  EXPECT_EQ(text_of(root_ / "memory/glovebox-ln-all/memory.kmem.tcp.limit_in_bytes"),
            std::to_string(split.socket_bytes));
  EXPECT_EQ(split.memory_bytes + split.socket_bytes, kTotals.memory_bytes);
}

TEST_F(Parents, ATenantIsBelowItWithABoundOfItsOwn) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto roots = parents->roots_for(0xabc);
  ASSERT_TRUE(roots);
  EXPECT_EQ(roots->v1_memory, (root_ / "memory/glovebox-ln-all/glovebox-ln-tabc").string());
  EXPECT_EQ(roots->v1_pids, (root_ / "pids/glovebox-ln-all/glovebox-ln-tabc").string());
  EXPECT_EQ(text_of(fs::path(roots->v1_pids) / "pids.max"), "1500");
  EXPECT_EQ(text_of(fs::path(roots->v1_memory) / "memory.limit_in_bytes"),
            std::to_string(split_memory(kTotals.tenant_memory_bytes).memory_bytes));
}

TEST_F(Parents, TheUnnamedTenantHasNoBoundOfItsOwn) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto roots = parents->roots_for(0);
  ASSERT_TRUE(roots);
  EXPECT_EQ(text_of(fs::path(roots->v1_pids) / "pids.max"), "");
  EXPECT_TRUE(parents->tenants().empty());
}

TEST_F(Parents, ATenantsCgroupsAreMadeOnce) {
  int made = 0;
  auto parents =
      CgroupParents::create(v1_, "glovebox-ln-", kTotals, [&, make = kernel()](auto& path) {
        const int result = make(path);
        if (result == 0) ++made;
        return result;
      });
  ASSERT_TRUE(parents && parents->roots_for(1));
  const int before = made;
  EXPECT_TRUE(parents->roots_for(1));
  EXPECT_EQ(made, before);
}

// Another launcher removes what is empty.
TEST_F(Parents, ATenantsCgroupsThatWereRemovedAreMadeAgainWithTheirBounds) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto roots = parents->roots_for(1);
  ASSERT_TRUE(roots);
  const fs::path pids = roots->v1_pids;
  const std::string bound = text_of(pids / "pids.max");
  EXPECT_EQ(bound, "1500");
  fs::remove_all(pids);
  ASSERT_TRUE(parents->roots_for(1));
  EXPECT_EQ(text_of(pids / "pids.max"), bound);
}

TEST_F(Parents, ABoundThatCannotBeSetIsAnError) {
  const auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, [](auto& path) {
    return ::mkdir(path.c_str(), 0755);  // and no file in it can be written
  });
  EXPECT_FALSE(parents);
  EXPECT_FALSE(fs::exists(root_ / "memory/glovebox-ln-all"));
}

TEST_F(Parents, WhereNothingCanBeWrittenNothingIsAbove) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, [](auto&) {
    errno = EROFS;
    return -1;
  });
  ASSERT_TRUE(parents);
  EXPECT_FALSE(parents->is_bounded());
  EXPECT_EQ(parents->roots_for(7)->v1_memory, v1_.v1_memory);
}

TEST_F(Parents, WithV2TheFamilyIsAboveAll) {
  auto parents = CgroupParents::create(v2_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  EXPECT_FALSE(parents->is_bounded());
  const fs::path family = root_ / "unified/glovebox-ln-family";
  ASSERT_EQ(kernel()(family), 0);
  ASSERT_TRUE(parents->add_family(family));
  EXPECT_EQ(text_of(family / "memory.max"), std::to_string(kTotals.memory_bytes));
  EXPECT_EQ(text_of(family / "pids.max"), "4000");
  const auto roots = parents->roots_for(0x1f);
  ASSERT_TRUE(roots);
  EXPECT_EQ(roots->v2_group, "glovebox-ln-t1f");
  const fs::path tenant = family / "glovebox-ln-t1f";
  EXPECT_EQ(text_of(tenant / "memory.max"), std::to_string(kTotals.tenant_memory_bytes));
  EXPECT_EQ(text_of(tenant / "pids.max"), "1500");
  // Without it no controller would be there for the sandboxes below. Each write begins at the
  // start of the file, which the kernel's is not.
  EXPECT_EQ(text_of(tenant / "cgroup.subtree_control"), "+cpusry");
  put(family / "memory.current", "1000\n");
  put(family / "memory.stat", "sock 70\ninactive_file 100\nactive_file 200\nslab_reclaimable 50\n");
  EXPECT_EQ(parents->now().memory_bytes, 650u);
  EXPECT_EQ(parents->now().socket_bytes, 70u);
}

TEST_F(Parents, CountsWithoutPageCacheAndWithSockets) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const fs::path all = root_ / "memory/glovebox-ln-all";
  put(all / "memory.usage_in_bytes", "1000\n");
  put(all / "memory.kmem.tcp.usage_in_bytes", "50\n");
  put(all / "memory.stat", "rss 5\ntotal_cache 310\ntotal_rss 600\ntotal_shmem 100\n");
  put(root_ / "pids/glovebox-ln-all/pids.current", "12\n");
  const CgroupTotalsNow now = parents->now();
  EXPECT_EQ(now.memory_bytes, 750u);
  EXPECT_EQ(now.socket_bytes, 50u);
  EXPECT_EQ(now.pids, 12u);
  EXPECT_EQ(parents->pids(), 12u);
}

TEST_F(Parents, ATenantsShareIsSetAnew) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents && parents->roots_for(5));
  const fs::path tenant = root_ / "memory/glovebox-ln-all/glovebox-ln-t5";
  put(tenant / "memory.usage_in_bytes", "4096");
  put(tenant / "memory.stat", "total_rss 1000\n");
  ASSERT_EQ(parents->tenants(), (std::vector<TenantMemory>{{5, 1000, 4096}}));
  parents->set_tenant_memory(5, 256u << 20);
  EXPECT_EQ(text_of(tenant / "memory.limit_in_bytes"),
            std::to_string(split_memory(256u << 20).memory_bytes));
}

TEST_F(Parents, RemovesTenantsThatAreIdleAndKeepsThoseWithSandboxes) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto idle = parents->roots_for(1);
  const auto used = parents->roots_for(2);
  ASSERT_TRUE(idle && used);
  fs::create_directory(fs::path(used->v1_memory) / "glovebox-ln-sandbox");
  empty(idle->v1_memory);
  empty(idle->v1_pids);
  empty(idle->v1_cpu);
  const auto now = CgroupParents::Clock::now();
  parents->remove_idle(now);
  EXPECT_TRUE(fs::exists(idle->v1_memory));  // not at once
  parents->remove_idle(now + std::chrono::minutes(2));
  EXPECT_FALSE(fs::exists(idle->v1_memory));
  EXPECT_FALSE(fs::exists(idle->v1_pids));
  EXPECT_TRUE(fs::exists(used->v1_memory));
  ASSERT_TRUE(parents->roots_for(1));  // made again when it is needed
  EXPECT_TRUE(fs::exists(idle->v1_memory));
}

TEST_F(Parents, ATenantThatIsRemovedInPartIsMadeWholeAgain) {
  auto parents = CgroupParents::create(v1_, "glovebox-ln-", kTotals, kernel());
  ASSERT_TRUE(parents);
  const auto idle = parents->roots_for(1);
  ASSERT_TRUE(idle);
  empty(idle->v1_memory);  // the others are still in use by the kernel
  parents->remove_idle(CgroupParents::Clock::now() + std::chrono::minutes(2));
  EXPECT_FALSE(fs::exists(idle->v1_memory));
  ASSERT_TRUE(parents->roots_for(1));
  EXPECT_TRUE(fs::exists(idle->v1_memory));
  EXPECT_TRUE(fs::exists(idle->v1_pids));
}

}  // namespace
}  // namespace glovebox::sys
