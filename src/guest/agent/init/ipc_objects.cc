#include "guest/agent/init/ipc_objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sys/mount.h"

namespace glovebox::agent {
namespace {

constexpr std::uint64_t kNoSuidNoDevNoExec = 0x2 | 0x4 | 0x8;  // MOUNT_ATTR_*
// glibc 2.36 has these only for some of the three.
constexpr int kShmStatAny = 15;
constexpr int kMsgStatAny = 13;
constexpr int kSemStatAny = 20;

// One of the three kinds of System V objects.
struct Kind {
  const char* name;
  int (*highest)();    // the highest index in use, or -1 with errno
  int (*count)();      // how many there are
  int (*id_at)(int);   // the id at an index, or -1
  int (*remove)(int);  // by id
};

int shm_highest() {
  struct shm_info info {};
  return ::shmctl(0, SHM_INFO, reinterpret_cast<struct shmid_ds*>(&info));
}
int shm_count() {
  struct shm_info info {};
  const int done = ::shmctl(0, SHM_INFO, reinterpret_cast<struct shmid_ds*>(&info));
  return done < 0 ? -1 : info.used_ids;
}
int shm_id_at(int index) {
  struct shmid_ds facts {};
  return ::shmctl(index, kShmStatAny, &facts);
}
int shm_remove(int id) { return ::shmctl(id, IPC_RMID, nullptr); }

int msg_highest() {
  struct msginfo info {};
  return ::msgctl(0, MSG_INFO, reinterpret_cast<struct msqid_ds*>(&info));
}
int msg_count() {
  struct msginfo info {};
  const int done = ::msgctl(0, MSG_INFO, reinterpret_cast<struct msqid_ds*>(&info));
  return done < 0 ? -1 : info.msgpool;
}
int msg_id_at(int index) {
  struct msqid_ds facts {};
  return ::msgctl(index, kMsgStatAny, &facts);
}
int msg_remove(int id) { return ::msgctl(id, IPC_RMID, nullptr); }

union SemArgument {  // semctl(2): the caller defines it
  int value;
  struct semid_ds* facts;
  unsigned short* array;
  struct seminfo* info;
};
int sem_highest() {
  struct seminfo info {};
  SemArgument argument{};
  argument.info = &info;
  return ::semctl(0, 0, SEM_INFO, argument);
}
int sem_count() {
  struct seminfo info {};
  SemArgument argument{};
  argument.info = &info;
  return ::semctl(0, 0, SEM_INFO, argument) < 0 ? -1 : info.semusz;
}
int sem_id_at(int index) {
  struct semid_ds facts {};
  SemArgument argument{};
  argument.facts = &facts;
  return ::semctl(index, 0, kSemStatAny, argument);
}
int sem_remove(int id) { return ::semctl(id, 0, IPC_RMID); }

constexpr Kind kKinds[] = {
    {"shared memory", shm_highest, shm_count, shm_id_at, shm_remove},
    {"message queues", msg_highest, msg_count, msg_id_at, msg_remove},
    {"semaphores", sem_highest, sem_count, sem_id_at, sem_remove},
};

Result<> remove_kind(const Kind& kind) {
  int left = kind.count();
  if (left < 0 && errno == ENOSYS) return {};  // a kernel without System V IPC
  if (left == 0) return {};
  const int highest = kind.highest();
  for (int index = 0; index <= highest; ++index) {
    const int id = kind.id_at(index);
    if (id >= 0) (void)kind.remove(id);
  }
  left = kind.count();
  if (left == 0) return {};
  return fail(Errc::kInternal, std::string("the guest's ") + kind.name + " could not be removed");
}

Result<std::vector<std::string>> names_in(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) {
    Error error = Error::from_errno("list message queues");
    if (copy >= 0) ::close(copy);
    return fail(std::move(error));
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(list)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(list);
  return names;
}

}  // namespace

Result<IpcObjects> IpcObjects::open() {
  auto queues = sys::new_mount("mqueue", {}, kNoSuidNoDevNoExec);
  if (queues) return IpcObjects(std::move(*queues));
  if (queues.error().sys_errno() == ENODEV) return IpcObjects(UniqueFd());
  return fail(std::move(queues.error()));
}

Result<> IpcObjects::remove_all() const {
  for (const Kind& kind : kKinds) TRY_OK(remove_kind(kind));
  if (!queues_) return {};
  TRY(const std::vector<std::string> names, names_in(queues_.get()));
  for (const std::string& name : names) {
    if (::unlinkat(queues_.get(), name.c_str(), 0) != 0) {
      return fail(Error::from_errno("remove a message queue"));
    }
  }
  return {};
}

}  // namespace glovebox::agent
