-- What happened in each minute (of a day) and each hour (of thirty days), as numbers. length_ms: of
-- the row; at: when it begins; run: the start of svc that counted; body: JSON.
CREATE TABLE figures (
  length_ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  run INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (length_ms, at, run)
) STRICT;

-- Where the brains' windows of the active session begin: JSON, see ledger/engine/memories.ts. null:
-- with the session.
ALTER TABLE conversations ADD COLUMN windows TEXT;

-- What models answered to a message whose answer is not the reply: a JSON array of [model, text].
-- null: there are none. It goes with the message.
ALTER TABLE inbox ADD COLUMN unsent TEXT;

-- The beginning of what the model was told of the call; null: it is not kept.
ALTER TABLE tool_uses ADD COLUMN told TEXT;

-- The secret by which conversations have ids of svc's own (src/ledger/read/id-cipher.ts).
-- Among the cursors, where no channel has this name.
INSERT OR IGNORE INTO cursors (channel, name, value)
  VALUES ('svc', 'conversation_seal', lower(hex(randomblob(32))));

-- Conversations that an operator answers by hand until a time, milliseconds since 1970.
CREATE TABLE holds (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  since INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;

-- The words of turns, for finding them again. The writer fills it later, in small steps, and deletes
-- from it what is deleted from turns; see write/search-index.ts. It keeps no text: the words of a
-- turn are given once more when they are to go, and are overwritten then.
CREATE VIRTUAL TABLE search USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
-- Its parts are merged a little by each step, not much at once by some.
INSERT INTO search (search, rank) VALUES ('automerge', 0);
INSERT INTO search (search, rank) VALUES ('crisismerge', 64);

-- In it are all turns from behind `low` to `high`, by their place. rules: by which it was made; empty:
-- it is to be made.
CREATE TABLE search_state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  low INTEGER NOT NULL,
  high INTEGER NOT NULL,
  rules TEXT NOT NULL
) STRICT;
INSERT INTO search_state VALUES (1, 0, 0, '');

-- Calls of tools that wait for a person's yes, and what became of them. state: waiting, approved,
-- refused or expired; settled_at: when the turn that follows was over; null: not yet. sender: who
-- asked, by their id. body: JSON of their name, the address, the arguments and their hash.
CREATE TABLE approvals (
  id TEXT PRIMARY KEY,
  code TEXT NOT NULL,
  state TEXT NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  sender TEXT NOT NULL,
  message_id TEXT NOT NULL,
  brain TEXT NOT NULL,
  tool TEXT NOT NULL,
  private INTEGER NOT NULL,
  asked_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  decided_at INTEGER,
  decided_by TEXT,
  settled_at INTEGER,
  outcome TEXT,
  body TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX approvals_code ON approvals (code);
CREATE INDEX approvals_state ON approvals (state, id);
CREATE INDEX approvals_open ON approvals (id) WHERE settled_at IS NULL;
CREATE INDEX approvals_settled ON approvals (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX approvals_conversation ON approvals (channel, conversation);
CREATE INDEX approvals_sender ON approvals (channel, sender);
CREATE INDEX approvals_decided_by ON approvals (decided_by) WHERE decided_by IS NOT NULL;

-- What calls to models used, and what is reserved for those under way, by local day (YYYY-MM-DD).
-- Channel and sender are empty in the row of all senders together. A price is a decimal number as
-- text, per million tokens; both are empty where there is none. Money is not kept: it is tokens times
-- the price of their row. What is written is of today: it lies close together.
CREATE TABLE spend (
  day TEXT NOT NULL,
  channel TEXT NOT NULL,
  sender TEXT NOT NULL,
  brain TEXT NOT NULL,
  model TEXT NOT NULL,
  price_input TEXT NOT NULL,
  price_output TEXT NOT NULL,
  costs INTEGER NOT NULL,
  calls INTEGER NOT NULL,
  estimated_calls INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  open_input INTEGER NOT NULL,
  open_output INTEGER NOT NULL,
  PRIMARY KEY (day, channel, sender, brain, model, price_input, price_output, costs)
) STRICT, WITHOUT ROWID;

-- What was read of what came with a message. content: a text, or a picture in base64, which alone has a
-- type; of one that could not be read, why.
CREATE TABLE attachments (
  message_id TEXT NOT NULL,
  place INTEGER NOT NULL,
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  type TEXT,
  private INTEGER NOT NULL,
  content TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX attachments_message ON attachments (message_id, place);
CREATE INDEX attachments_pictures ON attachments (channel, conversation, message_id, place)
  WHERE kind = 'picture';
-- They are kept as long as their message, and go with it whatever takes it away.
CREATE TRIGGER attachments_gone AFTER DELETE ON inbox BEGIN
  DELETE FROM attachments WHERE message_id = OLD.id;
END;
