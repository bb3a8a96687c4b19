#include "coordinator/fs/plan_store.hpp"

#include "common/core/ids.hpp"
#include "common/core/limits.hpp"
#include "common/fs/files.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cupel::coordinator::fs {
namespace {

constexpr std::size_t kPlanBytesMax = 4 * kCampaignFileBytesMax;  // every default is written out

}  // namespace

Result<PlanStore> PlanStore::open(std::filesystem::path dir) {
  if (auto made = cupel::fs::ensure_private_dir(dir); !made) return made.error();
  return PlanStore(std::move(dir));
}

Result<std::string> PlanStore::put(std::string_view json) {
  drop_oldest();
  std::string id = "p-" + to_base32(cupel::fs::random_u64() | 1U);
  if (auto written = cupel::fs::create_file_durably(dir_ / (id + ".json"), json, 0600); !written) {
    return written.error();
  }
  return id;
}

Result<std::string> PlanStore::get(std::string_view id) const {
  if (!id.starts_with("p-") || !from_base32(id.substr(2))) {
    return Error{.code = Errc::not_found,
                 .what = "'" + std::string(id) + "' is no plan",
                 .detail = {},
                 .hint = {}};
  }
  auto text = cupel::fs::read_file(dir_ / (std::string(id) + ".json"), kPlanBytesMax);
  if (!text && text.error().code == Errc::not_found) {
    return Error{.code = Errc::not_found,
                 .what = "plan " + std::string(id) + " is not known here",
                 .detail = {},
                 .hint = "plans are kept until " + std::to_string(kPlansMax) + " newer ones exist"};
  }
  return text;
}

void PlanStore::drop_oldest() const {
  std::error_code ec;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> files;
  for (auto it = std::filesystem::directory_iterator(dir_, ec);
       !ec && it != std::filesystem::directory_iterator(); it.increment(ec)) {
    files.emplace_back(it->last_write_time(ec), it->path());
  }
  if (files.size() < kPlansMax) return;
  std::ranges::sort(files);
  for (std::size_t i = 0; i <= files.size() - kPlansMax; ++i)
    std::filesystem::remove(files[i].second, ec);
}

}  // namespace cupel::coordinator::fs
