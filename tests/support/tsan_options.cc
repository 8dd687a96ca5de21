// Options of the thread sanitizer, in the program itself: servers are started with an environment
// of their own, which has none.
extern "C" const char* __tsan_default_options();

// The first report ends the program, so that no test can pass over it.
extern "C" const char* __tsan_default_options() {
  return "halt_on_error=1:exitcode=66:second_deadlock_stack=1";
}
