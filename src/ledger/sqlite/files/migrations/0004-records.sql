-- For the lists of messages and deliveries, and the audit of operators.

-- How a message's turn ended; null while it waits, and if it died without a turn.
ALTER TABLE inbox ADD COLUMN brain TEXT;
ALTER TABLE inbox ADD COLUMN outcome TEXT;
ALTER TABLE inbox ADD COLUMN model TEXT;
UPDATE inbox SET (brain, outcome, model) = (
  SELECT body ->> '$.brain', body ->> '$.outcome', (
    SELECT CASE WHEN type = 'object' THEN value ->> '$.winner' END
    FROM json_each(body, '$.steps') ORDER BY key DESC LIMIT 1
  ) FROM traces WHERE message_id = inbox.id
) WHERE id IN (SELECT message_id FROM traces WHERE json_valid(body));

-- Indexes for lists, newest first, by channel. Frequent values are found by reading rows. Rare
-- values have an index of their own, which most messages never touch.
CREATE INDEX inbox_accepted ON inbox (channel, accepted_at);
CREATE INDEX inbox_brain ON inbox (brain, accepted_at) WHERE brain IS NOT NULL;
CREATE INDEX inbox_unusual ON inbox (outcome, accepted_at) WHERE outcome <> 'reply';
CREATE INDEX inbox_dead_accepted ON inbox (accepted_at) WHERE state = 2;
CREATE INDEX outbox_dead_seq ON outbox (seq) WHERE state = 2;

-- Counts per channel, updated with each turn, since there may be millions of turns.
CREATE TABLE conversation_counts (
  channel TEXT PRIMARY KEY,
  conversations INTEGER NOT NULL,
  turns INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO conversation_counts
  SELECT channel, count(DISTINCT conversation), count(*), max(at) FROM turns GROUP BY channel;

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

-- The actions of operators. target: a JSON object of ids by their names.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  status INTEGER NOT NULL,
  reason TEXT
) STRICT;
