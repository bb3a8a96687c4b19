#include "worker/core/scan/build_info.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace cupel::worker::scan {
namespace {

// Layout of the section: 14 bytes of magic, pointer size, flags, 16 unused bytes, then two strings
// with a length in front (flag 2; before Go 1.18 there were pointers instead).
constexpr std::string_view kMagic = "\xff Go buildinf:";
constexpr std::size_t kFlagsAt = 15;
constexpr std::size_t kStringsAt = 32;
constexpr unsigned kInlineStrings = 2;
constexpr std::size_t kMarkerBytes = 16;  // before and behind the module text
constexpr std::size_t kModuleTextMax = 4UL << 20;
constexpr std::size_t kLinesMax = 20'000;

constexpr std::string_view kElf64Little(
    "\x7f"
    "ELF\x02\x01\x01",
    7);
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kSectionHeaderBytes = 64;

Error bad(std::string what) {
  return {.code = Errc::bad_value,
          .what = "the program's build information: " + std::move(what),
          .detail = {},
          .hint = {}};
}

class Bytes {
 public:
  explicit Bytes(std::string_view all) : all_(all) {}

  template <typename Number>
  [[nodiscard]] std::optional<Number> number(std::uint64_t at) const {
    static_assert(std::endian::native == std::endian::little);
    if (at > all_.size() || all_.size() - at < sizeof(Number)) return std::nullopt;
    Number value{};
    std::memcpy(&value, all_.data() + at, sizeof value);
    return value;
  }
  [[nodiscard]] std::optional<std::string_view> piece(std::uint64_t at, std::uint64_t size) const {
    if (at > all_.size() || all_.size() - at < size) return std::nullopt;
    return all_.substr(at, size);
  }

 private:
  std::string_view all_;
};

/// The section's bytes.
std::optional<std::string_view> section(std::string_view file, std::string_view name) {
  const Bytes bytes(file);
  const auto table = bytes.number<std::uint64_t>(0x28);
  const auto entry_size = bytes.number<std::uint16_t>(0x3A);
  const auto count = bytes.number<std::uint16_t>(0x3C);
  const auto names_index = bytes.number<std::uint16_t>(0x3E);
  if (!table || !entry_size || !count || !names_index || *entry_size != kSectionHeaderBytes) {
    return std::nullopt;
  }
  const auto body = [&](std::uint64_t index) -> std::optional<std::string_view> {
    const auto header = bytes.piece(*table, std::uint64_t{*count} * kSectionHeaderBytes);
    if (!header || index >= *count) return std::nullopt;
    const Bytes one(header->substr(index * kSectionHeaderBytes, kSectionHeaderBytes));
    return bytes.piece(*one.number<std::uint64_t>(0x18), *one.number<std::uint64_t>(0x20));
  };
  const auto names = body(*names_index);
  if (!names) return std::nullopt;
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto name_at = bytes.number<std::uint32_t>(*table + i * kSectionHeaderBytes);
    if (!name_at || *name_at >= names->size()) continue;
    const std::string_view rest = names->substr(*name_at);
    if (rest.substr(0, rest.find('\0')) == name) return body(i);
  }
  return std::nullopt;
}

/// A string with its length in front, as Go's varint.
std::optional<std::string_view> take_string(std::string_view& data) {
  std::uint64_t length = 0;
  std::size_t used = 0;
  for (unsigned shift = 0;; shift += 7) {
    if (used >= data.size() || shift > 56) return std::nullopt;
    const auto byte = static_cast<unsigned char>(data[used++]);
    length |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) break;
  }
  if (length > data.size() - used) return std::nullopt;
  const std::string_view text = data.substr(used, length);
  data.remove_prefix(used + length);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

/// Values with special characters are quoted; those that matter here never are.
void add_setting(BuildInfo& info, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return;
  std::string_view value = text.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  info.settings.emplace(text.substr(0, equals), value);
}

Result<void> read_modules(BuildInfo& info, std::string_view text) {
  std::size_t lines = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (++lines > kLinesMax) return bad("too many lines");
    const auto fields = split(line, '\t');
    if (fields.front() == "path" && fields.size() >= 2) {
      info.package = fields[1];
    } else if (fields.front() == "mod" && fields.size() >= 3) {
      if (!info.module.empty()) return bad("two main modules");
      info.module = fields[1];
      info.version = fields[2];
      if (fields.size() >= 4) info.sum = fields[3];
    } else if (fields.front() == "=>") {
      info.replaced = true;
    } else if (fields.front() == "build" && fields.size() >= 2) {
      add_setting(info, line.substr(std::string_view("build\t").size()));
    }
  }
  return {};
}

}  // namespace

Result<BuildInfo> read_build_info(std::string_view file) {
  if (!file.starts_with(kElf64Little) || file.size() < kHeaderBytes) {
    return bad("this is no 64-bit ELF file");
  }
  const auto found = section(file, ".go.buildinfo");
  if (!found) return bad("it has none: not a Go program");
  if (found->size() < kStringsAt || !found->starts_with(kMagic)) return bad("malformed");
  if ((static_cast<unsigned char>((*found)[kFlagsAt]) & kInlineStrings) == 0) {
    return bad("of a Go version before 1.18");
  }
  std::string_view data = found->substr(kStringsAt);
  const auto version = take_string(data);
  const auto modules = version ? take_string(data) : std::nullopt;
  if (!version || !modules) return bad("cut off");
  BuildInfo info;
  info.go_version = *version;
  if (modules->size() > kModuleTextMax) return bad("too long");
  if (modules->size() >= 2 * kMarkerBytes + 1 &&
      (*modules)[modules->size() - kMarkerBytes - 1] == '\n') {
    const auto text = modules->substr(kMarkerBytes, modules->size() - 2 * kMarkerBytes);
    if (auto read = read_modules(info, text); !read) return read.error();
  }
  return info;
}

std::string why_not_pinned(const BuildInfo& info, const ToolPin& pin, std::string_view go_version) {
  const auto differs = [](std::string_view what, std::string_view is, std::string_view wanted) {
    return std::string(what) + " is '" + std::string(is.substr(0, 200)) + "', not '" +
           std::string(wanted) + "'";
  };
  const auto setting = [&](const char* name) -> std::string_view {
    const auto found = info.settings.find(name);
    return found == info.settings.end() ? std::string_view() : std::string_view(found->second);
  };
  const std::string go = "go" + std::string(go_version);
  if (info.package != pin.package) return differs("the package", info.package, pin.package);
  if (info.module != pin.module) return differs("the module", info.module, pin.module);
  if (info.version != pin.version) return differs("the version", info.version, pin.version);
  if (info.sum != pin.sum) return differs("the module's sum", info.sum, pin.sum);
  if (info.replaced) return "a module of it was replaced";
  if (info.go_version != go) return differs("the Go version", info.go_version, go);
  if (setting("-trimpath") != "true") return "it was not built with -trimpath";
  if (setting("CGO_ENABLED") != "0") return "it was built with cgo";
  if (setting("GOOS") != "linux") return differs("the system", setting("GOOS"), "linux");
  if (setting("GOARCH") != "amd64") return differs("the machine", setting("GOARCH"), "amd64");
  return {};
}

}  // namespace cupel::worker::scan
