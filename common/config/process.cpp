#include "common/config/config.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unistd.h>

namespace cupel::config {
namespace {

constexpr std::uintmax_t kConfigBytesMax = 1024 * 1024;

Result<std::string> read_whole(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) {
    return Error{Errc::not_found, "there is no file " + path, "", ""};
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Errc::io_error, "can't open " + path, "", "may this user read it?"};
  std::string bytes;
  bytes.resize(kConfigBytesMax + 1);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  if (bytes.size() > kConfigBytesMax)
    return Error{Errc::too_large, path + " is larger than 1 MiB", "", ""};
  return bytes;
}

std::vector<std::string> expand_path(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) {
    return std::filesystem::exists(path, failure) ? std::vector<std::string>{path}
                                                  : std::vector<std::string>{};
  }
  std::vector<std::string> files;
  for (auto entry = std::filesystem::directory_iterator(path, failure);
       !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (entry->path().extension() == ".yaml") files.push_back(entry->path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> all;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view line = *variable;
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos)
      all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

Loaded load(const Schema& schema, int argc, const char* const* argv) {
  Inputs inputs;
  for (int i = 1; i < argc; ++i) inputs.arguments.emplace_back(argv[i]);
  inputs.environment = process_environment();
  inputs.read_file = read_whole;
  inputs.expand = expand_path;
  return load(schema, inputs);
}

void print(const Loaded& loaded) {
  std::fwrite(loaded.out.data(), 1, loaded.out.size(), stdout);
  std::fwrite(loaded.err.data(), 1, loaded.err.size(), stderr);
  std::fflush(nullptr);
}

}  // namespace cupel::config
