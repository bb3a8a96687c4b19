#include "worker/outbox/outbox.hpp"

#include "common/crash/crash_point.hpp"
#include "common/fs/files.hpp"
#include "common/wire/codec.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace cupel::worker {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kResultBytesMax = 64ULL << 20;
constexpr std::string_view kSuffix = ".result";

}  // namespace

Result<Outbox> Outbox::open(stdfs::path dir, std::uint64_t reserve_bytes) {
  if (auto made = fs::ensure_private_dir(dir); !made) return made.error();
  Outbox outbox(std::move(dir), reserve_bytes);
  if (auto reserved = outbox.make_reserve(); !reserved) return reserved.error();
  return outbox;
}

Result<void> Outbox::make_reserve() const {
  if (reserve_bytes_ == 0) return {};
  const stdfs::path file = dir_ / "reserve";
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Error{Errc::io_error, "can't open " + file.string(), std::strerror(errno), {}};
  }
  const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(reserve_bytes_));
  ::close(fd);
  if (error != 0) {
    const Errc code = error == ENOSPC ? Errc::disk_full : Errc::io_error;
    return Error{code,
                 "can't reserve " + std::to_string(reserve_bytes_) + " bytes for results in " +
                     dir_.string(),
                 std::strerror(error),
                 code == Errc::disk_full ? "free space, or lower outbox_reserve" : ""};
  }
  return {};
}

stdfs::path Outbox::file_of(Token token) const {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%020llu", static_cast<unsigned long long>(token.value));
  return dir_ / (std::string(text.data()) + std::string(kSuffix));
}

Result<void> Outbox::put(const TaskResult& result) {
  const std::string bytes = wire::encode_result(result);
  auto written = fs::write_file_durably(file_of(result.token), bytes, 0600);
  if (written || written.error().code != Errc::disk_full) return written;
  // The reserve was kept for this moment; it comes back as soon as there is room again.
  std::error_code ec;
  stdfs::remove(dir_ / "reserve", ec);
  return fs::write_file_durably(file_of(result.token), bytes, 0600);
}

Result<TaskResult> Outbox::get(Token token) const {
  auto bytes = fs::read_file(file_of(token), kResultBytesMax);
  if (!bytes) return bytes.error();
  return wire::decode_result(*bytes);
}

Result<void> Outbox::remove(Token token) {
  std::error_code ec;
  CUPEL_CRASH_POINT("outbox.remove");
  stdfs::remove(file_of(token), ec);
  if (ec) return Error{Errc::io_error, "remove " + file_of(token).string(), ec.message(), {}};
  CUPEL_CRASH_POINT("outbox.removed");
  if (reserve_bytes_ != 0 && !stdfs::exists(dir_ / "reserve", ec)) (void)make_reserve();
  return {};
}

Result<Outbox::Found> Outbox::recover() {
  Found found;
  std::error_code ec;
  std::vector<stdfs::path> files;
  for (const auto& entry : stdfs::directory_iterator(dir_, ec)) files.push_back(entry.path());
  if (ec) return Error{Errc::io_error, "can't list " + dir_.string(), ec.message(), {}};
  std::ranges::sort(files);
  for (const stdfs::path& file : files) {
    const std::string file_name = file.filename().string();
    if (file_name.ends_with(".new")) {
      stdfs::remove(file, ec);
      continue;
    }
    if (!file_name.ends_with(kSuffix)) continue;
    const auto bytes = fs::read_file(file, kResultBytesMax);
    auto result = bytes ? wire::decode_result(*bytes) : Result<TaskResult>(bytes.error());
    if (result && file_of(result->token) == file) {
      found.results.push_back(std::move(*result));
    } else {
      CUPEL_CRASH_POINT("outbox.set_aside");
      stdfs::rename(file, file.string() + ".damaged", ec);
      found.damaged.push_back(file_name);
    }
  }
  return found;
}

Outbox::Size Outbox::size() const {
  Size size;
  std::error_code ec;
  for (const auto& entry : stdfs::directory_iterator(dir_, ec)) {
    if (!entry.path().filename().string().ends_with(kSuffix)) continue;
    size.results += 1;
    size.bytes += entry.file_size(ec);
  }
  return size;
}

}  // namespace cupel::worker
