# A folder is a library is a layer:
#
#   atoll_library(net
#     SOURCES byte_stream.cc http_server.cc
#     HEADERS byte_stream.h http_server.h
#     DEPS base telemetry              # our folders, PUBLIC
#     EXTERNAL beast_compiled          # third-party targets, PUBLIC
#     TESTS http_server_test.cc)       # one test program per folder: net_test
#
# Every header is self-contained: a source whose first include it is proves it, and the others are compiled alone
# (target <name>_headers).
function(atoll_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPS;EXTERNAL;TESTS;TEST_DEPS")

  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC atoll_flags ${arg_DEPS} ${arg_EXTERNAL})
  atoll_use_pch(${name})

  set(checks)
  foreach(header ${arg_HEADERS})
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH root)
    if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${CMAKE_SOURCE_DIR}/src/")
      set(root ${CMAKE_SOURCE_DIR}/src)
    endif()
    file(RELATIVE_PATH path ${root} ${CMAKE_CURRENT_SOURCE_DIR}/${header})
    string(REGEX REPLACE "\\.h$" ".cc" source ${header})
    set(first)
    if(source IN_LIST arg_SOURCES)
      file(STRINGS ${source} first REGEX "^#include" LIMIT_COUNT 1)
    endif()
    if(NOT first STREQUAL "#include \"${path}\"")
      string(MAKE_C_IDENTIFIER ${header} ident)
      set(check ${CMAKE_CURRENT_BINARY_DIR}/alone_${ident}.cc)
      file(CONFIGURE OUTPUT ${check} CONTENT "#include \"${path}\"\n")
      list(APPEND checks ${check})
    endif()
  endforeach()
  if(checks)
    add_library(${name}_headers OBJECT EXCLUDE_FROM_ALL ${checks})
    target_link_libraries(${name}_headers PRIVATE ${name})
    set_property(GLOBAL APPEND PROPERTY ATOLL_HEADER_CHECKS ${name}_headers)
  endif()

  if(BUILD_TESTING AND arg_TESTS)
    atoll_test(${name}_test SOURCES ${arg_TESTS} DEPS ${name} ${arg_TEST_DEPS} LABEL unit)
  endif()
endfunction()

# A gtest program, run by ctest as one test with the given label (unit, conformance, security, faults, api, e2e, vm).
# With NO_RUN it is only built, for atoll_test_run to run it once or several times.
function(atoll_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_RUN" "LABEL;TIMEOUT" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE atoll_flags ${arg_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  atoll_links_task(${name} links_task)
  if(ATOLL_PCH AND links_task)
    target_precompile_headers(${name} REUSE_FROM test_pch)
  endif()
  set_property(GLOBAL APPEND PROPERTY ATOLL_TEST_PROGRAMS_${arg_LABEL} ${name})
  if(NOT arg_NO_RUN)
    atoll_test_run(${name} PROGRAM ${name} LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# One run of a gtest program under ctest. It finds the products through ATOLL_BIN and ATOLL_LIBEXEC, and leaves its
# results in results/<name>.xml of the build tree, where ./dev test counts the cases.
function(atoll_test_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;LABEL;TIMEOUT" "ARGS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_PROGRAM} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  set_property(TEST ${name} PROPERTY ENVIRONMENT
    ATOLL_BIN=${ATOLL_PRODUCTS}/bin/atoll
    ATOLL_LIBEXEC=${ATOLL_PRODUCTS}/libexec/atoll
    GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/results/${name}.xml
    ${arg_ENVIRONMENT})
endfunction()

# A libFuzzer program over one parser, with its corpus beside it under corpus/<name>.
function(atoll_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  if(NOT ATOLL_FUZZERS)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE atoll_flags ${arg_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  set_property(GLOBAL APPEND PROPERTY ATOLL_FUZZER_PROGRAMS ${name})
endfunction()

# A program of the benchmark harness; built by the target bench_programs only, into libexec/atoll-bench.
function(atoll_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE atoll_flags ${arg_DEPS})
  atoll_use_pch(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/libexec/atoll-bench)
  set_property(GLOBAL APPEND PROPERTY ATOLL_BENCH_PROGRAMS ${name})
endfunction()

# The targets that ./dev builds: groups of what the folders have registered. Called once, after every folder.
#   tests_<label>, tests   the test programs         headers   every header, alone
#   fuzzers                the libFuzzer programs    bench_programs
function(atoll_group_targets)
  set(all)
  foreach(label ${ATOLL_TEST_LABELS})
    get_property(programs GLOBAL PROPERTY ATOLL_TEST_PROGRAMS_${label})
    add_custom_target(tests_${label} DEPENDS ${programs})
    list(APPEND all tests_${label})
  endforeach()
  add_custom_target(tests DEPENDS ${all})

  get_property(checks GLOBAL PROPERTY ATOLL_HEADER_CHECKS)
  add_custom_target(headers)
  if(checks)
    add_dependencies(headers ${checks})
  endif()
  get_property(programs GLOBAL PROPERTY ATOLL_FUZZER_PROGRAMS)
  add_custom_target(fuzzers DEPENDS ${programs})
  get_property(programs GLOBAL PROPERTY ATOLL_BENCH_PROGRAMS)
  add_custom_target(bench_programs DEPENDS ${programs})
endfunction()

# One lean precompiled header for everything that links the daemon's stack; the static programs go without.
function(atoll_use_pch target)
  if(NOT ATOLL_PCH)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE OR type STREQUAL STATIC_LIBRARY)
    get_target_property(links ${target} LINK_LIBRARIES)
    if("task" IN_LIST links)
      target_precompile_headers(${target} REUSE_FROM task)
    endif()
  endif()
endfunction()

# Whether a target links `task`, itself or through others of ours that do not keep theirs to themselves.
function(atoll_links_task target result)
  get_property(known GLOBAL PROPERTY ATOLL_LINKS_TASK_${target})
  if(NOT known)
    set(known NO)
    get_target_property(links ${target} LINK_LIBRARIES)
    foreach(link ${links})
      if(link STREQUAL task)
        set(known YES)
      elseif(TARGET ${link} AND NOT link MATCHES "::")
        get_target_property(type ${link} TYPE)
        if(type STREQUAL STATIC_LIBRARY)
          atoll_links_task(${link} known)
        endif()
      endif()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY ATOLL_LINKS_TASK_${target} ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# A companion program: static, small, stripped of what it does not use, in libexec. Sanitizers need a dynamic one.
function(atoll_static_program target)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${ATOLL_LIBEXEC_DIR})
  if(NOT ATOLL_SANITIZE)
    target_link_options(${target} PRIVATE -static -Wl,--gc-sections)
    if(CMAKE_BUILD_TYPE STREQUAL Release)
      target_link_options(${target} PRIVATE -s)
    endif()
  endif()
endfunction()

# A file of unittest cases against real products, run by python3; each case counts. With CASES, those whose names have it.
function(atoll_live_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;CASES;LABEL;TIMEOUT" "")
  atoll_test_run(${name} PROGRAM /usr/bin/python3 LABEL ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
    ARGS ${CMAKE_SOURCE_DIR}/tests/support/run_cases.py ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_CASES})
endfunction()
