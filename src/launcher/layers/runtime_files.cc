#include "launcher/layers/runtime_files.h"

// The assembler embeds the files with .incbin.
#define GBX_EMBED(symbol, file)             \
  asm(".section .rodata\n"                  \
      ".balign 16\n"                        \
      ".global " #symbol "_begin\n" #symbol \
      "_begin:\n"                           \
      ".incbin \"" file                     \
      "\"\n"                                \
      ".global " #symbol "_end\n" #symbol   \
      "_end:\n"                             \
      ".byte 0\n"                           \
      ".previous\n");                       \
  extern "C" const char symbol##_begin[];   \
  extern "C" const char symbol##_end[]

GBX_EMBED(gbx_cell_history_py, GBX_PYTHON_DIR "/cell_history.py");
GBX_EMBED(gbx_cell_stdin_py, GBX_PYTHON_DIR "/cell_stdin.py");
GBX_EMBED(gbx_calls_py, GBX_PYTHON_DIR "/calls.py");
GBX_EMBED(gbx_cells_py, GBX_PYTHON_DIR "/cells.py");
GBX_EMBED(gbx_charts_py, GBX_PYTHON_DIR "/charts.py");
GBX_EMBED(gbx_context_py, GBX_PYTHON_DIR "/context.py");
GBX_EMBED(gbx_display_py, GBX_PYTHON_DIR "/display.py");
GBX_EMBED(gbx_failure_py, GBX_PYTHON_DIR "/failure.py");
GBX_EMBED(gbx_figures_py, GBX_PYTHON_DIR "/figures.py");
GBX_EMBED(gbx_lambda_handler_py, GBX_PYTHON_DIR "/lambda_handler.py");
GBX_EMBED(gbx_import_policy_py, GBX_PYTHON_DIR "/import_policy.py");
GBX_EMBED(gbx_images_py, GBX_PYTHON_DIR "/images.py");
GBX_EMBED(gbx_magic_commands_py, GBX_PYTHON_DIR "/magic_commands.py");
GBX_EMBED(gbx_magics_py, GBX_PYTHON_DIR "/magics.py");
GBX_EMBED(gbx_notebook_py, GBX_PYTHON_DIR "/notebook.py");
GBX_EMBED(gbx_run_py, GBX_PYTHON_DIR "/run.py");
GBX_EMBED(gbx_last_expression_py, GBX_PYTHON_DIR "/last_expression.py");
GBX_EMBED(gbx_runner_py, GBX_PYTHON_DIR "/runner.py");
GBX_EMBED(gbx_function_bundle_py, GBX_PYTHON_DIR "/function_bundle.py");
GBX_EMBED(gbx_function_call_py, GBX_PYTHON_DIR "/function_call.py");
GBX_EMBED(gbx_inside_py, GBX_PYTHON_DIR "/inside.py");
GBX_EMBED(gbx_inside_names_py, GBX_PYTHON_DIR "/inside_names.py");
GBX_EMBED(gbx_installed_py, GBX_PYTHON_DIR "/installed.py");
GBX_EMBED(gbx_value_arrays_py, GBX_PYTHON_DIR "/value_arrays.py");
GBX_EMBED(gbx_value_dates_py, GBX_PYTHON_DIR "/value_dates.py");
GBX_EMBED(gbx_value_frames_py, GBX_PYTHON_DIR "/value_frames.py");
GBX_EMBED(gbx_values_py, GBX_PYTHON_DIR "/values.py");
GBX_EMBED(gbx_zygote_py, GBX_PYTHON_DIR "/zygote.py");
GBX_EMBED(gbx_zygote_module, GBX_ZYGOTE_MODULE);
GBX_EMBED(gbx_context_js, GBX_NODE_DIR "/context.js");
GBX_EMBED(gbx_lambda_handler_js, GBX_NODE_DIR "/lambda_handler.js");
GBX_EMBED(gbx_run_js, GBX_NODE_DIR "/run.js");
GBX_EMBED(gbx_typescript_js, GBX_NODE_DIR "/typescript.js");
GBX_EMBED(gbx_context_r, GBX_R_DIR "/context.R");
GBX_EMBED(gbx_context_java, GBX_JAVA_DIR "/Context.java");
GBX_EMBED(gbx_cell_bash, GBX_BASH_DIR "/cell");
GBX_EMBED(gbx_context_sh, GBX_BASH_DIR "/context.sh");
#include "packages_embedded.inc"

