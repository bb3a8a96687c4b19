#include "coordinator/sql/statement_set.hpp"

namespace cupel::coordinator::sql {

using soci::into;
using soci::use;

Statements::All::All(soci::session& s, std::uint64_t next, bool clean_texts)
    : next_event(next),
      clean(clean_texts),
      insert_campaign(
          (s.prepare
               << "INSERT INTO campaigns (id, owner, name, priority, state, document, digest, "
                  "idempotency_key, interruptions, created_us, finished_us) VALUES "
                  "(:id, :owner, :name, :priority, :state, :document, :digest, :key, 0, :at, 0)",
           use(id), use(text1), use(text2), use(number1), use(state), use(text3), use(text4),
           use(text5), use(at))),
      change_campaign(
          (s.prepare
               << "UPDATE campaigns SET state = :state, finished_us = :finished WHERE id = :id",
           use(state), use(number1), use(id))),
      insert_repository(
          (s.prepare << "INSERT INTO repositories (id, campaign, ordinal, name, source, subdirs, "
                        "pin, tree, holder, committed_us) VALUES (:id, :campaign, :ordinal, "
                        ":name, :source, :subdirs, :pin, :tree, :holder, :committed)",
           use(id), use(campaign), use(number1), use(text1), use(text2), use(text3), use(text4),
           use(text5), use(worker), use(at))),
      pin_repository(
          (s.prepare << "UPDATE repositories SET pin = :pin, tree = :tree, holder = :holder, "
                        "committed_us = :committed WHERE id = :id",
           use(text1), use(text2), use(worker), use(at), use(id))),
      hold_repository((s.prepare << "UPDATE repositories SET holder = :holder WHERE id = :id",
                       use(worker), use(id))),
      insert_unit((
          s.prepare << "INSERT INTO units (id, campaign, repository, info, verdict, reason, fault, "
                       "message, deciding_task, finished_us) VALUES (:id, :campaign, :repository, "
                       ":info, :verdict, :reason, :fault, :message, :task, :at)",
          use(id), use(campaign), use(repository), use(text1), use(text2), use(text3), use(text4),
          use(text5), use(task), use(at))),
      finish_unit(
          (s.prepare
               << "UPDATE units SET verdict = :verdict, reason = :reason, fault = :fault, "
                  "message = :message, deciding_task = :task, finished_us = :at WHERE id = :id",
           use(text1), use(text2), use(text3), use(text4), use(task), use(at), use(id))),
      put_progress((s.prepare << "INSERT INTO progress (unit, campaign, body) VALUES (:id, "
                                 ":campaign, :body) ON CONFLICT (unit) DO UPDATE SET body = "
                                 "excluded.body",
                    use(id), use(campaign), use(text1))),
      drop_progress((s.prepare << "DELETE FROM progress WHERE unit = :id", use(id))),
      put_comparison(
          (s.prepare << "INSERT INTO comparisons (unit, campaign, body) VALUES (:id, :campaign, "
                        ":body) ON CONFLICT (unit) DO UPDATE SET body = excluded.body",
           use(id), use(campaign), use(text1))),
      see_flake(
          (s.prepare
               << "INSERT INTO flakes (name, repository, module, finding, signature, hits, runs, "
                  "times, campaign, first_us, last_us) VALUES (:name, :repository, :module, "
                  ":finding, :signature, :hits, :runs, 1, :campaign, :at, :at2) ON CONFLICT "
                  "(name) DO UPDATE SET hits = flakes.hits + excluded.hits, runs = flakes.runs + "
                  "excluded.runs, times = flakes.times + 1, campaign = excluded.campaign, "
                  "last_us = excluded.last_us",
           use(text1), use(text2), use(text3), use(text4), use(text5), use(number1), use(number2),
           use(campaign), use(at), use(at))),
      keep_baseline(
          (s.prepare
               << "INSERT INTO baselines (name, campaign, unit, body, at_us, expires_us) VALUES "
                  "(:name, :campaign, :unit, :body, :at, :expires) ON CONFLICT (name) DO UPDATE "
                  "SET campaign = excluded.campaign, unit = excluded.unit, body = excluded.body, "
                  "at_us = excluded.at_us, expires_us = excluded.expires_us",
           use(text1), use(campaign), use(unit), use(text2), use(at), use(not_before))),
      expire_baselines((s.prepare << "DELETE FROM baselines WHERE expires_us <= :at", use(at))),
      drop_baseline((s.prepare << "DELETE FROM baselines WHERE name = :name", use(text1))),
      read_baseline((s.prepare << "SELECT campaign, unit, body, at_us FROM baselines WHERE name "
                                  "= :name AND expires_us > :at",
                     use(text1), use(at), into(campaign), into(unit), into(text2),
                     into(not_before))),
      insert_task(
          (s.prepare
               << "INSERT INTO tasks (id, campaign, repository, unit, kind, state, preferred, "
                  "priority, charged, interruptions, token, worker, ready_us, not_before_us, "
                  "leased_us, step) VALUES (:id, :campaign, :repository, :unit, :kind, :state, "
                  ":preferred, :priority, :charged, :interruptions, :token, :worker, :ready, "
                  ":not_before, 0, :step)",
           use(id), use(campaign), use(repository), use(unit), use(text1), use(state),
           use(preferred), use(number1), use(charged), use(interruptions), use(token), use(worker),
           use(at), use(not_before), use(number2))),
      insert_spec(
          (s.prepare << "INSERT INTO specs (task, spec) VALUES (:id, :spec)", use(id), use(text1))),
      lease_task(
          (s.prepare << "UPDATE tasks SET state = 'leased', token = :token, worker = :worker, "
                        "leased_us = :at WHERE id = :id AND state = 'queued' AND token < :token2",
           use(token), use(worker), use(at), use(id), use(token))),
      read_spec((s.prepare << "SELECT spec FROM specs WHERE task = :id", use(id), into(spec))),
      end_attempt(
          (s.prepare << "INSERT INTO attempts (token, task, worker, started_us, ended_us, how) "
                        "SELECT token, id, worker, leased_us, :at, :how FROM tasks "
                        "WHERE id = :id AND state = 'leased'",
           use(at), use(how), use(id))),
      count_interruptions((s.prepare
                               << "UPDATE campaigns SET interruptions = interruptions + :now - "
                                  "(SELECT interruptions FROM tasks WHERE id = :id) "
                                  "WHERE id = (SELECT campaign FROM tasks WHERE id = :id2)",
                           use(interruptions), use(id), use(id))),
      return_task(
          (s.prepare << "UPDATE tasks SET state = :state, charged = :charged, interruptions = "
                        ":interruptions, not_before_us = :not_before, ready_us = :at, worker = 0 "
                        "WHERE id = :id AND token = :token AND state = 'leased'",
           use(state), use(charged), use(interruptions), use(not_before), use(at), use(id),
           use(token))),
      finish_task((s.prepare << "UPDATE tasks SET state = 'done' WHERE id = :id AND token = :token "
                                "AND state = 'leased'",
                   use(id), use(token))),
      insert_result((
          s.prepare << "INSERT INTO results (task, token, body, at_us) VALUES (:id, :token, :body, "
                       ":at)",
          use(id), use(token), use(text1), use(at))),
      change_task(
          (s.prepare
               << "UPDATE tasks SET state = :state, preferred = :preferred, ready_us = :at "
                  "WHERE id = :id AND state <> 'dead' AND (state <> 'done' OR :state2 = 'dead')",
           use(state), use(preferred), use(at), use(id), use(state))),
      insert_letter(
          (s.prepare << "INSERT INTO dead_letters (task, campaign, repository, unit, kind, reason, "
                        "message, at_us, state, handled_us) VALUES (:id, :campaign, :repository, "
                        ":unit, :kind, :reason, :message, :at, :state, 0)",
           use(id), use(campaign), use(repository), use(unit), use(text1), use(text2), use(text3),
           use(at), use(state))),
      handle_letter(
          (s.prepare << "UPDATE dead_letters SET state = :state, handled_us = :at WHERE state = "
                        "'open' AND (task = :id OR (unit = :unit AND unit <> 0))",
           use(state), use(at), use(id), use(unit))),
      reopen_campaign((s.prepare << "UPDATE campaigns SET state = 'running', finished_us = 0 WHERE "
                                    "id = :id AND state = 'finished'",
                       use(id))),
      reopen_unit(
          (s.prepare << "UPDATE units SET verdict = '', reason = 'none', fault = 'none', message = "
                        "'', deciding_task = 0, finished_us = 0 WHERE id = :id",
           use(id))),
      drop_comparison((s.prepare << "DELETE FROM comparisons WHERE unit = :id", use(id))),
      remove_unit((s.prepare << "DELETE FROM units WHERE id = :id", use(id))),
      see_worker(
          (s.prepare << "INSERT INTO workers (id, name, public_key, host, version, draining, "
                        "first_seen_us, last_seen_us) VALUES (:id, :name, :key, :host, :version, "
                        "0, :at, "
                        ":at2) ON CONFLICT (id) DO UPDATE SET name = excluded.name, public_key = "
                        "excluded.public_key, host = excluded.host, version = excluded.version, "
                        "last_seen_us = excluded.last_seen_us",
           use(id), use(text1), use(text2), use(text3), use(text4), use(at), use(at))),
      control_worker(
          (s.prepare << "UPDATE workers SET draining = :on, drain_by_us = :by, quarantine = :kind, "
                        "quarantine_round = :round, quarantine_why = :why, quarantine_since_us = "
                        ":since, probe_at_us = :probe WHERE id = :id",
           use(number1), use(not_before), use(state), use(number2), use(how), use(at), use(token),
           use(id))),
      insert_events((s.prepare << "INSERT INTO event_packs (last, first, campaign, body, at_us) "
                                  "VALUES (:last, :first, :campaign, :body, :at)",
                     use(id), use(number1), use(campaign), use(text1), use(at))),
      reserve((
          s.prepare << "UPDATE sequences SET value = :value WHERE name = :name AND value < :value2",
          use(number1), use(text1), use(number1))) {}

}  // namespace cupel::coordinator::sql
