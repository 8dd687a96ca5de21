#include "guest/python/fork_hooks.h"

#include <initializer_list>

namespace glovebox::python {
namespace {

enum Moment : Py_ssize_t { kBefore, kInChild, kInParent };
constexpr Py_ssize_t kNeedless = 3;

PyObject* g_registrations = nullptr;  // a list of (before, in child, in parent, needless)
bool g_any_needed = false;            // one of them is not needless
ForkHooks g_hooks = ForkHooks::kAll;

void run_one(PyObject* registration, Moment moment) {
  PyObject* hook = PyTuple_GetItem(registration, moment);
  if (hook == nullptr || hook == Py_None) return;
  PyObject* done = PyObject_CallFunctionObjArgs(hook, nullptr);
  // As the interpreter does: a hook that fails does not keep the others from running.
  if (done == nullptr) PyErr_WriteUnraisable(hook);
  Py_XDECREF(done);
}

PyObject* run_hooks(Moment moment) {
  const bool all = g_hooks == ForkHooks::kAll;
  if (all || (g_hooks == ForkHooks::kNeeded && g_any_needed)) {
    const Py_ssize_t count = PyList_Size(g_registrations);
    for (Py_ssize_t i = 0; i < count; ++i) {
      // Those before a fork are run from the last to the first.
      PyObject* registration =
          PyList_GetItem(g_registrations, moment == kBefore ? count - 1 - i : i);
      if (registration == nullptr) break;
      const bool needless = PyTuple_GetItem(registration, kNeedless) == Py_True;
      if (all || !needless) run_one(registration, moment);
    }
    PyErr_Clear();
  }
  Py_RETURN_NONE;
}

PyObject* run_before(PyObject*, PyObject*) { return run_hooks(kBefore); }
PyObject* run_in_child(PyObject*, PyObject*) { return run_hooks(kInChild); }
PyObject* run_in_parent(PyObject*, PyObject*) { return run_hooks(kInParent); }

PyMethodDef g_before = {"before", run_before, METH_NOARGS, nullptr};
PyMethodDef g_in_child = {"after_in_child", run_in_child, METH_NOARGS, nullptr};
PyMethodDef g_in_parent = {"after_in_parent", run_in_parent, METH_NOARGS, nullptr};

}  // namespace

bool install_fork_hooks(PyObject* register_at_fork) {
  g_registrations = PyList_New(0);
  PyObject* names = PyDict_New();
  PyObject* nothing = PyTuple_New(0);
  bool good = g_registrations != nullptr && names != nullptr && nothing != nullptr;
  for (PyMethodDef* method : {&g_before, &g_in_child, &g_in_parent}) {
    if (!good) break;
    PyObject* hook = PyCFunction_New(method, nullptr);
    good = hook != nullptr && PyDict_SetItemString(names, method->ml_name, hook) == 0;
    Py_XDECREF(hook);
  }
  if (good) {
    PyObject* done = PyObject_Call(register_at_fork, nothing, names);
    good = done != nullptr;
    Py_XDECREF(done);
  }
  Py_XDECREF(nothing);
  Py_XDECREF(names);
  return good;
}

PyObject* add_fork_hooks(PyObject*, PyObject* args) {
  PyObject *before = nullptr, *in_child = nullptr, *in_parent = nullptr;
  int needless = 0;
  if (!PyArg_ParseTuple(args, "OOOp:add_fork_hooks", &before, &in_child, &in_parent, &needless)) {
    return nullptr;
  }
  PyObject* registration =
      PyTuple_Pack(4, before, in_child, in_parent, needless != 0 ? Py_True : Py_False);
  if (registration == nullptr) return nullptr;
  const int failed = PyList_Append(g_registrations, registration);
  Py_DECREF(registration);
  if (failed != 0) return nullptr;
  if (needless == 0) g_any_needed = true;
  Py_RETURN_NONE;
}

void run_at_forks(ForkHooks hooks) { g_hooks = hooks; }

}  // namespace glovebox::python