namespace glovebox::launcher {
namespace {

#include "runtime_files_digest.inc"  // made by gen_digest

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::span<const RuntimeFile> runtime_files() {
  static const RuntimeFile kFiles[] = {
      {"opt/glovebox/bash/cell", between(gbx_cell_bash_begin, gbx_cell_bash_end)},
      {"opt/glovebox/bash/context.sh", between(gbx_context_sh_begin, gbx_context_sh_end)},
      {"opt/glovebox/java/Context.java", between(gbx_context_java_begin, gbx_context_java_end)},
      {"opt/glovebox/r/context.R", between(gbx_context_r_begin, gbx_context_r_end)},
      {"opt/glovebox/node/typescript.js", between(gbx_typescript_js_begin, gbx_typescript_js_end)},
      {"opt/glovebox/node/context.js", between(gbx_context_js_begin, gbx_context_js_end)},
      {"opt/glovebox/python/cell_history.py",
       between(gbx_cell_history_py_begin, gbx_cell_history_py_end)},
      {"opt/glovebox/python/cell_stdin.py",
       between(gbx_cell_stdin_py_begin, gbx_cell_stdin_py_end)},
      {"opt/glovebox/python/calls.py", between(gbx_calls_py_begin, gbx_calls_py_end)},
      {"opt/glovebox/python/cells.py", between(gbx_cells_py_begin, gbx_cells_py_end)},
      {"opt/glovebox/python/charts.py", between(gbx_charts_py_begin, gbx_charts_py_end)},
      {"opt/glovebox/python/context.py", between(gbx_context_py_begin, gbx_context_py_end)},
      {"opt/glovebox/python/display.py", between(gbx_display_py_begin, gbx_display_py_end)},
      {"opt/glovebox/python/failure.py", between(gbx_failure_py_begin, gbx_failure_py_end)},
      {"opt/glovebox/python/figures.py", between(gbx_figures_py_begin, gbx_figures_py_end)},
      {"opt/glovebox/python/lambda_handler.py",
       between(gbx_lambda_handler_py_begin, gbx_lambda_handler_py_end)},
      {"opt/glovebox/python/import_policy.py",
       between(gbx_import_policy_py_begin, gbx_import_policy_py_end)},
      {"opt/glovebox/python/images.py", between(gbx_images_py_begin, gbx_images_py_end)},
      {"opt/glovebox/python/magic_commands.py",
       between(gbx_magic_commands_py_begin, gbx_magic_commands_py_end)},
      {"opt/glovebox/python/magics.py", between(gbx_magics_py_begin, gbx_magics_py_end)},
      {"opt/glovebox/python/notebook.py", between(gbx_notebook_py_begin, gbx_notebook_py_end)},
      {"opt/glovebox/python/run.py", between(gbx_run_py_begin, gbx_run_py_end)},
      {"opt/glovebox/python/last_expression.py",
       between(gbx_last_expression_py_begin, gbx_last_expression_py_end)},
      {"opt/glovebox/python/runner.py", between(gbx_runner_py_begin, gbx_runner_py_end)},
      {"opt/glovebox/python/function_bundle.py",
       between(gbx_function_bundle_py_begin, gbx_function_bundle_py_end)},
      {"opt/glovebox/python/function_call.py",
       between(gbx_function_call_py_begin, gbx_function_call_py_end)},
      {"opt/glovebox/python/inside.py", between(gbx_inside_py_begin, gbx_inside_py_end)},
      {"opt/glovebox/python/inside_names.py",
       between(gbx_inside_names_py_begin, gbx_inside_names_py_end)},
      {"opt/glovebox/python/installed.py", between(gbx_installed_py_begin, gbx_installed_py_end)},
      {"opt/glovebox/python/value_arrays.py",
       between(gbx_value_arrays_py_begin, gbx_value_arrays_py_end)},
      {"opt/glovebox/python/value_dates.py",
       between(gbx_value_dates_py_begin, gbx_value_dates_py_end)},
      {"opt/glovebox/python/value_frames.py",
       between(gbx_value_frames_py_begin, gbx_value_frames_py_end)},
      {"opt/glovebox/python/values.py", between(gbx_values_py_begin, gbx_values_py_end)},
      {"opt/glovebox/python/zygote.py", between(gbx_zygote_py_begin, gbx_zygote_py_end)},
      {"opt/glovebox/python/_glovebox_zygote.abi3.so",
       between(gbx_zygote_module_begin, gbx_zygote_module_end)},
      {"opt/glovebox/node/lambda_handler.js",
       between(gbx_lambda_handler_js_begin, gbx_lambda_handler_js_end)},
      {"opt/glovebox/node/run.js", between(gbx_run_js_begin, gbx_run_js_end)},
#include "packages_listed.inc"
  };
  return kFiles;
}

std::uint64_t runtime_files_digest() { return kRuntimeFilesDigest; }

}  // namespace glovebox::launcher
