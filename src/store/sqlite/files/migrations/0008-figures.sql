-- What happened in each minute (of a day) and each hour (of thirty days), as numbers. length_ms: of
-- the row; at: when it begins; run: the start of svc that counted; body: JSON.
CREATE TABLE figures (
  length_ms INTEGER NOT NULL,
  at INTEGER NOT NULL,
  run INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (length_ms, at, run)
) STRICT;
