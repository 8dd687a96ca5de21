// The job of a forked interpreter, read and entered without running Python code: every object that
// Python code touches is on a page shared with the zygote, which the first write copies.
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

namespace glovebox::python {

// take_job(environ, tzset): reads the job in descriptor 4 and closes that. The job's environment
// goes into the process's own and into `environ`, the dictionary of bytes behind os.environ; its
// arguments into sys.argv and sys.orig_argv; its directory is entered and becomes the first of
// sys.path.
//
// None if the descriptor is a pipe: cells will come, and nothing was done. Otherwise (workdir,
// name, code, entered, process): `code` is text if it is UTF-8 that needs no translation, else
// bytes; `entered` is whether the directory could be entered; `process` is this one's number.
// OSError or ValueError if there is no complete job.
PyObject* take_job(PyObject* module, PyObject* args);

// leave(results, status): closes that descriptor, if it is one, and the streams, and ends the
// process.
PyObject* leave(PyObject* module, PyObject* args);

}  // namespace glovebox::python
