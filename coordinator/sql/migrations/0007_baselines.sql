-- Before sides that later campaigns may take over, by the digest of all that they depend on; each until its
-- time is over. When the pinned commit was made.

CREATE TABLE baselines (
  name TEXT NOT NULL PRIMARY KEY,
  campaign BIGINT NOT NULL,
  unit BIGINT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  expires_us BIGINT NOT NULL
);
CREATE INDEX baselines_by_expiry ON baselines (expires_us);

ALTER TABLE repositories ADD COLUMN committed_us BIGINT NOT NULL DEFAULT 0;
