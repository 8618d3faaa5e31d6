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
