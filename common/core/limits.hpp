/// Bounds of the protocol and of records. Each has a unit in its name and a reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupel {

inline constexpr std::size_t kControlMessageBytesMax =
    1024UL * 1024;  // one slow peer can't hold more
inline constexpr std::size_t kBulkMessageBytesMax = 4UL * 1024 * 1024;
inline constexpr std::size_t kBulkChunkBytes = 256UL * 1024;
inline constexpr std::size_t kResultInlineFindingsBytesMax =
    512UL * 1024;  // the rest as an artifact
inline constexpr std::size_t kUnitsPerRepositoryMax = 200;
inline constexpr std::size_t kFindingsPerResultMax = 10'000;
inline constexpr std::size_t kNameBytesMax = 4096;
inline constexpr std::size_t kMessageBytesMax = 4096;
inline constexpr std::uint64_t kArtifactBytesMax = 512ULL * 1024 * 1024;
inline constexpr std::size_t kCampaignFileBytesMax = 8UL * 1024 * 1024;
inline constexpr std::size_t kRepositoriesPerCampaignMax = 100'000;
inline constexpr std::uint32_t kProtocolVersionMin = 1;
inline constexpr std::uint32_t kProtocolVersionMax = 1;

}  // namespace cupel
