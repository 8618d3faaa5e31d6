-- Conversations that an operator answers by hand. Times are milliseconds since 1970. A release that
-- does not know them works such a conversation on, where it has its lane.
CREATE TABLE svc.hold (
  channel text COLLATE "C" NOT NULL,
  conversation text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  until_at bigint NOT NULL,
  PRIMARY KEY (channel, conversation)
);
