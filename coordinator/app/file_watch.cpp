#include "coordinator/app/file_watch.hpp"

#include <boost/asio/buffer.hpp>

#include <cerrno>
#include <cstring>
#include <memory>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace cupel::coordinator {

FileWatch::FileWatch(boost::asio::io_context& loop, int fd, std::string name,
                     std::function<void()> changed)
    : descriptor_(loop, fd), name_(std::move(name)), changed_(std::move(changed)) {
  wait();
}

Result<std::unique_ptr<FileWatch>> FileWatch::start(boost::asio::io_context& loop,
                                                    const std::filesystem::path& file,
                                                    std::function<void()> changed) {
  const std::filesystem::path folder =
      file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  if (fd < 0 || ::inotify_add_watch(fd, folder.c_str(), kEvents) < 0) {
    const int error = errno;
    if (fd >= 0) ::close(fd);
    return Error{.code = Errc::io_error,
                 .what = "can't watch " + folder.string(),
                 .detail = std::strerror(error),
                 .hint = {}};
  }
  return std::unique_ptr<FileWatch>(
      new FileWatch(loop, fd, file.filename().string(), std::move(changed)));
}

void FileWatch::stop() {
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

void FileWatch::wait() {
  descriptor_.async_read_some(
      boost::asio::buffer(buffer_), [this](const boost::system::error_code& ec, std::size_t bytes) {
        if (ec) return;
        bool ours = false;
        for (std::size_t at = 0; at + sizeof(inotify_event) <= bytes;) {
          inotify_event event{};
          std::memcpy(&event, buffer_.data() + at, sizeof event);
          const char* name = buffer_.data() + at + sizeof event;
          ours = ours || (event.len > 0 && name_ == name) || (event.mask & IN_Q_OVERFLOW) != 0;
          at += sizeof event + event.len;
        }
        if (ours) changed_();
        wait();
      });
}

}  // namespace cupel::coordinator
