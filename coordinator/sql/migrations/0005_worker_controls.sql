-- What the operator or the fleet has ordered for a worker: a drain may have a deadline, and a quarantine
-- ('operator', 'automatic' or none) outlives the coordinator.

ALTER TABLE workers ADD COLUMN drain_by_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN quarantine TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN quarantine_round BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN quarantine_why TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN quarantine_since_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN probe_at_us BIGINT NOT NULL DEFAULT 0;
