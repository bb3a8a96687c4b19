#include "common/images/recipe.hpp"

#include "common/images/select.hpp"

#include <openssl/evp.h>

#include <algorithm>

namespace cupel::images {
namespace {

std::string base64(const std::array<std::uint8_t, 32>& bytes) {
  std::string text(44 + 1, '\0');  // EVP_EncodeBlock ends its output with a zero byte.
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), bytes.data(),
                  static_cast<int>(bytes.size()));
  text.resize(44);
  return text;
}

}  // namespace

std::string assembled_identity(const Digest& base_archive, std::string_view toolchain_h1) {
  const std::string text = "cupel-image/1\nbase sha256:" + base_archive.hex() + "\ntoolchain " +
                           std::string(toolchain_h1) + "\nrecipe " +
                           std::to_string(kRecipeVersion) + "\n";
  return "sha256:" + sha256(text).hex();
}

std::vector<std::string> base_packages(bool with_cc) {
  std::vector<std::string> packages = {"ca-certificates", "git"};
  if (with_cc) packages.insert(packages.end(), {"gcc", "libc6-dev"});
  return packages;
}

std::pair<std::string, std::string> repository_and_tag(const ImageEntry& entry, bool with_cc) {
  return {"cupel/go", entry.minor + (with_cc ? "-cc" : "-nocc")};
}

std::vector<std::string> import_changes(const ImageEntry& entry, bool with_cc,
                                        const Digest& base_archive) {
  const auto label = [](std::string_view name, std::string_view value) {
    return "LABEL " + std::string(name) + "=" + std::string(value);
  };
  return {
      "ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "ENV GOTOOLCHAIN=local",
      label(kLabelIdentity, assembled_identity(base_archive, entry.toolchain.h1)),
      label(kLabelBase, "sha256:" + base_archive.hex()),
      label(kLabelGo, entry.go),
      label(kLabelMinor, entry.minor),
      label(kLabelCc, with_cc ? "1" : "0"),
  };
}

unsigned toolchain_mode(std::string_view name) {
  return name.starts_with("bin/") || name.starts_with("pkg/tool/") ? 0755U : 0644U;
}

std::string module_zip_h1(std::vector<ZipFile> files) {
  std::ranges::sort(files, {}, &ZipFile::name);
  Sha256 sum;
  for (const ZipFile& file : files) sum.update(file.sha256.hex() + "  " + file.name + "\n");
  return "h1:" + base64(sum.finish().bytes);
}

std::string proxies_only(std::string_view goproxy) {
  std::string kept;
  char pending = '\0';
  while (!goproxy.empty()) {
    const std::size_t end = std::min(goproxy.find_first_of(",|"), goproxy.size());
    const std::string_view entry = goproxy.substr(0, end);
    const char separator = end < goproxy.size() ? goproxy[end] : '\0';
    goproxy.remove_prefix(std::min(end + 1, goproxy.size()));
    if (entry.empty() || entry == "direct" || entry == "off") continue;
    if (!kept.empty()) kept.push_back(pending);
    kept.append(entry);
    pending = separator;
  }
  return kept;
}

}  // namespace cupel::images
