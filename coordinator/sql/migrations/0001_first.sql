-- The first schema. Portable between SQLite and PostgreSQL: {{id}} is the dialect's 64-bit primary key;
-- numbers are BIGINT, times are microseconds UTC (0 = none), enums are their names, ids without a target
-- are 0, nothing is NULL.

CREATE TABLE facts (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
);

CREATE TABLE sequences (
  name TEXT NOT NULL PRIMARY KEY,
  value BIGINT NOT NULL
);
INSERT INTO sequences (name, value) VALUES ('ids', 0);
INSERT INTO sequences (name, value) VALUES ('tokens', 0);

CREATE TABLE campaigns (
  id {{id}},
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  priority BIGINT NOT NULL,
  state TEXT NOT NULL,
  document TEXT NOT NULL,
  digest TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  interruptions BIGINT NOT NULL,
  created_us BIGINT NOT NULL,
  finished_us BIGINT NOT NULL
);
CREATE UNIQUE INDEX campaigns_idempotent ON campaigns (owner, idempotency_key) WHERE idempotency_key <> '';
CREATE INDEX campaigns_by_state ON campaigns (state, id);

CREATE TABLE repositories (
  id {{id}},
  campaign BIGINT NOT NULL,
  ordinal BIGINT NOT NULL,
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  subdirs TEXT NOT NULL,
  pin TEXT NOT NULL,
  tree TEXT NOT NULL,
  holder BIGINT NOT NULL
);
CREATE INDEX repositories_by_campaign ON repositories (campaign, id);

CREATE TABLE units (
  id {{id}},
  campaign BIGINT NOT NULL,
  repository BIGINT NOT NULL,
  info TEXT NOT NULL,
  verdict TEXT NOT NULL,
  reason TEXT NOT NULL,
  fault TEXT NOT NULL,
  message TEXT NOT NULL,
  deciding_task BIGINT NOT NULL,
  finished_us BIGINT NOT NULL
);
CREATE INDEX units_by_campaign ON units (campaign, verdict, id);
CREATE INDEX units_by_repository ON units (repository);

-- The row changes at every transition of a task, its spec never: so the spec has a table of its own.
CREATE TABLE tasks (
  id {{id}},
  campaign BIGINT NOT NULL,
  repository BIGINT NOT NULL,
  unit BIGINT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  preferred BIGINT NOT NULL,
  priority BIGINT NOT NULL,
  charged BIGINT NOT NULL,
  interruptions BIGINT NOT NULL,
  token BIGINT NOT NULL,
  worker BIGINT NOT NULL,
  ready_us BIGINT NOT NULL,
  not_before_us BIGINT NOT NULL,
  leased_us BIGINT NOT NULL
);
CREATE INDEX tasks_by_campaign ON tasks (campaign, state);
CREATE INDEX tasks_by_unit ON tasks (unit) WHERE unit <> 0;

CREATE TABLE specs (
  task {{id}},
  spec TEXT NOT NULL
);

-- Attempts that have ended; the live one is in its task's row.
CREATE TABLE attempts (
  token {{id}},
  task BIGINT NOT NULL,
  worker BIGINT NOT NULL,
  started_us BIGINT NOT NULL,
  ended_us BIGINT NOT NULL,
  how TEXT NOT NULL
);
CREATE INDEX attempts_by_task ON attempts (task);

CREATE TABLE results (
  task {{id}},
  token BIGINT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL
);

CREATE TABLE workers (
  id {{id}},
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  host TEXT NOT NULL,
  version TEXT NOT NULL,
  draining BIGINT NOT NULL,
  first_seen_us BIGINT NOT NULL,
  last_seen_us BIGINT NOT NULL
);

CREATE TABLE events (
  seq {{id}},
  campaign BIGINT NOT NULL,
  type TEXT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL
);
CREATE INDEX events_by_campaign ON events (campaign, seq);
