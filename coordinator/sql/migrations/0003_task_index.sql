-- A task changes its state at least twice, and each time moved an index entry; counting a campaign's tasks by
-- state reads their rows instead.

DROP INDEX tasks_by_campaign;
CREATE INDEX tasks_by_campaign ON tasks (campaign);
