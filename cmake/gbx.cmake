# gbx_library: one static library per folder under src/, with its unit tests beside it.
# gbx_program: an executable in build/bin, static in release builds so that it starts fast
#              and needs nothing of the place it runs in.
# gbx_test:    a gtest program; ASan and UBSan are in it when GBX_SANITIZE is on, TSan when GBX_TSAN is.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(GBX_SANITIZE "Address and undefined-behaviour sanitizers" OFF)
option(GBX_TSAN "Thread sanitizer" OFF)
option(GBX_STATIC "Link the programs statically" OFF)
option(GBX_FUZZ "Build the libFuzzer targets (clang)" OFF)
# CMAKE_UNITY_BUILD is the release preset's: twelve sources are compiled as one, so that Asio and
# Boost.JSON are read forty times and not five hundred. The other presets compile each source by
# itself, so that a source without an include of its own does not pass.
# GBX_PCH is the dev preset's: headers of others (Asio, Boost.JSON, the standard library, GoogleTest)
# are read once. Never ours: each source still has to include what it uses of this project. What it
# forgets of others, the presets without (lint, tsan, fuzz) see.
option(GBX_PCH "Precompile headers of third parties" OFF)
set(GBX_BIN_DIR "${CMAKE_BINARY_DIR}/bin" CACHE PATH "Where programs are put")
set(GBX_TEST_DIR "${CMAKE_BINARY_DIR}/tests" CACHE PATH "Where test programs are put")

find_program(GBX_CCACHE ccache)
if(GBX_CCACHE)
  # Another clone of the same sources finds what this one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      # As ccache wants it where precompiled headers are used.
      CCACHE_SLOPPINESS=pch_defines,time_macros "${GBX_CCACHE}")
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees both in std::string's own code where there is neither (PR105329, PR105562).
  add_compile_options(-Wno-restrict -Wno-maybe-uninitialized)
  if(CMAKE_UNITY_BUILD)
    # Meant for headers: a type with a member of an unnamed namespace's type. In a unity build every
    # source looks like an included file.
    add_compile_options(-Wno-subobject-linkage)
  endif()
else()
  # Clang also warns where a macro of a library, such as libseccomp's SCMP_A0, leaves out a field.
  add_compile_options(-Wno-missing-field-initializers)
endif()
if(GBX_SANITIZE)
  # Without the checks of every pointer for null and alignment, which take a quarter of the time to
  # compile: the address sanitizer reports the first, and the fuzzers, which have all checks, drive
  # whatever parses bytes.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,alignment,object-size
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(GBX_TSAN)
  # GCC warns that its thread sanitizer does not see std::atomic_thread_fence; Asio's thread pool
  # uses fences only beside a mutex, which it does see.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
  set(gbx_tsan_options "${PROJECT_SOURCE_DIR}/tests/support/tsan_options.cc")
elseif(GBX_FUZZ)
  # Clang 14 cannot compile coroutines with its check of function types.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=function
                      -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
else()
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
                      -fstack-protector-strong -fstack-clash-protection -fcf-protection)
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack -Wl,--gc-sections)
  add_compile_options(-ffunction-sections -fdata-sections)
endif()

if(GBX_PCH)
  set(gbx_third_party
    <algorithm> <chrono> <cstdint> <cstdio> <deque> <filesystem> <functional> <map> <memory>
    <optional> <span> <string> <string_view> <utility> <variant> <vector> <tl/expected.hpp>
    <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/detached.hpp>
    <boost/asio/io_context.hpp> <boost/asio/post.hpp> <boost/asio/posix/stream_descriptor.hpp>
    <boost/asio/steady_timer.hpp> <boost/json.hpp>)
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/pch.cc" CONTENT "")
  add_library(gbx_pch OBJECT "${CMAKE_BINARY_DIR}/pch.cc")
  target_precompile_headers(gbx_pch PRIVATE ${gbx_third_party})
  # A program, because those are compiled for other addresses (-fPIE) than libraries.
  add_executable(gbx_pch_test EXCLUDE_FROM_ALL "${CMAKE_BINARY_DIR}/pch.cc")
  target_link_libraries(gbx_pch_test PRIVATE GTest::gmock GTest::gtest_main)
  target_precompile_headers(gbx_pch_test PRIVATE ${gbx_third_party} <gtest/gtest.h> <gmock/gmock.h>)
  # For ccache: GCC's preprocessor must say which precompiled header it would use.
  add_compile_options(-fpch-preprocess)
