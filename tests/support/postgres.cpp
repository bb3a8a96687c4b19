#include "tests/support/postgres.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <fcntl.h>
#include <libpq-fe.h>
#include <memory>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace cupel::tests {
namespace {

std::string first_line(int fd) {
  std::string line;
  for (char byte = 0; ::read(fd, &byte, 1) == 1 && byte != '\n';) line += byte;
  return line;
}

}  // namespace

Postgres& Postgres::shared() {
  static Postgres server;
  return server;
}

Postgres::Postgres() {
  std::array<int, 2> in{};
  std::array<int, 2> out{};
  if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(in[0], STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    constexpr const char* kProgram = CUPEL_SOURCE_DIR "/tests/support/postgres_cluster.py";
    ::execl(kProgram, kProgram, nullptr);
    ::_exit(127);
  }
  ::close(in[0]);
  ::close(out[1]);
  alive_ = in[1];
  const auto facts = nlohmann::json::parse(first_line(out[0]), nullptr, false);
  ::close(out[0]);
  if (!facts.is_object()) throw std::runtime_error("PostgreSQL did not start: see standard error");
  socket_ = facts.at("socket");
  port_ = std::to_string(facts.at("port").get<int>());
  user_ = facts.at("user");
  password_ = facts.at("password");
}

Postgres::~Postgres() {
  ::close(alive_);
  ::waitpid(pid_, nullptr, 0);
}

std::string Postgres::url(const std::string& database) const {
  return "postgresql://" + user_ + "@/" + database + "?host=" + socket_ + "&port=" + port_;
}

std::string Postgres::over_tcp(const std::string& url) const {
  const std::size_t at = url.find("@/") + 2;
  const std::string database = url.substr(at, url.find('?') - at);
  return "postgresql://" + user_ + "@127.0.0.1:" + port_ + "/" + database;
}

std::string Postgres::fresh_database() {
  const std::string name = "t" + std::to_string(++databases_);
  sql(url("postgres"), "CREATE DATABASE " + name + " TEMPLATE template0");
  return url(name);
}

std::vector<std::string> Postgres::sql(const std::string& url, const std::string& statements) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectdb(url.c_str()), PQfinish);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQexec(connection.get(), statements.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(statements + ": " + PQerrorMessage(connection.get()));
  }
  std::vector<std::string> rows;
  for (int i = 0; i < PQntuples(result.get()); ++i)
    rows.emplace_back(PQgetvalue(result.get(), i, 0));
  return rows;
}

}  // namespace cupel::tests
