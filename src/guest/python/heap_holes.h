// Free places in a zygote's heap. A child that allocates from one writes to a page full of the
// zygote's objects, which the kernel must copy; where there are none it allocates side by side on
// pages of its own.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

namespace glovebox::python {

// fill_holes(): takes the free places of the interpreter's allocator and of the C library's, for
// good. Most of that memory is in use already, since its pages hold other objects.
PyObject* fill_holes(PyObject* module, PyObject* args);

}  // namespace glovebox::python