endif()

# Libraries of ours are found as glovebox::<name>, and headers by their path from src/. THREADS: the
# code starts threads or is called from several, so `make check` runs its tests with TSan.
function(gbx_library name)
  cmake_parse_arguments(arg "THREADS" "" "SOURCES;TESTS;PATHS;PUBLIC;PRIVATE;FAKES;TEST_LIBRARIES"
                        ${ARGN})
  add_library(gbx_${name} STATIC ${arg_SOURCES})
  add_library(glovebox::${name} ALIAS gbx_${name})
  # -iquote and not -I: our sys/mount.h must not be found where <sys/mount.h> is meant.
  target_compile_options(gbx_${name} PUBLIC "SHELL:-iquote ${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(gbx_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  if(GBX_PCH)
    target_precompile_headers(gbx_${name} REUSE_FROM gbx_pch)
  endif()
  # Unit tests run with the sanitizers; the release build is for what starts sandboxes.
  if(arg_FAKES AND (GBX_SANITIZE OR GBX_TSAN))
    add_library(gbx_${name}_testing STATIC ${arg_FAKES})
    add_library(glovebox::${name}_testing ALIAS gbx_${name}_testing)
    target_link_libraries(gbx_${name}_testing PUBLIC glovebox::${name} ${arg_TEST_LIBRARIES}
                          GTest::gmock)
    list(PREPEND arg_TEST_LIBRARIES glovebox::${name}_testing)
  endif()
  if(arg_TESTS AND (GBX_SANITIZE OR GBX_TSAN))
    gbx_test(${name}_test SOURCES ${arg_TESTS} PATHS ${arg_PATHS}
             LIBRARIES ${arg_TEST_LIBRARIES} glovebox::${name} ${arg_PRIVATE})
    if(arg_THREADS)
      set_property(TEST ${name}_test APPEND PROPERTY LABELS threads)
    endif()
  endif()
endfunction()

# gbx_folder: a library of every source below the folder, so that a new file needs no line here.
# What lies in a testing/ folder is a second library, <name>_testing, for tests of this folder and of
# those above it. TEST_LIBRARIES: what the tests need besides.
function(gbx_folder name)
  cmake_parse_arguments(arg "THREADS" "" "PATHS;PUBLIC;PRIVATE;TEST_LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.cc)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(fakes ${sources})
  list(FILTER fakes INCLUDE REGEX "(^|/)testing/")
  list(FILTER fakes EXCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|(^|/)testing/")
  set(threads)
  if(arg_THREADS)
    set(threads THREADS)
  endif()
  gbx_library(${name} ${threads} SOURCES ${sources} TESTS ${tests} PATHS ${arg_PATHS} PUBLIC ${arg_PUBLIC}
              PRIVATE ${arg_PRIVATE} FAKES ${fakes} TEST_LIBRARIES ${arg_TEST_LIBRARIES})
endfunction()

function(gbx_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${gbx_tsan_options})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${GBX_BIN_DIR}")
  if(GBX_STATIC)
    # static-pie: one exec, no dynamic loader, and still a random address layout.
    target_link_options(${name} PRIVATE -static-pie)
  else()
    target_link_options(${name} PRIVATE -pie)
  endif()
endfunction()

function(gbx_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT;PATHS" ${ARGN})
  if(GBX_FUZZ)
    return()
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES} ${gbx_tsan_options})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  if(arg_LABEL STREQUAL unit)
    # Tests of one library may use the same names; only the preset lint would see it.
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  endif()
  if(GBX_PCH)
    target_precompile_headers(${name} REUSE_FROM gbx_pch_test)
  endif()
  # Only for the sources that need them: a path in a command line is a miss of the compiler's cache
  # in every other clone.
  set_source_files_properties(${arg_PATHS} PROPERTIES COMPILE_DEFINITIONS
    "GBX_BIN_DIR=\"${GBX_BIN_DIR}\";GBX_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\"")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${GBX_TEST_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  # Brief: of a program that fails, the log shows what failed and not the hundreds that passed.
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT}
                       ENVIRONMENT "GTEST_BRIEF=1;${arg_ENVIRONMENT}")
endfunction()
