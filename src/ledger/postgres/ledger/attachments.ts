import { timeText } from '../../../domain/ids.ts';
import { attachmentOf, attachmentRows, byMessage, pictureOf } from '../../engine/attachments.ts';
import { idLagMs, type StoredAttachments } from '../../engine/attachments.ts';
import type { PostgresBatches, Reads } from '../deps.ts';
import { fromText, toText } from '../server/text.ts';

/** Whoever deletes the message just now deletes what it keeps behind it. */
const keep = `
WITH kept AS (
  SELECT id, channel, conversation, private FROM svc.inbox WHERE id = $1
  FOR KEY SHARE SKIP LOCKED
), gone AS (
  DELETE FROM svc.attachment USING kept WHERE message_id = kept.id AND place >= $3
)
INSERT INTO svc.attachment
  (message_id, place, channel, conversation, kind, name, type, private, content)
SELECT kept.id, x.place, kept.channel, kept.conversation, x.kind, x.name, x.type, kept.private,
  x.content
FROM kept CROSS JOIN json_to_recordset($2) AS x(place integer, kind text, name text, type text,
  content text)
ON CONFLICT (message_id, place) DO UPDATE SET kind = excluded.kind, name = excluded.name,
  type = excluded.type, content = excluded.content`;

const ofMessage =
  'SELECT kind, name, type, content FROM svc.attachment WHERE message_id = $1 ORDER BY place';

const pictures = `
SELECT a.type, a.content, a.private, m.accepted_at AS at
FROM svc.attachment AS a JOIN svc.message AS m ON m.id = a.message_id
WHERE a.kind = 'picture' AND a.channel = $1 AND a.conversation = $2 AND a.message_id >= $3
  AND m.accepted_at >= $4
ORDER BY a.message_id DESC, a.place DESC LIMIT $5`;

const ofTime = `
SELECT a.message_id, a.kind, a.name, a.type, a.content
FROM svc.attachment AS a JOIN svc.message AS m ON m.id = a.message_id
WHERE a.message_id >= $1 AND a.message_id < $2 AND a.channel = $3 AND a.conversation = $4
  AND m.accepted_at = $5
ORDER BY a.message_id, a.place`;

export function storedAttachments(reads: Reads, batches: PostgresBatches): StoredAttachments {
  return {
    keep({ id }, attachments) {
      const rows = attachmentRows(attachments).map((row) => {
        return { ...row, name: toText(row.name), content: toText(row.content) };
      });
      batches.add({ kind: 'single', text: keep, values: [id, JSON.stringify(rows), rows.length] });
      return batches.writtenNow();
    },
    async of({ id }) {
      const rows = await reads.ask({ text: ofMessage, values: [id] });
      return rows.map((row) => attachmentOf(told(row)));
    },
    async acceptedAt({ channel, conversation }, at) {
      const [first, end] = [timeText(Math.max(0, at - idLagMs)), timeText(at + 1)];
      const values = [first, end, channel, toText(conversation), at];
      return byMessage((await reads.ask({ text: ofTime, values })).map(told));
    },
    async picturesSince({ channel, conversation }, since, n) {
      const first = timeText(Math.max(0, since - idLagMs));
      const values = [channel, toText(conversation), first, since, n];
      const rows = await reads.ask({ text: pictures, values });
      return rows.map(({ at, type, private: label, content }) => ({
        at: Number(at),
        sensitivity: label === false ? 'public' : 'private',
        picture: pictureOf(type, String(content)),
      }));
    },
  };
}

function told(row: Record<string, unknown>): Record<string, unknown> {
  const [name, content] = [row['name'], row['content']].map((text) => fromText(String(text)));
  return { ...row, name, content };
}
