-- What models answered to a message whose answer is not the reply: a JSON array of [model, text].
-- null: there are none. It goes with the message.
ALTER TABLE inbox ADD COLUMN unsent TEXT;

-- The beginning of what the model was told of the call; null: it is not kept.
ALTER TABLE tool_uses ADD COLUMN told TEXT;
