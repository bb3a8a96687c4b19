# Precompiled headers for the builds that are made only to run tests (CUPEL_PRECOMPILE): library headers, none of
# ours. Off where people work and where programs are installed, so that a missing #include is still an error there.
option(CUPEL_PRECOMPILE "Precompile the headers of the libraries that most files read" OFF)

set(CUPEL_PCH_STD <algorithm> <array> <charconv> <chrono> <cstdint> <cstring> <deque> <filesystem> <functional>
                  <map> <memory> <optional> <set> <span> <sstream> <string> <string_view> <utility> <variant> <vector>
                  <boost/system/result.hpp> <nlohmann/json.hpp>)
set(CUPEL_PCH_ASIO <atomic> <mutex> <thread>
                   <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp>
                   <boost/asio/io_context.hpp> <boost/asio/post.hpp> <boost/asio/steady_timer.hpp>
                   <boost/asio/this_coro.hpp> <boost/asio/thread_pool.hpp> <boost/asio/use_awaitable.hpp>)
set(CUPEL_PCH_TEST <fstream> <gmock/gmock.h> <gtest/gtest.h>)

# ccache takes a precompiled header by its content, so no time may be in it.
list(APPEND CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -fno-pch-timestamp)

# cupel_pch_host(<name> HEADERS... LINKS ...): compiles one set once; others reuse it.
function(cupel_pch_host name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LINKS")
  set(source ${PROJECT_BINARY_DIR}/pch/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "" @ONLY)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${name} PRIVATE ${arg_LINKS} cupel_warnings)
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

if(CUPEL_PRECOMPILE)
  find_package(GTest REQUIRED)
  cupel_pch_host(cupel_pch_core HEADERS ${CUPEL_PCH_STD} LINKS Boost::headers nlohmann_json::nlohmann_json)
  target_compile_options(cupel_pch_core PRIVATE ${CUPEL_CORE_OPTIONS})
  if(CUPEL_FUZZ)  # As the core libraries: clang compares the sanitizers.
    target_compile_options(cupel_pch_core PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  cupel_pch_host(cupel_pch_adapter HEADERS ${CUPEL_PCH_STD} ${CUPEL_PCH_ASIO}
                 LINKS Boost::asio nlohmann_json::nlohmann_json)
  cupel_pch_host(cupel_pch_core_test HEADERS ${CUPEL_PCH_STD} ${CUPEL_PCH_TEST}
                 LINKS Boost::headers nlohmann_json::nlohmann_json GTest::gmock)
  cupel_pch_host(cupel_pch_adapter_test HEADERS ${CUPEL_PCH_STD} ${CUPEL_PCH_ASIO} ${CUPEL_PCH_TEST}
                 LINKS Boost::asio nlohmann_json::nlohmann_json GTest::gmock)
  foreach(host cupel_pch_core_test cupel_pch_adapter_test)  # As the programs that reuse them.
    target_compile_options(${host} PRIVATE -fPIE)
  endforeach()
endif()

# Several files of a target are compiled as one: what they instantiate alike is compiled once. Names in the anonymous
# namespaces of one folder must differ for that; a clash is an error of the compiler.
option(CUPEL_UNITY "Compile several files of a target as one" OFF)

# cupel_precompile(<target> core|adapter|core_test|adapter_test): the last two are for programs, the others for libraries.
function(cupel_precompile target kind)
  if(CUPEL_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM cupel_pch_${kind})
  endif()
  if(CUPEL_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Core libraries, and what is simulated with them.
function(cupel_compile_as_core target)
  target_compile_options(${target} PRIVATE ${CUPEL_CORE_OPTIONS})
  cupel_precompile(${target} core)
  if(CUPEL_FUZZ)
    # Only what is fuzzed is worth a third more of compile time: fuzzers link core libraries.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
