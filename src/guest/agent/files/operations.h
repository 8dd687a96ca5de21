// The operations of a file helper, one function each. Each sends FileOpened if there is a pipe,
// fills in `link.done`, and returns the error, if any; file_helper.cc does the rest.
#pragma once

#include "base/result.h"
#include "guest/agent/files/helper_link.h"

namespace glovebox::agent {

Result<> read_file(HelperLink& link);       // read_file.cc
Result<> write_file(HelperLink& link);      // write_file.cc
Result<> stat_file(HelperLink& link);       // list_files.cc
Result<> list_files(HelperLink& link);      // list_files.cc
Result<> make_directory(HelperLink& link);  // write_file.cc
Result<> move_file(HelperLink& link);       // move_file.cc
Result<> copy_file(HelperLink& link);       // move_file.cc
Result<> remove_file(HelperLink& link);     // remove_file.cc
Result<> tar_out(HelperLink& link);         // tar_out.cc
Result<> tar_in(HelperLink& link);          // tar_in.cc
Result<> watch_files(HelperLink& link);     // watch_files.cc
Result<> snapshot_out(HelperLink& link);    // snapshot_out.cc
Result<> snapshot_in(HelperLink& link);     // snapshot_in.cc
Result<> image_in(HelperLink& link);        // image_in.cc

}  // namespace glovebox::agent
