#include "common/gitfmt/object.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

namespace cupel::gitfmt {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Error malformed(std::string what) {
  return {Errc::bad_value, std::move(what), {}, {}};
}

/// The value of the header line `key`, when `bytes` begin with it; advances past it.
std::optional<std::string_view> header_line(std::string_view& bytes, std::string_view key) {
  if (!bytes.starts_with(key) || bytes.size() <= key.size() || bytes[key.size()] != ' ') {
    return std::nullopt;
  }
  const auto end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto value = bytes.substr(key.size() + 1, end - key.size() - 1);
  bytes.remove_prefix(end + 1);
  return value;
}

std::string sort_key(const RawEntry& entry) {
  return entry.mode == kModeTree ? entry.name + '/' : entry.name;
}

}  // namespace

std::string ObjectId::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::optional<ObjectId> ObjectId::parse(std::string_view text) {
  ObjectId id;
  if (text.size() != id.bytes.size() * 2) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return id;
}

std::string_view name(ObjectType type) {
  switch (type) {
    case ObjectType::commit: return "commit";
    case ObjectType::tree: return "tree";
    case ObjectType::blob: return "blob";
    case ObjectType::tag: return "tag";
  }
  return "unknown";
}

ObjectId object_id(ObjectType type, std::string_view bytes) {
  std::string header{name(type)};
  header += ' ' + std::to_string(bytes.size());
  header += '\0';
  ObjectId id;
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  unsigned length = 0;
  const bool ok = context != nullptr && EVP_DigestInit_ex(context, EVP_sha1(), nullptr) == 1 &&
                  EVP_DigestUpdate(context, header.data(), header.size()) == 1 &&
                  EVP_DigestUpdate(context, bytes.data(), bytes.size()) == 1 &&
                  EVP_DigestFinal_ex(context, id.bytes.data(), &length) == 1;
  EVP_MD_CTX_free(context);
  // Only a machine without memory or a libcrypto without SHA-1 gets here: git can't be read there.
  if (!ok) throw std::bad_alloc();
  return id;
}

Result<std::vector<RawEntry>> parse_tree(std::string_view bytes) {
  std::vector<RawEntry> entries;
  while (!bytes.empty()) {
    RawEntry entry;
    const auto space = bytes.find(' ');
    if (space == std::string_view::npos || space == 0 || space > 7) {
      return malformed("tree entry without a mode");
    }
    for (const char c : bytes.substr(0, space)) {
      if (c < '0' || c > '7') return malformed("tree entry with a mode that is no octal number");
      entry.mode = entry.mode * 8 + static_cast<std::uint32_t>(c - '0');
    }
    if (entry.mode == 0) return malformed("tree entry without a mode");
    const auto end = bytes.find('\0', space + 1);
    if (end == std::string_view::npos || bytes.size() - end - 1 < entry.id.bytes.size()) {
      return malformed("tree entry that ends too early");
    }
    entry.name = bytes.substr(space + 1, end - space - 1);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(end) + 1, entry.id.bytes.size(),
                entry.id.bytes.begin());
    bytes.remove_prefix(end + 1 + entry.id.bytes.size());
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string format_tree(std::vector<RawEntry> entries) {
  std::ranges::sort(entries, {}, sort_key);
  std::string bytes;
  for (const RawEntry& entry : entries) {
    std::string mode;
    for (std::uint32_t rest = entry.mode; rest != 0; rest /= 8) {
      mode.insert(mode.begin(), static_cast<char>('0' + rest % 8));
    }
    bytes += mode + ' ' + entry.name;
    bytes += '\0';
    bytes.append(entry.id.bytes.begin(), entry.id.bytes.end());
  }
  return bytes;
}

Result<ObjectId> commit_tree(std::string_view bytes) {
  const auto value = header_line(bytes, "tree");
  const auto id = value ? ObjectId::parse(*value) : std::nullopt;
  if (!id) return malformed("commit without a tree");
  return *id;
}

Result<std::int64_t> commit_time(std::string_view bytes) {
  // "committer NAME <MAIL> SECONDS ZONE"; a name may hold anything but a line feed.
  constexpr std::int64_t kYear10000 = 253'402'300'800;
  constexpr std::string_view kKey = "committer ";
  while (!bytes.starts_with(kKey)) {
    const auto end = bytes.find('\n');
    if (end == std::string_view::npos || end == 0) return malformed("commit without a committer");
    bytes.remove_prefix(end + 1);
  }
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const auto zone = line.rfind(' ');
  const auto begin = line.rfind(' ', zone - 1);
  const std::string_view digits = line.substr(begin + 1, zone - begin - 1);
  std::int64_t seconds = -1;
  const auto [stopped, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error != std::errc() || stopped != digits.data() + digits.size() || seconds < 0 ||
      seconds >= kYear10000) {
    return malformed("commit with a time that is none");
  }
  return seconds;
}

Result<TagTarget> tag_target(std::string_view bytes) {
  const auto value = header_line(bytes, "object");
  const auto id = value ? ObjectId::parse(*value) : std::nullopt;
  const auto type = id ? header_line(bytes, "type") : std::nullopt;
  if (!id || !type) return malformed("tag without an object");
  for (const auto known :
       {ObjectType::commit, ObjectType::tree, ObjectType::blob, ObjectType::tag}) {
    if (*type == name(known)) return TagTarget{*id, known};
  }
  return malformed("tag of an unknown kind of object");
}

}  // namespace cupel::gitfmt
