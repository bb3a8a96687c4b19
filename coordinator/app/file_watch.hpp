/// Tells when a file has been written, replaced or removed.
#pragma once

#include "common/core/error.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <filesystem>
#include <functional>
#include <string>

namespace cupel::coordinator {

/// Watches the file's folder, since editors and our own tools replace a file by renaming another
/// over it. Lives on the loop's thread.
class FileWatch {
 public:
  /// Errors: io_error (the folder is missing).
  [[nodiscard]] static Result<std::unique_ptr<FileWatch>> start(boost::asio::io_context& loop,
                                                                const std::filesystem::path& file,
                                                                std::function<void()> changed);
  void stop();

 private:
  FileWatch(boost::asio::io_context& loop, int fd, std::string name, std::function<void()> changed);
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::string name_;
  std::function<void()> changed_;
  alignas(8) std::array<char, 16 * 1024> buffer_{};
};

}  // namespace cupel::coordinator
