// The functions of a C library that the zygote's module uses, so that it needs none: it is loaded
// by the interpreters of images, too, which have glibc of any age, or musl. System calls are made
// here, and memory is the interpreter's.
//
// Three names stay open, for the library that the interpreter itself uses: fork and setenv, which
// change that library's own state, and vfork, whose stub cannot be written in C++. They are the
// same everywhere. All else is hidden: nothing of ours takes the place of the interpreter's.
//
// errno is ours as well. What raises an exception of it uses raise_errno(), not PyErr_SetFromErrno.
#include "guest/python/c_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

extern "C" {

// Of every CPython since 3.4; in the stable ABI since 3.13 only.
__attribute__((visibility("default"))) void* PyMem_RawMalloc(size_t size);
__attribute__((visibility("default"))) void PyMem_RawFree(void* block);

}  // extern "C"

namespace {

int g_errno = 0;

long raw_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  long result = 0;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "write the system call of this machine"
#endif
}

long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
  constexpr long kLargestErrno = 4095;
  const long result = raw_call(number, a, b, c, d, e, f);
  if (result >= 0 || result < -kLargestErrno) return result;
  g_errno = static_cast<int>(-result);
  return -1;
}

long number_of(const void* address) { return reinterpret_cast<long>(address); }

}  // namespace

extern "C" {

int* __errno_location() noexcept { return &g_errno; }
void __stack_chk_fail() { __builtin_trap(); }

long syscall(long number, ...) noexcept {
  va_list more;
  va_start(more, number);
  long words[6];
  for (long& word : words) word = va_arg(more, long);
  va_end(more);
  return call(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

// ---- files

int close(int fd) { return static_cast<int>(call(SYS_close, fd)); }

ssize_t read(int fd, void* bytes, size_t size) {
  return call(SYS_read, fd, number_of(bytes), static_cast<long>(size));
}

ssize_t write(int fd, const void* bytes, size_t size) {
  return call(SYS_write, fd, number_of(bytes), static_cast<long>(size));
}

ssize_t pread(int fd, void* bytes, size_t size, off_t at) {
  return call(SYS_pread64, fd, number_of(bytes), static_cast<long>(size), at);
}

int open(const char* path, int flags, ...) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, number_of(path), flags));
}

int dup3(int from, int to, int flags) noexcept {
  return static_cast<int>(call(SYS_dup3, from, to, flags));
}

int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  const long argument = va_arg(more, long);
  va_end(more);
  return static_cast<int>(call(SYS_fcntl, fd, command, argument));
}

int fstat(int fd, struct stat* facts) noexcept {
  return static_cast<int>(call(SYS_fstat, fd, number_of(facts)));
}

int pipe2(int fds[2], int flags) noexcept {
  return static_cast<int>(call(SYS_pipe2, number_of(fds), flags));
}

int chdir(const char* path) noexcept { return static_cast<int>(call(SYS_chdir, number_of(path))); }

// ---- sockets

ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return call(SYS_recvmsg, fd, number_of(message), flags);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  return call(SYS_sendto, fd, number_of(bytes), static_cast<long>(size), flags);
}

// ---- processes

pid_t getpid() noexcept { return static_cast<pid_t>(call(SYS_getpid)); }
pid_t getppid() noexcept { return static_cast<pid_t>(call(SYS_getppid)); }
pid_t setsid() noexcept { return static_cast<pid_t>(call(SYS_setsid)); }

pid_t waitpid(pid_t pid, int* status, int options) {
  return static_cast<pid_t>(call(SYS_wait4, pid, number_of(status), options));
}

int setns(int fd, int kind) noexcept { return static_cast<int>(call(SYS_setns, fd, kind)); }

int prctl(int option, ...) noexcept {
  va_list more;
  va_start(more, option);
  long words[4];
  for (long& word : words) word = va_arg(more, long);
  va_end(more);
  return static_cast<int>(call(SYS_prctl, option, words[0], words[1], words[2], words[3]));
}

int nanosleep(const timespec* time, timespec* left) {
  return static_cast<int>(call(SYS_nanosleep, number_of(time), number_of(left)));
}

void _exit(int status) {
  while (true) (void)call(SYS_exit_group, status);
}

// ---- memory and texts

void* malloc(size_t size) noexcept { return PyMem_RawMalloc(size); }
void free(void* block) noexcept { PyMem_RawFree(block); }

// Only where the heap ends is ever asked for.
void* sbrk(intptr_t) noexcept {
  return reinterpret_cast<void*>(raw_call(SYS_brk, 0, 0, 0, 0, 0, 0));
}

void* memcpy(void* __restrict to, const void* __restrict from, size_t size) noexcept {
  auto* target = static_cast<unsigned char*>(to);
  const auto* source = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < size; ++i) target[i] = source[i];
  return to;
}

void* memset(void* to, int value, size_t size) noexcept {
  auto* target = static_cast<unsigned char*>(to);
  for (size_t i = 0; i < size; ++i) target[i] = static_cast<unsigned char>(value);
  return to;
}

int memcmp(const void* one, const void* other, size_t size) noexcept {
  const auto* a = static_cast<const unsigned char*>(one);
  const auto* b = static_cast<const unsigned char*>(other);
  for (size_t i = 0; i < size; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

int strncmp(const char* one, const char* other, size_t size) noexcept {
  for (size_t i = 0; i < size; ++i) {
    const auto a = static_cast<unsigned char>(one[i]);
    const auto b = static_cast<unsigned char>(other[i]);
    if (a != b) return a < b ? -1 : 1;
    if (a == 0) break;
  }
  return 0;
}

}  // extern "C"

// The header has these twice, with and without const, under one symbol.
const void* memchr(const void* in, int value, size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(in);
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] == static_cast<unsigned char>(value)) return bytes + i;
  }
  return nullptr;
}

const char* strchr(const char* in, int value) noexcept {
  for (;; ++in) {
    if (*in == static_cast<char>(value)) return in;
    if (*in == 0) return nullptr;
  }
}

const char* strrchr(const char* in, int value) noexcept {
  const char* last = nullptr;
  for (;; ++in) {
    if (*in == static_cast<char>(value)) last = in;
    if (*in == 0) return last;
  }
}

namespace glovebox::python {

PyObject* raise_errno() {
  PyObject* value = Py_BuildValue("(is)", g_errno, "system call failed");
  if (value != nullptr) PyErr_SetObject(PyExc_OSError, value);
  Py_XDECREF(value);
  return nullptr;
}

}  // namespace glovebox::python
