/// The JSON Schema of the campaign file, for editors. Made from the same table as the parser.
#pragma once

#include <string>

namespace cupel::campaign {

/// Draft 2020-12, indented; ends with a newline. Served as /api/v1/schemas/campaign.json.
[[nodiscard]] std::string json_schema();

}  // namespace cupel::campaign
