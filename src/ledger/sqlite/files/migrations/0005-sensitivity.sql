-- Sensitivity labels. private: 1 or 0; null: from before there were labels.
ALTER TABLE inbox ADD COLUMN private INTEGER;
ALTER TABLE turns ADD COLUMN private INTEGER;
ALTER TABLE notes ADD COLUMN private INTEGER;
ALTER TABLE tool_calls ADD COLUMN private INTEGER;

-- The channels whose unlabelled rows are public; those of every other channel are private. Filled
-- once, by the first configuration used with this schema.
CREATE TABLE public_before (channel TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
ALTER TABLE owner ADD COLUMN stamped INTEGER NOT NULL DEFAULT 0;

-- Marks an unanswered message that its model could answer only without. 1: this happened once,
-- perhaps by chance. 2: no later turn sees the message.
ALTER TABLE turns ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0;
