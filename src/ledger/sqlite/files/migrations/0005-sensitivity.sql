-- What is private stays private. private: 1 or 0 as it was stamped; null: from before there were
-- stamps.
ALTER TABLE inbox ADD COLUMN private INTEGER;
ALTER TABLE turns ADD COLUMN private INTEGER;
ALTER TABLE notes ADD COLUMN private INTEGER;
ALTER TABLE tool_calls ADD COLUMN private INTEGER;

-- The channels whose unstamped rows are public; those of every other channel are private. Filled
-- once, by the first configuration that is used with this schema.
CREATE TABLE public_before (channel TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
ALTER TABLE owner ADD COLUMN stamped INTEGER NOT NULL DEFAULT 0;

-- An unanswered message that its model answered only without. 1: so far once, which may have been
-- chance; 2: no later turn sees it.
ALTER TABLE turns ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0;
