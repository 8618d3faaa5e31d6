-- The words of turns, for finding them again. The keeper fills it later, in small steps; see
-- ledger/search-index.ts. No flight writes here: what is deleted of turns goes with them.
CREATE TABLE svc.search (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  session integer NOT NULL,
  n bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  words tsvector NOT NULL,
  PRIMARY KEY (channel, conversation, session, n),
  FOREIGN KEY (channel, conversation, session, n) REFERENCES svc.turn ON DELETE CASCADE
);
CREATE INDEX search_message ON svc.search (message_id);
CREATE INDEX search_words ON svc.search USING gin (words);

-- rules: by which the words were made; empty: nothing is in it yet. since, until: what was said to
-- messages between these ids is in it, but for what was answered late. The rest is found by a walk
-- over all turns, which is at this place; walked: one has come to its end, and when the last one did.
CREATE TABLE svc.search_state (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  rules text NOT NULL DEFAULT '',
  since text COLLATE "C" NOT NULL DEFAULT '',
  until text COLLATE "C" NOT NULL DEFAULT '',
  channel text COLLATE "C" NOT NULL DEFAULT '',
  conversation text COLLATE "C" NOT NULL DEFAULT '',
  session integer NOT NULL DEFAULT 0,
  n bigint NOT NULL DEFAULT 0,
  walked boolean NOT NULL DEFAULT false,
  walked_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO svc.search_state DEFAULT VALUES;
