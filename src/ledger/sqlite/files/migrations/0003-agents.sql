-- The data of agents: notes for later turns, the audit of their tools, and the calls that must not
-- be repeated.

-- brain: the note belongs to all conversations of this brain; null: to its conversation alone. A
-- brain's note also names the conversation in which it was made, and is forgotten with it.
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

-- Calls that change something elsewhere. The row, and the row in the audit, are written before the
-- call begins.
-- hash: of tool and arguments; it identifies the call when its message runs again.
-- text: the result that the model received; null: the end was not seen.
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

-- Both tables keep their rows as long as the message, and lose them with it.
CREATE TRIGGER inbox_gone AFTER DELETE ON inbox BEGIN
  DELETE FROM tool_uses WHERE message_id = OLD.id;
  DELETE FROM tool_calls WHERE message_id = OLD.id;
END;
