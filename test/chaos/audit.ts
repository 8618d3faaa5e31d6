/** Compares the deliveries, and the rows left in the database, with the crowd's own records. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import type { Received } from '../fake/receiver.ts';
import type { Crowd } from './crowd.ts';

export type Audit = {
  readonly messages: number;
  readonly lost: number;
  readonly repeats: number;
  readonly 'unmarked repeats': number;
  readonly 'out of order': number;
  /** Two replies, or two ids, for one `webhook-id`; a reply to an unknown message. */
  readonly 'second runs': number;
};

export function audit(crowd: Crowd, received: readonly Received[]): Audit {
  const answered = new Set(received.map(({ body }) => body['in_reply_to']));
  const { messages } = crowd;
  const known = new Set<unknown>(messages.map(({ id }) => id));
  return {
    messages: messages.length,
    lost: messages.filter(({ id }) => !answered.has(id)).length,
    ...repeatsIn(received),
    'out of order': disorderIn(crowd, received),
    'second runs': crowd.secondIds + [...answered].filter((id) => !known.has(id)).length,
  };
}

/**
 * All replies to one message have its id and text. All but one have a mark, or a higher number than
 * one before it. A process paused during an attempt continues it after a later attempt, and a busy
 * receiver reads the second one first: so the order does not count.
 */
function repeatsIn(received: readonly Received[]): Pick<Audit, 'repeats' | 'unmarked repeats'> {
  let [repeats, unmarked] = [0, 0];
  for (const came of Map.groupBy(received, ({ body }) => body['in_reply_to']).values()) {
    const tries = came.toSorted((a, b) => {
      return attemptOf(a) - attemptOf(b) || Number(isMarked(a)) - Number(isMarked(b));
    });
    const [first, ...again] = tries as [Received, ...Received[]];
    repeats += again.length;
    unmarked += again.filter((one, at) => {
      const isTold = isMarked(one) || attemptOf(one) > attemptOf(tries[at]!);
      const isSame = one.headers['webhook-id'] === first.headers['webhook-id'];
      return !isTold || !isSame || one.body['text'] !== first.body['text'];
    }).length;
  }
  return { repeats, 'unmarked repeats': unmarked };
}

const attemptOf = ({ headers }: Received): number => Number(headers['svc-attempt']);
const isMarked = ({ headers }: Received): boolean => headers['svc-possible-duplicate'] === 'true';

/** Counts first replies of a conversation that break the order of its 200s. */
function disorderIn(crowd: Crowd, received: readonly Received[]): number {
  const came = new Map<unknown, Set<unknown>>();
  for (const { body } of received) {
    const conversation = body['conversation_id'];
    const ids = came.get(conversation) ?? new Set();
    came.set(conversation, ids.add(body['in_reply_to']));
  }
  let disorder = 0;
  for (const [conversation, said] of crowd.accepted) {
    const replies = [...(came.get(conversation) ?? [])];
    const ids = said.map(({ id }) => id).filter((id) => came.get(conversation)?.has(id));
    disorder += ids.filter((id, at) => replies[at] !== id).length;
  }
  return disorder;
}

/** Throws with the figures unless every figure of a fault is 0. */
export function assertKept(figures: Audit & { readonly [more: string]: number }): void {
  const { messages, repeats, ...faults } = figures;
  const none = Object.fromEntries(Object.keys(faults).map((name) => [name, 0]));
  assert.deepEqual(faults, none, `of ${messages} messages and ${repeats} repeats`);
  assert.ok(messages > 0, 'something was said');
}

/** Counts of dead letters, and of unsettled rows. */
export type Left = { readonly buried: number; readonly unsettled: number };

/**
 * Counts the answered messages of a closed database whose trace is missing, or does not say which
 * model was asked and why the answer was picked.
 */
export function unexplainedIn(path: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const has = (kind: string): string =>
    `EXISTS (SELECT 1 FROM json_each(traces.body, '$.steps') WHERE value ->> 'kind' = '${kind}')`;
  const explained = `message_id = inbox.id AND ${has('model')} AND ${has('policy')}`;
  const found = db
    .prepare(
      'SELECT count(*) AS n FROM inbox WHERE state = 1 AND ' +
        `NOT EXISTS (SELECT 1 FROM traces WHERE ${explained})`,
    )
    .get();
  db.close();
  return Number(found?.['n']);
}

/** Counts rows of a closed database, and asserts that its file is sound. */
export function leftIn(path: string): Left {
  const db = new DatabaseSync(path, { readOnly: true });
  const count = (state: number): number => {
    const rows = (box: string) => `(SELECT count(*) FROM ${box} WHERE state = ${state})`;
    const found = db.prepare(`SELECT ${rows('inbox')} + ${rows('outbox')} AS n`).get();
    return Number(found?.['n']);
  };
  const whole = db.prepare('PRAGMA integrity_check').get()?.['integrity_check'];
  assert.equal(whole, 'ok');
  const left = { buried: count(2), unsettled: count(0) };
  db.close();
  return left;
}
