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
