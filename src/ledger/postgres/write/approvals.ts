/** Parts of the statement that ends turns: what waits for a yes from then on, what is settled. */

const columns =
  'id, code, state, channel, conversation, sender, message_id, brain, tool, private, asked_at, ' +
  'expires_at, body';

const asked = `, asked AS (
  INSERT INTO svc.approval (${columns})
  SELECT one.id, one.code, 'waiting', one.channel, one.conversation, one.sender, one."messageId",
    one.brain, one.tool, one.private, one."askedAt", one."expiresAt", one.body
  FROM gone CROSS JOIN LATERAL json_to_recordset(gone.asked) AS one(id text, code text,
    channel text, conversation text, sender text, "messageId" text, brain text, tool text,
    private boolean, "askedAt" bigint, "expiresAt" bigint, body text)
  ON CONFLICT (id) DO NOTHING
)`;

const settled = `, followed AS (
  UPDATE svc.approval AS approval
  SET settled_at = gone.at, outcome = gone.settled ->> 'outcome'
  FROM gone WHERE approval.id = (gone.settled ->> 'id') COLLATE "C"
    AND approval.state <> 'waiting' AND approval.settled_at IS NULL
)`;

export const approvalParts = { asked, settled };
