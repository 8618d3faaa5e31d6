-- The secret by which conversations have ids of svc's own (src/store/read/conversation-seal.ts).
-- Among the cursors, where no channel has this name.
INSERT OR IGNORE INTO cursors (channel, name, value)
  VALUES ('svc', 'conversation_seal', lower(hex(randomblob(32))));
