import type { DatabaseSync } from 'node:sqlite';
import { timeText } from '../../../domain/ids.ts';
import { attachmentOf, attachmentRows, byMessage, pictureOf } from '../../engine/attachments.ts';
import { idLagMs, type StoredAttachments } from '../../engine/attachments.ts';
import type { GroupCommit } from '../write/group-commit.ts';
import { labelOf } from './sensitivity-labels.ts';

/** @param reader a connection that only reads */
export function storedAttachments(
  reader: DatabaseSync,
  groupCommit: GroupCommit,
): StoredAttachments {
  const ofMessage = reader.prepare(
    'SELECT kind, name, type, content FROM attachments WHERE message_id = ? ORDER BY place',
  );
  const pictures = reader.prepare(
    'SELECT a.type, a.content, a.private, m.accepted_at AS at ' +
      'FROM attachments AS a JOIN inbox AS m ON m.id = a.message_id ' +
      "WHERE a.kind = 'picture' AND a.channel = ? AND a.conversation = ? AND a.message_id >= ? " +
      'AND m.state > 0 AND m.accepted_at >= ? ORDER BY a.message_id DESC, a.place DESC LIMIT ?',
  );
  const ofTime = reader.prepare(
    'SELECT a.message_id, a.kind, a.name, a.type, a.content ' +
      'FROM attachments AS a JOIN inbox AS m ON m.id = a.message_id ' +
      'WHERE a.message_id >= ? AND a.message_id < ? AND a.channel = ? AND a.conversation = ? ' +
      'AND m.state > 0 AND m.accepted_at = ? ORDER BY a.message_id, a.place',
  );
  return {
    keep({ id, channel, conversation, sensitivity }, attachments) {
      const label = labelOf(sensitivity);
      groupCommit.add(['attachmentsGone', id]);
      for (const { place, kind, name, type, content } of attachmentRows(attachments)) {
        const values = [
          id,
          place,
          channel,
          conversation,
          kind,
          name,
          type,
          label,
          content,
        ] as const;
        groupCommit.add(['attachment', ...values]);
      }
      return groupCommit.writtenNow();
    },
    of: ({ id }) => ofMessage.all(id).map(attachmentOf),
    acceptedAt({ channel, conversation }, at) {
      const [first, end] = [timeText(Math.max(0, at - idLagMs)), timeText(at + 1)];
      return byMessage(ofTime.all(first, end, channel, conversation, at));
    },
    picturesSince({ channel, conversation }, since, n) {
      const first = timeText(Math.max(0, since - idLagMs));
      return pictures.all(channel, conversation, first, since, n).map((row) => ({
        at: Number(row['at']),
        sensitivity: row['private'] === 0 ? 'public' : 'private',
        picture: pictureOf(row['type'], String(row['content'])),
      }));
    },
  };
}
