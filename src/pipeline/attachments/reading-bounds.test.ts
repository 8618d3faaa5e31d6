/** How much is read at once, and for how long. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { Attachment } from '../../domain/attachment.ts';
import type { Message } from '../../domain/message.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { systemClock } from '../../lib/clock.ts';
import { Stopper, type Stop } from '../../lib/stop.ts';
import type { Remade } from './picture/picture.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import { answerWithAttachments } from './attachment-turn.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { unreadSentences as say } from '../sentences.ts';

const mib = 1024 * 1024;
const picture = { type: 'image/jpeg', bytes: Uint8Array.from([1]) } as const;

type Reads = {
  readonly bytesMax?: number;
  readonly deadlineMs?: number;
  readonly fetch?: () => Promise<void>;
  readonly remake?: (bytes: Uint8Array, whose: string, stop: Stop) => Promise<Remade>;
};

/** Turns of one process; each returns how the brain saw one photo. */
function stage({
  bytesMax = 20 * mib,
  deadlineMs = patienceMs,
  fetch = async () => {},
  remake = async () => ({ kind: 'remade', picture }),
}: Reads) {
  const keep = async (): Promise<boolean> => true;
  const ledger = { attachments: { of: async () => null, keep } };
  const fileBytes = new ByteSemaphore(bytesMax);
  const events = { attachmentUnread: () => {} };
  const deps = { ...systemClock, events, ledger, fileBytes } as unknown as Deps;
  return async (bytes?: number, stop = new Stopper()): Promise<Attachment | undefined> => {
    let shown: readonly Attachment[] = [];
    const route = {
      channel: { fetch: async () => (await fetch(), { kind: 'fetched', bytes: picture.bytes }) },
      brain: {
        sensitivity: 'public',
        think: async ({ attachments }: { attachments: readonly Attachment[] }) => {
          shown = attachments;
          return { kind: 'apology', apology: 'no_answer', why: '' };
        },
      },
      pictures: { remake },
    } as unknown as ActiveRoute;
    const media = { type: 'image/jpeg', reference: 'photo', file: 'f', ...(bytes && { bytes }) };
    const sender = { id: '1', name: null };
    const message = { sensitivity: 'public', sender, media, text: 'look' } as unknown as Message;
    const turnContext = {
      stop,
      deadlineAt: fromNow(deadlineMs),
      addStep: () => {},
    } as unknown as PipelineTurnContext;
    const turn = { message, text: 'look', history: [] };
    await answerWithAttachments(deps, route, { message } as InClaim, turn, turnContext);
    return shown[0];
  };
}

test('files of all turns have room in common, by what is told of them', async () => {
  let atOnce = 0;
  let most = 0;
  const fetch = async (): Promise<void> => {
    most = Math.max(most, ++atOnce);
    await new Promise(setImmediate);
    atOnce--;
  };
  const turn = stage({ fetch });
  const all = await Promise.all(Array.from({ length: 10 }, () => turn()));
  assert.deepEqual([...new Set(all.map((one) => one?.kind))], ['picture']);
  assert.equal(most, 2, 'of 8 MiB each, where nothing is told');
  most = 0;
  await Promise.all(Array.from({ length: 10 }, () => turn(4 * mib)));
  assert.equal(most, 5);
});

test('what has no room in time is told as not got, and has its room no more', async () => {
  const stuck = Promise.withResolvers<void>();
  const turn = stage({ fetch: () => stuck.promise, bytesMax: 8 * mib });
  const [first, stop] = [turn(), new Stopper()];
  const second = turn(undefined, stop);
  stop.stop();
  assert.deepEqual(await second, { kind: 'unread', name: 'photo', why: say.notFetched });
  stuck.resolve();
  assert.equal((await first)?.kind, 'picture');
  assert.equal((await turn())?.kind, 'picture');
});

test('a picture is waited for no longer than all that came with a message', async () => {
  const remake = (_: Uint8Array, _whose: string, stop: Stop): Promise<Remade> =>
    new Promise((resolve) => stop.listen(() => resolve({ kind: 'stopped' })));
  const turn = stage({ remake, deadlineMs: 20 });
  assert.deepEqual(await turn(), { kind: 'unread', name: 'photo', why: say.notFetched });
});
