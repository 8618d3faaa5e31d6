-- Turns lie in the order of their writing. So a new turn touches only the last page of the table
-- and one page of the index, and no page of texts in the middle. The searched columns come before
-- the texts. place: the order of writing, nothing else.
CREATE TABLE turns_as_they_come (
  place INTEGER PRIMARY KEY,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sender TEXT,
  private INTEGER,
  left_out INTEGER NOT NULL DEFAULT 0,
  text TEXT NOT NULL,
  reply TEXT
) STRICT;

-- Older turns stay together by conversation.
INSERT INTO turns_as_they_come
  (channel, conversation, session, seq, at, sender, private, left_out, text, reply)
  SELECT channel, conversation, session, seq, at, sender, private, left_out, text, reply
    FROM turns ORDER BY channel, conversation, session, seq;
DROP TABLE turns;
ALTER TABLE turns_as_they_come RENAME TO turns;

-- Includes the time, so that lists of conversations read only the index.
CREATE UNIQUE INDEX turns_conversation ON turns (channel, conversation, session, seq, at);

-- The triggers were dropped with the old table.
CREATE TRIGGER turn_made AFTER INSERT ON turns BEGIN
  INSERT INTO conversation_counts VALUES (NEW.channel, 1, 1, NEW.at)
    ON CONFLICT DO UPDATE SET turns = turns + 1, last_at = max(last_at, excluded.last_at),
      conversations = conversations + NOT EXISTS (
        SELECT 1 FROM turns WHERE channel = NEW.channel AND conversation = NEW.conversation
          AND (session, seq) <> (NEW.session, NEW.seq)
      );
END;
CREATE TRIGGER turn_gone AFTER DELETE ON turns BEGIN
  UPDATE conversation_counts SET turns = turns - 1,
    conversations = conversations - NOT EXISTS (
      SELECT 1 FROM turns WHERE channel = OLD.channel AND conversation = OLD.conversation
    ) WHERE channel = OLD.channel;
  DELETE FROM conversation_counts WHERE channel = OLD.channel AND turns = 0;
END;
