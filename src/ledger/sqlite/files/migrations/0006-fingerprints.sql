-- A digest of the content under a key: it distinguishes another message with the key from a resend.
-- null: the channel gives none, or the key is older than this column.
ALTER TABLE dedupe ADD COLUMN fingerprint TEXT;

-- Until this time svc also looks for older keys, in the form that senders chose.
ALTER TABLE owner ADD COLUMN former_keys_until INTEGER NOT NULL DEFAULT 0;
UPDATE owner SET former_keys_until = coalesce((SELECT max(expires_at) FROM dedupe), 0);
