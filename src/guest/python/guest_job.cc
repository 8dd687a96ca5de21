#include "guest/python/guest_job.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/python/c_library.h"

namespace glovebox::python {
namespace {

constexpr int kJobFd = 4;
constexpr char kMagic[] = "GBXJOB1\n";
constexpr size_t kMagicSize = sizeof kMagic - 1;

// A text of the job, in the job's own buffer.
struct Text {
  const char* data;
  size_t size;
};

PyObject* refuse(const char* why) {
  PyErr_SetString(PyExc_ValueError, why);
  return nullptr;
}

// Goes through the bytes as src/wire/guest/job.h lays them out. Once something was wrong, all that
// follows is empty.
class Reader {
 public:
  Reader(const char* data, size_t size) : at_(data), left_(size) {}

  uint32_t number() {
    unsigned char bytes[4];
    if (left_ < sizeof bytes) {
      fail();
      return 0;
    }
    memcpy(bytes, at_, sizeof bytes);
    skip(sizeof bytes);
    return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | static_cast<uint32_t>(bytes[3]) << 24;
  }

  Text text() {
    const size_t size = number();
    if (size > left_) fail();
    if (failed_) return {"", 0};
    const Text text{at_, size};
    skip(size);
    return text;
  }

  bool failed() const { return failed_; }
  bool at_end() const { return !failed_ && left_ == 0; }

 private:
  void skip(size_t size) {
    at_ += size;
    left_ -= size;
  }
  void fail() {
    failed_ = true;
    left_ = 0;
  }

