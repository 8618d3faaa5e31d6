import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../test/support/hand-clock.ts';
import type { Desk } from '../brain/brain.ts';
import type { Message } from '../domain/message.ts';
import type { Unread } from '../domain/unread.ts';
import { ByteSemaphore } from '../lib/byte-semaphore.ts';
import { Stopper } from '../lib/stop.ts';
import type { InClaim } from '../store/store.ts';
import { thinkOfAttachments } from './attachment-turn.ts';
import { TurnDesk } from './desk.ts';
import type { ActiveRoute, Kit } from './kit.ts';

const step = { kind: 'tool', tool: 'calc', mode: 'allow', outcome: 'done', rule: 'none' } as const;

/** A turn of a text file that takes 3 s to be fetched, and of a video. */
async function turnOfFiles() {
  const clock = handClock();
  const told: Omit<Unread, 'detail'>[] = [];
  const route = {
    channel: {
      fetch: async () => {
        clock.pass(3_000);
        return { kind: 'fetched', bytes: Buffer.from('buy milk') };
      },
    },
    brain: {
      name: 'main',
      sensitivity: 'public',
      think: async (_: unknown, desk: Desk) => {
        desk.addStep({ ...step, startMs: 5, ms: 1 });
        return { kind: 'apology', apology: 'no_answer', why: '' };
      },
    },
  } as unknown as ActiveRoute;
  const kit = {
    ...clock,
    fileBytes: new ByteSemaphore(1_000_000),
    events: {
      attachmentUnread: ({ part, reason }: Unread) => void told.push({ part, reason }),
    },
    ledger: { attachments: { of: async () => null, keep: async () => true } },
  } as unknown as Kit;
  const message = {
    sensitivity: 'public',
    sender: { id: '1', name: null },
    text: 'what is to do?',
    media: { type: 'text/plain', reference: 'list.txt', file: 'f' },
    further: [{ type: 'video', reference: 'video' }],
  } as unknown as Message;
  const claim = { message, stop: new Stopper() } as unknown as InClaim;
  const desk = new TurnDesk(kit, claim, route.brain, clock.in(600_000));
  const turn = { message, text: message.text, history: [] };
  await thinkOfAttachments(kit, route, claim, turn, desk);
  return { steps: desk.steps, told };
}

test('each file is a step, and what the brain does comes after their time', async () => {
  const { steps, told } = await turnOfFiles();
  assert.deepEqual(steps, [
    { kind: 'file', part: 'text', result: 'read', startMs: 0, ms: 3_000 },
    { kind: 'file', part: 'other', result: 'unsupported', startMs: 0, ms: 0 },
    { ...step, startMs: 3_005, ms: 1 },
  ]);
  assert.deepEqual(told, [{ part: 'other', reason: 'unsupported' }]);
});
