-- The events of one commit and one campaign are one row: a task has three, and each had a row and an index entry.
-- A pack has the numbers from `first` to `last` without a gap; its body has a line for each event,
-- "TIME_US TYPE BODY".

CREATE TABLE event_packs (
  last {{id}},
  first BIGINT NOT NULL,
  campaign BIGINT NOT NULL,
  body TEXT NOT NULL,
  at_us BIGINT NOT NULL
);
INSERT INTO event_packs (last, first, campaign, body, at_us)
  SELECT seq, seq, campaign, at_us || ' ' || type || ' ' || body || '
', at_us FROM events;
CREATE INDEX event_packs_by_campaign ON event_packs (campaign, last);
DROP TABLE events;
