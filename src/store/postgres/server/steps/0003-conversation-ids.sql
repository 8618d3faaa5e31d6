-- The secret by which conversations have ids of svc's own (src/store/read/conversation-seal.ts).
-- Among the cursors, where no channel has this name.
INSERT INTO svc.cursor (channel, name, value) VALUES
  ('svc', 'conversation_seal', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''))
  ON CONFLICT (channel, name) DO NOTHING;
