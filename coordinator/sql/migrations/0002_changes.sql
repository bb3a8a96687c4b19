-- Campaigns that compare two sides: which step of its unit a task is, what is known of open units, the
-- comparison behind a verdict, and the problems that come and go.

ALTER TABLE tasks ADD COLUMN step BIGINT NOT NULL DEFAULT 0;

CREATE TABLE progress (
  unit {{id}},
  campaign BIGINT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX progress_by_campaign ON progress (campaign);

CREATE TABLE comparisons (
  unit {{id}},
  campaign BIGINT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX comparisons_by_campaign ON comparisons (campaign);

-- `name` is the digest of repository, module, key and signature: those can be long.
CREATE TABLE flakes (
  name TEXT NOT NULL PRIMARY KEY,
  repository TEXT NOT NULL,
  module TEXT NOT NULL,
  finding TEXT NOT NULL,
  signature TEXT NOT NULL,
  hits BIGINT NOT NULL,
  runs BIGINT NOT NULL,
  times BIGINT NOT NULL,
  campaign BIGINT NOT NULL,
  first_us BIGINT NOT NULL,
  last_us BIGINT NOT NULL
);
CREATE INDEX flakes_by_repository ON flakes (repository, last_us);
