# Every library that Cupel uses, all from Debian 12 (ops/lib/packages.list names the packages).
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(cppzmq REQUIRED)
find_package(CapnProto CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL REQUIRED)
find_package(LibArchive REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBGIT2 REQUIRED IMPORTED_TARGET libgit2)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)

# Asio and Beast are headers of Boost; their own name keeps them out of core libraries
# (CupelTargets.cmake).
add_library(cupel_asio INTERFACE)
add_library(Boost::asio ALIAS cupel_asio)
target_link_libraries(cupel_asio INTERFACE Boost::headers Threads::Threads)
# What Debian 12's Asio still does with std::result_of and friends is not ours to warn about.
target_compile_definitions(cupel_asio INTERFACE BOOST_ASIO_NO_DEPRECATED)

# Debian's SOCI ships no CMake package.
find_package(PostgreSQL REQUIRED)
find_path(CUPEL_SOCI_INCLUDE soci/soci.h REQUIRED)
foreach(part core sqlite3 postgresql)
  find_library(CUPEL_SOCI_${part} soci_${part} REQUIRED)
  add_library(SOCI::${part} UNKNOWN IMPORTED)
  set_target_properties(SOCI::${part} PROPERTIES IMPORTED_LOCATION ${CUPEL_SOCI_${part}}
                        INTERFACE_INCLUDE_DIRECTORIES ${CUPEL_SOCI_INCLUDE})
endforeach()
target_link_libraries(SOCI::core INTERFACE ${CMAKE_DL_LIBS} Threads::Threads)
target_link_libraries(SOCI::sqlite3 INTERFACE SOCI::core SQLite::SQLite3)
target_link_libraries(SOCI::postgresql INTERFACE SOCI::core PostgreSQL::PostgreSQL)
