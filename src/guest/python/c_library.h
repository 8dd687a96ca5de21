// What differs for a module that has no C library (c_library.cc): how errno becomes an exception.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

namespace glovebox::python {

// Raises OSError for our own errno, which the interpreter does not see. Null.
PyObject* raise_errno();

}  // namespace glovebox::python
