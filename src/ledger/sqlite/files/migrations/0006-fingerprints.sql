-- What was said under a key, as a digest, so that another message with it is told from a resend.
-- null: the channel gives none, or the key is of before.
ALTER TABLE dedupe ADD COLUMN fingerprint TEXT;

-- Until then keys of before are looked for, too: they are as senders chose them.
ALTER TABLE owner ADD COLUMN former_keys_until INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET former_keys_until = coalesce((SELECT max(expires_at) FROM dedupe), 0);
