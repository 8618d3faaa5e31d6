-- For requests of people: the story of a message, replay of dead letters, and forgetting.

-- A message is found by its id, together with the replies to it.
CREATE UNIQUE INDEX inbox_id ON inbox (id);
ALTER TABLE outbox ADD COLUMN message_id TEXT;
UPDATE outbox SET message_id = json_extract(body, '$.inReplyTo');
CREATE INDEX outbox_message ON outbox (message_id);
CREATE INDEX outbox_dead_id ON outbox (id) WHERE state = 2;

-- How often the process ended while this message ran alone, after two ends with it in work.
ALTER TABLE inbox ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;

-- tries: the failed attempts, a JSON array of [startedAt, ms, failure kind, status].
-- took_ms: how long the successful attempt took; it ended at settled_at.
-- replayed: the attempts before the last replay, when the schedule began again.
ALTER TABLE outbox ADD COLUMN tries TEXT;
ALTER TABLE outbox ADD COLUMN took_ms INTEGER;
ALTER TABLE outbox ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;

-- late: the reply is marked as late. parked: it has also left its queue. A replayed reply is late
-- from the beginning, and in its queue until it is parked.
ALTER TABLE outbox ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET parked = late;

-- The highest number and id ever given, since the rows that had them may be deleted.
ALTER TABLE owner ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owner ADD COLUMN last_id TEXT NOT NULL DEFAULT '';

-- The sender of the turn; null for a quoted block from an earlier session.
ALTER TABLE turns ADD COLUMN sender TEXT;
UPDATE turns SET sender =
  (SELECT json_extract(body, '$.sender.id') FROM inbox WHERE inbox.seq = turns.seq);

-- Why each session after the first began.
CREATE TABLE cuts (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  session INTEGER NOT NULL,
  at INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (channel, conversation, session)
) STRICT, WITHOUT ROWID;
