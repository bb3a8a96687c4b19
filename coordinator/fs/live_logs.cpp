#include "coordinator/fs/live_logs.hpp"

#include <limits>

namespace cupel::coordinator::fs {

void LiveLogs::erase(std::map<Key, Entry>::iterator entry) {
  total_ -= entry->second.bytes.size();
  by_age_.erase(entry->second.age);
  streams_.erase(entry);
}

void LiveLogs::add(const LogTail& tail) {
  take(tail);
  if (changed_) changed_();
}

void LiveLogs::take(const LogTail& tail) {
  const std::lock_guard lock(mutex_);
  const Key key{tail.task.value, tail.check, tail.stream};
  auto found = streams_.find(key);
  if (found == streams_.end()) {
    by_age_.push_back(key);
    found =
        streams_.emplace(key, Entry{tail.token, tail.offset, {}, std::prev(by_age_.end())}).first;
  }
  Entry& entry = found->second;
  by_age_.splice(by_age_.end(), by_age_, entry.age);
  const std::uint64_t end = entry.offset + entry.bytes.size();
  if (tail.token != entry.token || tail.offset > end) {
    total_ -= entry.bytes.size();
    entry.token = tail.token;
    entry.offset = tail.offset;
    entry.bytes.clear();
  } else if (tail.offset + tail.bytes.size() <= end) {
    return;  // known already
  }
  const std::size_t known =
      static_cast<std::size_t>(entry.offset + entry.bytes.size() - tail.offset);
  entry.bytes.append(tail.bytes, known);
  total_ += tail.bytes.size() - known;
  if (entry.bytes.size() > limits_.stream_bytes_max) {
    const std::size_t cut = entry.bytes.size() - limits_.stream_bytes_max;
    entry.bytes.erase(0, cut);
    entry.offset += cut;
    total_ -= cut;
  }
  while (total_ > limits_.total_bytes_max && by_age_.size() > 1)
    erase(streams_.find(by_age_.front()));
}

void LiveLogs::drop(TaskId task) {
  {
    const std::lock_guard lock(mutex_);
    auto entry =
        streams_.lower_bound({task.value, static_cast<CheckKind>(0), static_cast<Stream>(0)});
    while (entry != streams_.end() && std::get<0>(entry->first) == task.value) erase(entry++);
  }
  if (changed_) changed_();
}

std::optional<LiveLogs::View> LiveLogs::read(TaskId task, CheckKind check, Stream stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find({task.value, check, stream});
  if (found == streams_.end()) return std::nullopt;
  return View{found->second.offset, found->second.bytes};
}

std::size_t LiveLogs::bytes() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace cupel::coordinator::fs
