-- Messages and replies: unsettled ones, and settled ones until the sweep deletes them.
-- state: 0 unsettled, 1 settled, 2 dead letter. All times are milliseconds since 1970.

CREATE TABLE inbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  settled_at INTEGER,
  failure TEXT
) STRICT;
CREATE INDEX inbox_unsettled ON inbox (seq) WHERE state = 0;
CREATE INDEX inbox_dead ON inbox (settled_at) WHERE state = 2;

CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  body TEXT NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER,
  late INTEGER NOT NULL DEFAULT 0,
  possible_duplicate INTEGER NOT NULL DEFAULT 0,
  settled_at INTEGER,
  failure TEXT
) STRICT;
CREATE INDEX outbox_unsettled ON outbox (seq) WHERE state = 0;
CREATE INDEX outbox_dead ON outbox (settled_at) WHERE state = 2;

-- The turns of a conversation lie together: reading the newest turns of a session is one short
-- read.
CREATE TABLE turns (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  reply TEXT,
  PRIMARY KEY (channel, conversation, session, seq)
) STRICT, WITHOUT ROWID;

-- Rows only for conversations with a later session, or with a message that left no turn.
CREATE TABLE conversations (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  session INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  previous_at INTEGER NOT NULL,
  PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;

-- An id begins with its time, so the oldest traces come first.
CREATE TABLE traces (
  message_id TEXT PRIMARY KEY,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE dedupe (
  channel TEXT NOT NULL,
  key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (channel, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_expires ON dedupe (expires_at);

CREATE TABLE cursors (
  channel TEXT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (channel, name)
) STRICT, WITHOUT ROWID;

-- clean: 1 after an orderly stop, 0 while a process owns the file.
CREATE TABLE owner (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  clean INTEGER NOT NULL
) STRICT;
INSERT INTO owner VALUES (1, 1);
