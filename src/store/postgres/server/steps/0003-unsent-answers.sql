-- What models answered to a message whose answer is not the reply: a JSON array of [model, text].
-- null: there are none, or the release before wrote it. It goes with the message.
ALTER TABLE svc.message ADD COLUMN unsent text;

-- The beginning of what the model was told of the call; null: it is not kept.
ALTER TABLE svc.tool_use ADD COLUMN told text;
