-- Figures of each minute (for a day) and each hour (for thirty days). length_ms: the length of the
-- row; at: when it begins; run: the start of svc that counted it; body: JSON.
CREATE TABLE figures (
  length_ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  run INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (length_ms, at, run)
) STRICT;

-- Where the brains' windows of the active session begin, as JSON (see ledger/engine/memories.ts).
-- null: with the session.
ALTER TABLE conversations ADD COLUMN windows TEXT;

-- The answers of models that did not become the reply: a JSON array of [model, text]; null: none.
-- They are deleted with the message.
ALTER TABLE inbox ADD COLUMN unsent TEXT;

-- The beginning of the result that the model received; null: not stored.
ALTER TABLE tool_uses ADD COLUMN told TEXT;

-- The secret for svc's own ids of conversations (src/ledger/read/id-cipher.ts). It is among the
-- cursors, under a name that no channel has.
INSERT OR IGNORE INTO cursors (channel, name, value)
  VALUES ('svc', 'conversation_seal', lower(hex(randomblob(32))));

-- Conversations under takeover by an operator, until a time in milliseconds since 1970.
CREATE TABLE holds (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  since INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;

-- The search index of the words of turns. The writer fills it later, in small steps, and removes
-- deleted turns (see write/search-index.ts). It stores no text: to remove a turn, the writer gives
-- its words again, and they are overwritten.
CREATE VIRTUAL TABLE search USING fts5 (
  words, content = '', columnsize = 0, detail = none, tokenize = 'ascii'
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
-- Each step merges the parts of the index a little, instead of a few steps much at once.
INSERT INTO search (search, rank) VALUES ('automerge', 0);
INSERT INTO search (search, rank) VALUES ('crisismerge', 64);

-- The index holds all turns with low < place <= high. rules: the word rules it was built with;
-- empty: it must be built.
CREATE TABLE search_state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  low INTEGER NOT NULL,
  high INTEGER NOT NULL,
  rules TEXT NOT NULL
) STRICT;
INSERT INTO search_state VALUES (1, 0, 0, '');

-- Tool calls that wait for a person's approval, and the decisions.
-- state: waiting, approved, refused or expired.
-- settled_at: when the turn after the decision ended; null: not yet.
-- sender: the id of the person whose message led to the call.
-- body: JSON of their name, the address, the arguments and their hash.
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

-- Tokens used by calls to models, and reserved for running calls, by local day (YYYY-MM-DD).
-- Channel and sender are empty in the row for all senders together. A price is a decimal number as
-- text, per million tokens; both are empty if there is none. Money is not stored: it is tokens
-- times the price of the row. New rows are of today, so they lie close together.
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

-- What svc read from the attachments of a message. content: a text, or a picture in base64; for an
-- unreadable attachment, the reason. Only pictures have a type.
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
-- Attachments are kept as long as their message, and deleted with it.
CREATE TRIGGER attachments_gone AFTER DELETE ON inbox BEGIN
  DELETE FROM attachments WHERE message_id = OLD.id;
END;
