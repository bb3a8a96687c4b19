# cupel_add_library(<module>_<folder> LAYER core|adapter|app SOURCES ... [DEPS ...])
#
# One static library a folder. Two rules stop the configure step when they are broken, so that the
# picture in docs/architecture.md stays true:
#   1. A module depends on itself and on the modules before it, never sideways:
#      schema -> common -> {coordinator, worker, cli}.
#   2. Inside a module the arrows are core <- adapter <- app, and a core library links nothing that
#      does I/O.
# Headers can be included without linking, so tests/tidy reads the #include lines as well.
set(CUPEL_MAY_USE_schema schema)
set(CUPEL_MAY_USE_common schema common)
set(CUPEL_MAY_USE_coordinator schema common coordinator)
set(CUPEL_MAY_USE_worker schema common worker)
set(CUPEL_MAY_USE_cli schema common cli)
set(CUPEL_LAYERS core adapter app)
set(CUPEL_IO_LIBRARIES Boost::asio cppzmq SQLite::SQLite3 SOCI::core SOCI::sqlite3
                       SOCI::postgresql prometheus-cpp::core prometheus-cpp::pull
                       PkgConfig::LIBGIT2 PkgConfig::SYSTEMD spdlog::spdlog LibArchive::LibArchive)

function(cupel_check_deps name module rank)
  foreach(dep IN LISTS ARGN)
    if(dep IN_LIST CUPEL_IO_LIBRARIES AND rank EQUAL 0)
      message(FATAL_ERROR "${name} is a core library but links ${dep}, which does I/O")
    endif()
    if(TARGET ${dep})
      get_target_property(dep_rank ${dep} CUPEL_RANK)
      get_target_property(dep_module ${dep} CUPEL_MODULE)
      if(dep_module AND (dep_rank GREATER rank OR NOT dep_module IN_LIST CUPEL_MAY_USE_${module}))
        message(FATAL_ERROR "${name} may not depend on ${dep} (docs/architecture.md, arrows)")
      endif()
    endif()
  endforeach()
endfunction()

function(cupel_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LAYER" "SOURCES;DEPS")
  list(FIND CUPEL_LAYERS "${arg_LAYER}" rank)
  string(REGEX REPLACE "_.*" "" module "${name}")
  if(rank LESS 0 OR NOT DEFINED CUPEL_MAY_USE_${module})
    message(FATAL_ERROR "${name}: unknown LAYER '${arg_LAYER}' or module '${module}'")
  endif()
  cupel_check_deps(${name} ${module} ${rank} ${arg_DEPS})
  add_library(${name} STATIC ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES CUPEL_RANK ${rank} CUPEL_MODULE ${module})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE cupel_warnings)
endfunction()

# cupel_add_executable(<name> MODULE <module> SOURCES ... [DEPS ...])
function(cupel_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODULE" "SOURCES;DEPS")
  cupel_check_deps(${name} ${arg_MODULE} 2 ${arg_DEPS})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} cupel_warnings)
  # One place for every program, so that `cupel run --local` finds its siblings beside itself.
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# Targets that build all programs of a kind: cupel_tests_unit, cupel_tests_sim, ..., cupel_fuzzers.
function(cupel_collect collection name)
  if(NOT TARGET ${collection})
    add_custom_target(${collection})
  endif()
  add_dependencies(${collection} ${name})
endfunction()

# cupel_add_test(<name> [LABEL unit|sim|wire|integration|tidy] [TIMEOUT seconds] SOURCES ... [DEPS ...])
# A GoogleTest program whose cases ctest knows by name.
function(cupel_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;DEPS")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE CUPEL_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             CUPEL_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gmock GTest::gtest_main cupel_warnings)
  cupel_collect(cupel_tests_${arg_LABEL} ${name})
  gtest_discover_tests(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT}
                       DISCOVERY_TIMEOUT 60)
endfunction()

# cupel_add_fuzzer(<name> SOURCES ... [DEPS ...]): a libFuzzer target; its corpus is
# tests/fuzz/corpus/<name>. Built only with CUPEL_FUZZ.
function(cupel_add_fuzzer name)
  if(NOT CUPEL_FUZZ)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} cupel_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  cupel_collect(cupel_fuzzers ${name})
endfunction()
