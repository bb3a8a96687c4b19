/// A PostgreSQL server of this test process's own (postgres_cluster.py), with a database for each
/// test.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::tests {

class Postgres {
 public:
  /// Started by the first call, ended with the process. Throws when it can't be.
  static Postgres& shared();
  Postgres(const Postgres&) = delete;
  Postgres& operator=(const Postgres&) = delete;
  ~Postgres();

  /// The URL of a new, empty database, over the unix socket, where everybody is trusted.
  [[nodiscard]] std::string fresh_database();
  /// The same database over TCP, where the server asks for the password.
  [[nodiscard]] std::string over_tcp(const std::string& url) const;
  [[nodiscard]] const std::string& password() const { return password_; }
  /// Runs statements in the database of `url`; the first column of the last one's rows.
  static std::vector<std::string> sql(const std::string& url, const std::string& statements);

 private:
  Postgres();
  [[nodiscard]] std::string url(const std::string& database) const;

  pid_t pid_ = -1;
  int alive_ = -1;  ///< The server ends when this is closed.
  std::string socket_;
  std::string port_;
  std::string user_;
  std::string password_;
  int databases_ = 0;
};

}  // namespace cupel::tests
