#include "coordinator/sql/store.hpp"

#include "common/fs/files.hpp"
#include "coordinator/sql/connection.hpp"
#include "coordinator/sql/migrate.hpp"

#include <sys/stat.h>

namespace cupel::coordinator::sql {

Result<void> prepare_store(const StoreLocation& location, const std::optional<Leader>& leader) {
  // SQLite gives its side files the mode of the database, so the database is made here, owner-only.
  std::error_code ec;
  const std::filesystem::path* file = location.file();
  if (file != nullptr && !std::filesystem::exists(*file, ec)) {
    if (auto made = fs::create_file_durably(*file, "", 0600); !made) return made;
  }
  auto connection = Connection::open(location, opening_for(leader));
  if (!connection) return connection.error();
  if (auto migrated = migrate(**connection); !migrated) return migrated;
  return (*connection)->in_transaction([&]() -> Result<void> {
    const std::string fleet = std::to_string(fs::random_u64() >> 1U | 1U);
    (*connection)->session()
        << "INSERT INTO facts (name, value) VALUES ('fleet', :fleet) ON CONFLICT DO NOTHING",
        soci::use(fleet);
    return {};
  });
}

}  // namespace cupel::coordinator::sql
