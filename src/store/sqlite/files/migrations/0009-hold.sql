-- Conversations that an operator answers by hand until a time, milliseconds since 1970.
CREATE TABLE holds (
  channel TEXT NOT NULL,
  conversation TEXT NOT NULL,
  since INTEGER NOT NULL,
  until_at INTEGER NOT NULL,
  PRIMARY KEY (channel, conversation)
) STRICT, WITHOUT ROWID;
