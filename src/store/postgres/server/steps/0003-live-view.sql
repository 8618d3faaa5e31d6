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

-- The beginning of what the model was told of the call; null: it is not kept.
ALTER TABLE svc.tool_use ADD COLUMN told text;

-- The secret by which conversations have ids of svc's own (src/store/read/conversation-seal.ts).
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
