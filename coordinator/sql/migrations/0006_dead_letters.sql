-- Tasks that used up a budget, as people see them: open until they are replayed or dropped.

CREATE TABLE dead_letters (
  task {{id}},
  campaign BIGINT NOT NULL,
  repository BIGINT NOT NULL,
  unit BIGINT NOT NULL,
  kind TEXT NOT NULL,
  reason TEXT NOT NULL,
  message TEXT NOT NULL,
  at_us BIGINT NOT NULL,
  state TEXT NOT NULL,
  handled_us BIGINT NOT NULL
);
CREATE INDEX dead_letters_by_state ON dead_letters (state, task);
CREATE INDEX dead_letters_by_unit ON dead_letters (unit) WHERE unit <> 0;
INSERT INTO dead_letters (task, campaign, repository, unit, kind, reason, message, at_us, state, handled_us)
  SELECT id, campaign, repository, unit, kind, 'none',
    COALESCE((SELECT how FROM attempts WHERE attempts.task = tasks.id ORDER BY token DESC LIMIT 1), ''),
    ready_us, 'open', 0
  FROM tasks WHERE state = 'dead';
