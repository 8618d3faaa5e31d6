-- What happened in each minute (of a day) and each hour (of thirty days), as numbers. length_ms: of
-- the row; at: when it begins; run: the start of svc that counted; body: JSON. The row of an hour is
-- written anew each minute.
CREATE TABLE svc.figure (
  length_ms integer NOT NULL,
  at bigint NOT NULL,
  run bigint NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (length_ms, at, run)
) WITH (fillfactor = 70);

-- What models answered to a message whose answer is not the reply: a JSON array of [model, text].
-- null: there are none, or the release before wrote it. It goes with the message.
ALTER TABLE svc.message ADD COLUMN unsent text;

-- Where the brains' windows of the active session begin: JSON, see ledger/engine/memories.ts. null:
-- with the session.
ALTER TABLE svc.lane ADD COLUMN windows text;

-- The beginning of what the model was told of the call; null: it is not kept.
ALTER TABLE svc.tool_use ADD COLUMN told text;

-- The secret by which conversations have ids of svc's own (src/ledger/read/id-cipher.ts).
-- Among the cursors, where no channel has this name.
INSERT INTO svc.cursor (channel, name, value) VALUES
  ('svc', 'conversation_seal', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''))
  ON CONFLICT (channel, name) DO NOTHING;

-- Conversations that an operator answers by hand. Times are milliseconds since 1970. A release that
-- does not know them works such a conversation on, where it has its lane.
CREATE TABLE svc.hold (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  until_at bigint NOT NULL,
  PRIMARY KEY (channel, conversation)
);

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

-- Calls of tools that wait for a person's yes, and what became of them. state: waiting, approved,
-- refused or expired; settled_at: when the turn that follows was over; null: not yet. sender: who
-- asked, by their id. decision: names the call that decided it. body: ready JSON of the sender's name,
-- the address, the arguments and their hash.
CREATE TABLE svc.approval (
  id text COLLATE "C" PRIMARY KEY,
  code text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  sender text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  brain text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  private boolean NOT NULL,
  asked_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  decided_at bigint,
  decided_by text COLLATE "C",
  decision text COLLATE "C",
  settled_at bigint,
  outcome text COLLATE "C",
  body text NOT NULL
);
CREATE INDEX approval_code ON svc.approval (code);
CREATE INDEX approval_state ON svc.approval (state, id);
CREATE INDEX approval_open ON svc.approval (id) WHERE settled_at IS NULL;
CREATE INDEX approval_settled ON svc.approval (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX approval_conversation ON svc.approval (channel, conversation);
CREATE INDEX approval_sender ON svc.approval (channel, sender);
CREATE INDEX approval_decided_by ON svc.approval (decided_by) WHERE decided_by IS NOT NULL;

-- What calls to models used, and what is reserved for those under way, by local day (YYYY-MM-DD).
-- Channel and sender are empty in the row of all senders together. A price is a decimal number as
-- text, per million tokens; both are empty where there is none. Money is not kept: it is tokens times
-- the price of their row. Each instance has rows of its own, so that no flight waits for another's.
CREATE TABLE svc.spend (
  day text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  sender text COLLATE "C" NOT NULL,
  brain text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  price_input text COLLATE "C" NOT NULL,
  price_output text COLLATE "C" NOT NULL,
  costs boolean NOT NULL,
  instance bigint NOT NULL,
  calls bigint NOT NULL,
  estimated_calls bigint NOT NULL,
  input bigint NOT NULL,
  output bigint NOT NULL,
  open_input bigint NOT NULL,
  open_output bigint NOT NULL,
  PRIMARY KEY (day, channel, sender, brain, model, price_input, price_output, costs, instance)
) WITH (fillfactor = 70);

-- What was read of what came with a message. content: a text, or a picture in base64, which alone has a
-- type; of one that could not be read, why. Kept as long as the message. What a release leaves behind
-- that does not know it is swept away.
CREATE TABLE svc.attachment (
  message_id text COLLATE "C" NOT NULL,
  place integer NOT NULL,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  type text,
  private boolean NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (message_id, place)
);
CREATE INDEX attachment_pictures ON svc.attachment (channel, conversation, message_id, place)
  WHERE kind = 'picture';
