-- Every unit moved an entry of two indexes. One is enough: counting a campaign's units by verdict reads their rows
-- instead, and by repository only those are looked for that a dead letter left without an answer.

DROP INDEX units_by_campaign;
CREATE INDEX units_by_campaign ON units (campaign, id);
DROP INDEX units_by_repository;
CREATE INDEX units_inconclusive ON units (repository) WHERE verdict = 'inconclusive';
