-- Everything of svc lies in a schema of its own. Times are milliseconds since 1970 unless a column
-- is a timestamptz, which the server's clock gave. Keys compare by their bytes. Plain texts are
-- escaped (server/text.ts), since a text of PostgreSQL holds neither NUL nor half a character; what
-- is called `body`, `tries`, `trace`, `failure` or `target` is ready JSON.

-- One row a start. grp: the number of the last flight that landed, which fences every write.
-- ended: how it ended, as JSON; null while it runs, and where nobody knows.
CREATE TABLE svc.instance (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version text NOT NULL,
  process text NOT NULL,
  began_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  grp bigint NOT NULL DEFAULT 0,
  dead boolean NOT NULL DEFAULT false,
  ended text
) WITH (fillfactor = 10);

-- A conversation. tail: the number of its newest message, without gaps, in the order of commits.
-- The rest is null until something besides turns is to be kept (a cut, a message without a turn).
CREATE TABLE svc.lane (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  tail bigint NOT NULL DEFAULT 0,
  session integer,
  started_at bigint,
  previous_at bigint,
  PRIMARY KEY (channel, conversation)
) WITH (fillfactor = 50);

-- Messages that are not settled. n: the lane's number. alone: how often the process ended while it
-- ran alone.
CREATE TABLE svc.inbox (
  id text COLLATE "C" PRIMARY KEY,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  accepted_at bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  private boolean NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  alone integer NOT NULL DEFAULT 0,
  body text NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX inbox_lane ON svc.inbox (channel, conversation, n);

-- Replies that are not settled, in a lane by (n, part): n is the number of the message, or a new
-- one where the reply was dead and is tried again.
-- tries: the failed ones, a JSON array of [startedAt, ms, failure kind, status].
-- replayed: attempts that do not move it along its schedule.
CREATE TABLE svc.outbox (
  id text COLLATE "C" PRIMARY KEY,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  part integer NOT NULL,
  created_at bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  replayed integer NOT NULL DEFAULT 0,
  possible_duplicate boolean NOT NULL DEFAULT false,
  late boolean NOT NULL DEFAULT false,
  parked boolean NOT NULL DEFAULT false,
  due_at bigint,
  failure text,
  tries text,
  body text NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
CREATE UNIQUE INDEX outbox_lane ON svc.outbox (channel, conversation, n, part);
CREATE INDEX outbox_message ON svc.outbox (message_id);

-- Settled messages, and dead ones (failure is not null), with the trace of their turn.
CREATE TABLE svc.message (
  id text COLLATE "C" PRIMARY KEY,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  accepted_at bigint NOT NULL,
  sender text COLLATE "C" NOT NULL,
  private boolean NOT NULL,
  attempts integer NOT NULL,
  settled_at bigint NOT NULL,
  brain text,
  outcome text,
  model text,
  failure text,
  trace text,
  body text NOT NULL
);
CREATE INDEX message_lane ON svc.message (channel, conversation, n);
CREATE INDEX message_dead ON svc.message (id) WHERE failure IS NOT NULL;

-- Delivered replies, and dead ones (failure is not null).
CREATE TABLE svc.sent (
  id text COLLATE "C" PRIMARY KEY,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  n bigint NOT NULL,
  part integer NOT NULL,
  created_at bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  attempts integer NOT NULL,
  replayed integer NOT NULL,
  possible_duplicate boolean NOT NULL,
  late boolean NOT NULL,
  settled_at bigint NOT NULL,
  took_ms double precision,
  failure text,
  tries text,
  body text NOT NULL
);
CREATE INDEX sent_message ON svc.sent (message_id);
CREATE INDEX sent_lane ON svc.sent (channel, conversation, n, part);
CREATE INDEX sent_dead ON svc.sent (id) WHERE failure IS NOT NULL;

-- sender: null for a quoted block, which nobody said.
-- left_out: an unanswered message that its model answered only without. 1: so far once, which may
-- have been chance; 2: no later turn sees it.
CREATE TABLE svc.turn (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  session integer NOT NULL,
  n bigint NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  sender text COLLATE "C",
  private boolean NOT NULL,
  left_out smallint NOT NULL DEFAULT 0,
  text text NOT NULL,
  reply text,
  PRIMARY KEY (channel, conversation, session, n)
);
CREATE INDEX turn_sender ON svc.turn (channel, sender, message_id) WHERE sender IS NOT NULL;

-- Why each session after the first began.
CREATE TABLE svc.cut (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  session integer NOT NULL,
  at bigint NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (channel, conversation, session)
);

-- brain: of all its conversations together; null: of the conversation alone. A note of a brain
-- knows the conversation in which it was made, too, and is forgotten with it.
CREATE TABLE svc.note (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  brain text COLLATE "C",
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  private boolean NOT NULL,
  text text NOT NULL
);
CREATE INDEX note_conversation ON svc.note (channel, conversation, seq);
CREATE INDEX note_brain ON svc.note (brain, seq) WHERE brain IS NOT NULL;

-- The audit of tools.
CREATE TABLE svc.tool_use (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  key text COLLATE "C" NOT NULL UNIQUE,
  message_id text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  ms double precision NOT NULL,
  tool text NOT NULL,
  mode text NOT NULL,
  rule text NOT NULL,
  outcome text NOT NULL,
  arguments text NOT NULL
);
CREATE INDEX tool_use_message ON svc.tool_use (message_id);
CREATE INDEX tool_use_conversation ON svc.tool_use (channel, conversation, seq);

-- Written before a call that changes something elsewhere begins. hash: of tool and arguments.
-- text: what the model was told of its end; null: the end was not seen.
CREATE TABLE svc.tool_call (
  key text COLLATE "C" PRIMARY KEY,
  message_id text COLLATE "C" NOT NULL,
  tool text NOT NULL,
  hash text NOT NULL,
  private boolean NOT NULL,
  text text,
  outcome text,
  ms double precision
);
CREATE INDEX tool_call_message ON svc.tool_call (message_id);

CREATE TABLE svc.dedupe (
  channel text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  expires_at bigint NOT NULL,
  fingerprint text,
  PRIMARY KEY (channel, key)
);
CREATE INDEX dedupe_expires ON svc.dedupe (expires_at);

CREATE TABLE svc.cursor (
  channel text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (channel, name)
);

-- What operators did.
CREATE TABLE svc.audit (
  seq bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  at bigint NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  status integer NOT NULL,
  reason text
);
