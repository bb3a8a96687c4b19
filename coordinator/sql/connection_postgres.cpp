#include "coordinator/sql/connection.hpp"

#include <soci/postgresql/soci-postgresql.h>

#include <cctype>
#include <map>
#include <mutex>
#include <sys/socket.h>
#include <utility>

namespace cupel::coordinator::sql {
namespace {

std::string percent_encoded(std::string_view value) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~";
  std::string text;
  for (const char byte : value) {
    const auto code = static_cast<unsigned char>(byte);
    if (std::isalnum(code) != 0 || kPlain.find(byte) != std::string_view::npos) {
      text += byte;
    } else {
      text += {'%', kHex[code >> 4U], kHex[code & 15U]};
    }
  }
  return text;
}

/// A URL: SOCI takes "key=value key=value" apart by itself, and doesn't know libpq's quotes.
std::string connect_string(const PostgresLocation& database, const Opening& opening) {
  // A database that is gone shows within seconds; what the URL says wins.
  std::map<std::string, std::string> parameters = {
      {"connect_timeout", "3"},  {"keepalives_idle", "5"},      {"keepalives_interval", "2"},
      {"keepalives_count", "3"}, {"tcp_user_timeout", "10000"},
  };
  for (const auto& [key, value] : database.parameters) parameters[key] = value;
  parameters["application_name"] = opening.application;
  parameters["client_encoding"] = "UTF8";
  if (!database.password.empty()) parameters["password"] = database.password;
  std::string url = "postgresql://";
  for (const auto& [key, value] : parameters) {
    url += (url.back() == '/' ? "?" : "&") + key + "=" + percent_encoded(value);
  }
  return url;
}

class PostgresConnection final : public Connection {
 public:
  PostgresConnection(const StoreLocation& location, const Opening& opening)
      : Connection(location.name()), password_(location.postgres()->password) {
    if (opening.epoch) {
      // KEY SHARE lets the leader renew its lease meanwhile, and makes whoever raises the epoch
      // wait for the end of this transaction.
      begin_ =
          "BEGIN; SELECT epoch FROM leadership WHERE epoch = " + std::to_string(*opening.epoch) +
          " FOR KEY SHARE";
    }
  }
  PostgresConnection(const PostgresConnection&) = delete;
  PostgresConnection& operator=(const PostgresConnection&) = delete;
  ~PostgresConnection() override {
    const std::lock_guard lock(mutex_);
    socket_ = -1;
  }

  Result<void> open(const PostgresLocation& database, const Opening& opening) {
    return guarded([&]() -> Result<void> {
      session().open(soci::postgresql, connect_string(database, opening));
      {
        const std::lock_guard lock(mutex_);
        socket_ = PQsocket(native());
      }
      configure(opening.access);
      return check_encoding();
    });
  }
  [[nodiscard]] bool wants_clean_text() const override { return true; }
  [[nodiscard]] bool lost() const override {
    PGconn* const connection = native();
    return connection == nullptr || PQstatus(connection) != CONNECTION_OK;
  }
  void cut() override {
    const std::lock_guard lock(mutex_);
    if (socket_ >= 0) ::shutdown(socket_, SHUT_RDWR);
  }

 protected:
  Result<void> begin() override;
  void commit() override { session() << "COMMIT"; }
  [[nodiscard]] std::string_view id_column() const override {
    return "BIGINT NOT NULL PRIMARY KEY";
  }
  [[nodiscard]] Error error_of(const soci::soci_error& error) const override;

 private:
  [[nodiscard]] PGconn* native() const {
    const auto* backend = static_cast<const soci::postgresql_session_backend*>(
        const_cast<PostgresConnection*>(this)->session().get_backend());
    return backend == nullptr ? nullptr : backend->conn_;
  }
  void configure(Access access);
  Result<void> check_encoding();
  [[nodiscard]] std::string without_password(std::string text) const;

  std::string password_;
  std::string begin_;
  std::mutex mutex_;
  int socket_ = -1;
};

void PostgresConnection::configure(Access access) {
  session() << "SET client_min_messages = error";
  if (access == Access::read_only) {
    // Several statements of one answer see one state.
    session() << "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, "
                 "READ ONLY";
    session() << "SET statement_timeout = '120s'";
    return;
  }
  session() << "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED";
  session() << "SET lock_timeout = '10s'";
  // Of a process that was stopped in the middle of one.
  session() << "SET idle_in_transaction_session_timeout = '30s'";
  // A commit is on the disk when it returns; everything that the fleet is promised rests on it.
  std::string setting;
  session() << "SHOW synchronous_commit", soci::into(setting);
  if (setting == "off") session() << "SET synchronous_commit = on";
}

Result<void> PostgresConnection::check_encoding() {
  std::string encoding;
  session() << "SHOW server_encoding", soci::into(encoding);
  if (encoding == "UTF8") return {};
  return Error{.code = Errc::bad_config,
               .what = "the database " + name() + " has the encoding " + encoding,
               .detail = {},
               .hint = "make it with ENCODING 'UTF8'"};
}

Result<void> PostgresConnection::begin() {
  if (begin_.empty()) {
    session() << "BEGIN";
    return {};
  }
  long long epoch = 0;
  session() << begin_, soci::into(epoch);
  if (session().got_data()) return {};
  return Error{
      .code = Errc::lease_lost,
      .what = "another coordinator leads the fleet by now: nothing was written to " + name(),
      .detail = {},
      .hint = {}};
}

std::string PostgresConnection::without_password(std::string text) const {
  if (password_.empty()) return text;
  for (std::size_t at = text.find(password_); at != std::string::npos; at = text.find(password_)) {
    text.replace(at, password_.size(), "(password)");
  }
  return text;
}

Error PostgresConnection::error_of(const soci::soci_error& error) const {
  Error out{.code = Errc::store_failed,
            .what = "the database " + name() + " failed",
            .detail = capped_detail(without_password(error.what())),
            .hint = {}};
  const auto* known = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  const std::string state = known == nullptr ? std::string() : known->sqlstate();
  // https://www.postgresql.org/docs/15/errcodes-appendix.html
  if (lost() || state.starts_with("08") || state.starts_with("57P")) {
    out.what = "the database " + name() + " can't be reached";
  } else if (state == "25006") {
    out.what = "the database " + name() + " can only be read";
    out.hint = "it is a replica, or default_transaction_read_only is on";
  } else if (state == "53100") {
    out.code = Errc::disk_full;
    out.what = "no space left for the database " + name();
    out.hint = "free space on its host";
  } else if (state == "42501") {
    out.what = "the database " + name() + " doesn't let its user do that";
    out.hint = "the user should own the database, or its schema";
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<Connection>> open_postgres(const StoreLocation& location,
                                                  const Opening& opening) {
  auto connection = std::make_unique<PostgresConnection>(location, opening);
  if (auto opened = connection->open(*location.postgres(), opening); !opened) {
    return opened.error();
  }
  return std::unique_ptr<Connection>(std::move(connection));
}

}  // namespace cupel::coordinator::sql
