/** The deliveries and dead letters of one message, in the form of their own lists. */
import type { DeliveryRow } from '../../../src/domain/records.ts';
import type { DeadLetter, ReplyStory, Story } from '../../../src/domain/story.ts';

export function deliveriesIn({ id, channel, replies }: Story): readonly DeliveryRow[] {
  return replies.map((reply) => {
    const { state, dueAt, createdAt, attempts, possibleDuplicate, late, failure } = reply;
    const waits = dueAt === null ? 'waiting' : 'deferred';
    return {
      id: reply.id,
      message: id,
      channel,
      createdAt,
      state: state === 'waiting' ? waits : state,
      attempts,
      nextAt: dueAt,
      possibleDuplicate,
      late,
      failure,
    };
  });
}

/** The message itself and each reply to it; a reply in parts is one letter. */
export function lettersIn(story: Story): readonly DeadLetter[] {
  const { id, channel, acceptedAt, state, settledAt, failure, diedUnder } = story;
  const of = { channel, messageId: id, acceptedAt };
  const letters: DeadLetter[] = [];
  if (state === 'dead' && failure !== null) {
    // `diedUnder` counts the attempts during which the process died, and not the last, failed one.
    const attempts = diedUnder + (failure.kind === 'fault' ? 1 : 0);
    const diedAt = settledAt ?? acceptedAt;
    letters.push({ ...of, id, box: 'in', diedAt, attempts, parts: 1, failure });
  }
  const dead = story.replies.filter((reply) => reply.state === 'dead');
  for (const [whole, parts] of Map.groupBy(dead, (reply) => reply.id.slice(0, id.length))) {
    const last = parts.toSorted((a, b) => diedAtOf(a) - diedAtOf(b)).at(-1)!;
    if (last.failure === null) continue;
    const attempts = Math.max(...parts.map((part) => part.attempts));
    const died = { diedAt: diedAtOf(last), attempts, parts: parts.length, failure: last.failure };
    letters.push({ ...of, id: whole, box: 'out', ...died });
  }
  return letters;
}

function diedAtOf({ settledAt, createdAt }: ReplyStory): number {
  return settledAt ?? createdAt;
}
