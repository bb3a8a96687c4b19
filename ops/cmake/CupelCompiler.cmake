# The compiler, its warnings and the build variants (sanitizers, fuzzing, coverage, hardening).

# g++ 12 compiles ordinary coroutine code wrongly and in silence (docs/decisions/0001-compiler.md),
# so a build with it must stop before it can produce a binary.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
  message(FATAL_ERROR
    "Cupel is built with clang 19 or newer; found ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION}. g++ 12 miscompiles coroutines. "
    "Use a preset: cmake --preset dev")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  message(FATAL_ERROR "Cupel runs on linux/amd64; ${CMAKE_SYSTEM_PROCESSOR} is not tested yet.")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)
# -g1 keeps line tables for stack traces and leaves out what makes objects three times as large.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

find_program(CUPEL_MOLD mold)
if(CUPEL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(cupel_warnings INTERFACE)
target_compile_options(cupel_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast)
option(CUPEL_WERROR "Treat warnings as errors" OFF)
if(CUPEL_WERROR)
  target_compile_options(cupel_warnings INTERFACE -Werror)
endif()

set(CUPEL_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
if(CUPEL_SANITIZE)
  add_compile_options(-fsanitize=${CUPEL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CUPEL_SANITIZE})
  if(CUPEL_SANITIZE MATCHES "undefined")
    # The check of vptr looks at memory through a pipe: in a test that leaves a process no descriptor it reports what isn't
    # so, and ends it (IsAccessibleMemoryRange in compiler-rt). AddressSanitizer sees objects that are gone.
    add_compile_options(-fno-sanitize=vptr)
    add_link_options(-fno-sanitize=vptr)
  endif()
  if(CUPEL_SANITIZE MATCHES "thread")
    # ThreadSanitizer does not model the fences that Asio puts around handlers.
    add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()

# Twenty thousand seeds are simulated with what core libraries do, so a build that is made to run tests pays for the
# optimiser there.
set(CUPEL_CORE_OPTIONS "")
if(CUPEL_PRECOMPILE AND CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT CUPEL_SANITIZE)
  set(CUPEL_CORE_OPTIONS -O1)
endif()

option(CUPEL_FUZZ "Build the libFuzzer targets under tests/fuzz" OFF)

option(CUPEL_COVERAGE "Source-based coverage" OFF)
if(CUPEL_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

option(CUPEL_HARDEN "Hardening flags of the installed binaries" OFF)
if(CUPEL_HARDEN)
  add_compile_options(-D_FORTIFY_SOURCE=2 -D_GLIBCXX_ASSERTIONS -fstack-protector-strong)
  add_link_options(-Wl,-z,relro,-z,now)
endif()