  const char* at_;
  size_t left_;
  bool failed_ = false;
};

// The whole file, from its start, wherever its offset is.
char* read_whole(size_t size) {
  char* data = static_cast<char*>(malloc(size + 1));
  if (data == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  size_t got = 0;
  while (got < size) {
    const ssize_t more = pread(kJobFd, data + got, size - got, static_cast<off_t>(got));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  if (got == size) return data;
  free(data);
  refuse("the job ends too early");
  return nullptr;
}

// One variable, "name=value", as os.environb[name] = value does it. Anything else is left out.
bool put_variable(Text entry, PyObject* environ) {
  const char* equals = static_cast<const char*>(memchr(entry.data, '=', entry.size));
  if (equals == nullptr || equals == entry.data) return true;
  const size_t name_size = static_cast<size_t>(equals - entry.data);
  PyObject* name = PyBytes_FromStringAndSize(entry.data, static_cast<Py_ssize_t>(name_size));
  PyObject* value =
      PyBytes_FromStringAndSize(equals + 1, static_cast<Py_ssize_t>(entry.size - name_size - 1));
  bool good = name != nullptr && value != nullptr;
  // Both objects end with a NUL of their own.
  if (good && memchr(entry.data, 0, entry.size) != nullptr) {
    refuse("embedded null byte");
    good = false;
  }
  if (good && setenv(PyBytes_AsString(name), PyBytes_AsString(value), 1) != 0) {
    PyErr_SetFromErrno(PyExc_OSError);  // the interpreter's own C library did it
    good = false;
  }
  good = good && PyDict_SetItem(environ, name, value) == 0;
  Py_XDECREF(name);
  Py_XDECREF(value);
  return good;
}

bool put_environment(Reader& job, PyObject* environ, PyObject* tzset) {
  bool zone = false;
  for (uint32_t count = job.number(); count > 0 && !job.failed(); --count) {
    const Text entry = job.text();
    if (!job.failed() && !put_variable(entry, environ)) return false;
    if (entry.size >= 3 && memcmp(entry.data, "TZ=", 3) == 0) zone = true;
  }
  if (!zone) return true;
  PyObject* done = PyObject_CallFunctionObjArgs(tzset, nullptr);
  Py_XDECREF(done);
  return done != nullptr;
}

PyObject* decoded(Text text) {
  return PyUnicode_DecodeFSDefaultAndSize(text.data, static_cast<Py_ssize_t>(text.size));
}

// A list of the first, which is left for a name, and the arguments.
PyObject* arguments_of(Reader& job) {
  PyObject* list = PyList_New(1);
  for (uint32_t count = job.number(); count > 0 && list != nullptr && !job.failed(); --count) {
    PyObject* argument = decoded(job.text());
    if (argument == nullptr || PyList_Append(list, argument) != 0) Py_CLEAR(list);
    Py_XDECREF(argument);
  }
  return list;
}

// Takes over `arguments`.
bool set_arguments(PyObject* arguments, PyObject* name) {
  Py_INCREF(name);
  bool good = PyList_SetItem(arguments, 0, name) == 0 && PySys_SetObject("argv", arguments) == 0;
  PyObject* program = PySys_GetObject("executable");
  if (good && program != nullptr && PySys_GetObject("orig_argv") != nullptr) {
    PyObject* whole = PyList_GetSlice(arguments, 0, PyList_Size(arguments));
    good = whole != nullptr && PyList_Insert(whole, 0, program) == 0 &&
           PySys_SetObject("orig_argv", whole) == 0;
    Py_XDECREF(whole);
  }
  Py_DECREF(arguments);
  return good;
}

// 1, 0 if the directory cannot be entered, -1 with an exception set.
int enter_directory(PyObject* workdir, Text text) {
  const char* path = PyBytes_AsString(workdir);
  if (memchr(path, 0, text.size) != nullptr || chdir(path) != 0) return 0;
  PyObject* search = PySys_GetObject("path");
  PyObject* first = decoded(text);
  const bool good = first != nullptr && search != nullptr && PyList_Check(search) &&
                    PyList_Insert(search, 0, first) == 0;
  Py_XDECREF(first);
  return good ? 1 : -1;
}

PyObject* code_of(Text text) {
  // What needs looking at: a byte order mark, carriage returns, another encoding, and null bytes.
  const bool plain = (text.size < 3 || memcmp(text.data, "\xef\xbb\xbf", 3) != 0) &&
                     memchr(text.data, '\r', text.size) == nullptr;
  if (plain) {
    PyObject* code = PyUnicode_DecodeUTF8(text.data, static_cast<Py_ssize_t>(text.size), nullptr);
    if (code != nullptr) return code;
    PyErr_Clear();
  }
  return PyBytes_FromStringAndSize(text.data, static_cast<Py_ssize_t>(text.size));
}

PyObject* enter_job(Reader job, PyObject* environ, PyObject* tzset) {
  if (!put_environment(job, environ, tzset)) return nullptr;
  PyObject* arguments = arguments_of(job);
  if (arguments == nullptr) return nullptr;
  const Text directory = job.text();
  const Text name_text = job.text();
  const Text code_text = job.text();
  if (!job.at_end()) {
    Py_DECREF(arguments);
    return refuse(job.failed() ? "the job ends too early" : "the job is longer than it says");
  }
  PyObject* name = name_text.size == 0 ? PyUnicode_FromString("main.py") : decoded(name_text);
  PyObject* workdir =
      PyBytes_FromStringAndSize(directory.data, static_cast<Py_ssize_t>(directory.size));
  PyObject* code = code_of(code_text);
  PyObject* answer = nullptr;
  if (name == nullptr || workdir == nullptr || code == nullptr) {
    Py_DECREF(arguments);
  } else if (set_arguments(arguments, name)) {
    const int entered = enter_directory(workdir, directory);
    if (entered >= 0) {
      PyObject* process = PyLong_FromLong(getpid());
      if (process != nullptr) {
        answer = PyTuple_Pack(5, workdir, name, code, entered == 1 ? Py_True : Py_False, process);
      }
      Py_XDECREF(process);
    }
  }
  Py_XDECREF(name);
  Py_XDECREF(workdir);
  Py_XDECREF(code);
  return answer;
}

}  // namespace

PyObject* take_job(PyObject*, PyObject* args) {
  PyObject* environ = nullptr;
  PyObject* tzset = nullptr;
  if (!PyArg_ParseTuple(args, "O!O:take_job", &PyDict_Type, &environ, &tzset)) return nullptr;
  struct stat facts;
  if (fstat(kJobFd, &facts) != 0) return raise_errno();
  if (S_ISFIFO(facts.st_mode)) Py_RETURN_NONE;
  const size_t size = static_cast<size_t>(facts.st_size);
  char* data = read_whole(size);
  close(kJobFd);
  if (data == nullptr) return nullptr;
  PyObject* answer = nullptr;
  if (size < kMagicSize || memcmp(data, kMagic, kMagicSize) != 0) {
    refuse("not a job");
  } else {
    answer = enter_job(Reader(data + kMagicSize, size - kMagicSize), environ, tzset);
  }
  free(data);
  return answer;
}

PyObject* leave(PyObject*, PyObject* args) {
  int results = -1;
  int status = 0;
  if (!PyArg_ParseTuple(args, "ii:leave", &results, &status)) return nullptr;
  if (results >= 0) close(results);
  // One by one where the kernel or a filter knows no better.
  if (syscall(SYS_close_range, 0u, 2u, 0u) != 0) {
    for (int stream = 0; stream < 3; ++stream) close(stream);
  }
  _exit(status);
}

}  // namespace glovebox::python
