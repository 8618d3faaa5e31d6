-- What agents keep: notes for later turns, the audit of their tools, and the calls that may not be
-- repeated.

-- brain: of all its conversations together; null: of the conversation alone. A note of a brain
-- knows the conversation in which it was made, too, and is forgotten with it.
CREATE TABLE notes (
  seq INTEGER PRIMARY KEY,
  brain TEXT,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX notes_conversation ON notes (channel, conversation, seq);
CREATE INDEX notes_brain ON notes (brain, seq) WHERE brain IS NOT NULL;

CREATE TABLE tool_uses (
  seq INTEGER PRIMARY KEY,
  key TEXT NOT NULL,
  message_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  at INTEGER NOT NULL,
  ms REAL NOT NULL,
  tool TEXT NOT NULL,
  mode TEXT NOT NULL,
  rule TEXT NOT NULL,
  outcome TEXT NOT NULL,
  arguments TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX tool_uses_key ON tool_uses (key);
CREATE INDEX tool_uses_message ON tool_uses (message_id);
CREATE INDEX tool_uses_conversation ON tool_uses (channel, conversation, seq);

-- Written before a call that changes something elsewhere begins, as is its row of the audit. hash:
-- of tool and arguments, by which the call is known when its message runs again. text: what the
-- model was told of its end; null: the end was not seen.
CREATE TABLE tool_calls (
  key TEXT PRIMARY KEY,
  message_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  hash TEXT NOT NULL,
  text TEXT,
  outcome TEXT,
  ms REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_calls_message ON tool_calls (message_id);

-- Both are kept as long as their message, and go with it whatever takes it away.
CREATE TRIGGER inbox_gone AFTER DELETE ON inbox BEGIN
  DELETE FROM tool_uses WHERE message_id = OLD.id;
  DELETE FROM tool_calls WHERE message_id = OLD.id;
END;
