-- What people ask of the ledger: a message's whole story, dead letters back, a conversation gone.

-- Found by id; with the replies to it.
CREATE UNIQUE INDEX inbox_id ON inbox (id);
ALTER TABLE outbox ADD COLUMN message_id TEXT;
UPDATE outbox SET message_id = json_extract(body, '$.inReplyTo');
CREATE INDEX outbox_message ON outbox (message_id);
CREATE INDEX outbox_dead_id ON outbox (id) WHERE state = 2;

-- How often the process ended while this message ran alone, after it had been under way twice.
ALTER TABLE inbox ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;

-- tries: the failed ones, a JSON array of [startedAt, ms, failure kind, status].
-- took_ms: how long the try took that delivered it; it ended at settled_at.
-- replayed: attempts made before the last replay, where its schedule began anew.
ALTER TABLE outbox ADD COLUMN tries TEXT;
ALTER TABLE outbox ADD COLUMN took_ms INTEGER;
ALTER TABLE outbox ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;

-- Late replies are marked so; a parked one has left its lane, too. A replayed one is late from the
-- beginning, and in its lane until it is parked.
ALTER TABLE outbox ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;
UPDATE outbox SET parked = late;

-- The highest number and id that were given, as far as the rows that held them have been deleted.
ALTER TABLE owner ADD COLUMN last_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owner ADD COLUMN last_id TEXT NOT NULL DEFAULT '';

-- Who said it; null for a quoted block from an earlier session.
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
