// The at-fork hooks that modules of a zygote registered, kept here instead of in the interpreter,
// so that the zygote's own forks can leave out those which have nothing to do: the fork into a
// sandbox is made by the only thread, with no lock held, and each hook writes to pages that every
// child would then have to copy. Forks that guest code makes run all of them.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

namespace glovebox::python {

// Makes the interpreter call ours at each fork. `register_at_fork` is os.register_at_fork. False
// with an exception set.
bool install_fork_hooks(PyObject* register_at_fork);

// add_fork_hooks(before, after_in_child, after_in_parent, needless): callables or None.
PyObject* add_fork_hooks(PyObject* module, PyObject* args);

// Which of them the forks of this process run from now on.
enum class ForkHooks : unsigned char { kAll, kNeeded, kNone };
void run_at_forks(ForkHooks hooks);

}  // namespace glovebox::python
