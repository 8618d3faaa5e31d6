import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { TurnContext, Turn } from '../../brains/brain.ts';
import { linesOfTurn } from '../../brains/turn-lines.ts';
import type { Message } from '../../domain/message.ts';
import type { Unread } from '../../domain/attachment.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { Stopper } from '../../lib/stop.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import { answerWithAttachments } from './attachment-turn.ts';
import { PipelineTurnContext } from '../turn-context.ts';
import { effectsOf } from '../effects.ts';
import type { ActiveRoute, Deps } from '../deps.ts';

const step = { kind: 'tool', tool: 'calc', mode: 'allow', outcome: 'done', rule: 'none' } as const;

/**
 * The line of a message as its own turn has it, and as later turns remember it.
 * @param bytes of the file that came with it, by its kind
 */
async function linesOf(
  type: 'text/plain' | 'image/png' | 'video',
  bytes: Uint8Array,
  said: Partial<Message>,
): Promise<readonly [now: string, later: string]> {
  const clock = handClock();
  let turn: Turn | null = null;
  const route = {
    channel: { fetch: async () => ({ kind: 'fetched', bytes }) },
    brain: {
      name: 'main',
      sensitivity: 'public',
      budget: null,
      think: async (given: Turn) => {
        turn = given;
        return { kind: 'reply', text: 'Fine.', model: 'm', why: '' };
      },
    },
    session: null,
    pictures: {
      remake: async () => ({ kind: 'remade', picture: { type: 'image/png', bytes } }),
    },
  } as unknown as ActiveRoute;
  const deps = {
    ...clock,
    fileBytes: new ByteSemaphore(1_000_000),
    events: { attachmentUnread: () => undefined },
    ids: { reply: () => 'r' },
    ledger: { attachments: { of: async () => null, keep: async () => true } },
  } as unknown as Deps;
  const message = {
    id: 'm',
    sensitivity: 'public',
    sender: { id: '1', name: 'Ann' },
    text: 'what is it?',
    media: { type, reference: 'a [list].txt', file: 'f' },
    ...said,
  } as unknown as Message;
  const claim = { message, stop: new Stopper(), attempt: 1 } as unknown as InClaim;
  const turnContext = new PipelineTurnContext(deps, claim, route.brain, clock.in(600_000));
  const block = { text: 'Replying to Bob:\n> that', sensitivity: 'public' } as const;
  const quoted = message.context?.quoted === undefined ? {} : { quoted: block };
  turnContext.quoted = quoted.quoted ?? null;
  const given = { message, text: message.text, history: [], ...quoted };
  const end = await answerWithAttachments(deps, route, claim, given, turnContext);
  const decision = { move: null, intent: { kind: 'think', text: message.text } } as const;
  const timeline = { decision, claimedAt: 0, decidedAt: 0, turnContext };
  const effects = effectsOf(deps, route, claim, end, timeline);
  assert.ok(turn !== null && effects.turn !== null);
  return [lineIn(turn), effects.turn.text];
}

const lineIn = (turn: Turn): string => linesOfTurn(turn, [], new Map(), turn.quoted).at(-1)!.text;

test('a message with a file is in later turns byte for byte what it was in its own', async () => {
  const quoted = { text: 'that', by: 'other', name: 'Bob', at: 1 } as const;
  const around: readonly Partial<Message>[] = [
    {},
    { text: '' },
    { context: { inGroup: true } },
    { context: { inGroup: true }, text: '' },
    { context: { forwardedFrom: 'Bob' }, text: '' },
    { context: { inGroup: true, quoted } },
  ];
  for (const said of around) {
    for (const type of ['text/plain', 'image/png', 'video'] as const) {
      if (type === 'video' && said.text === '') continue;
      const [now, later] = await linesOf(type, Buffer.from('buy ``` milk\n'), said);
      assert.equal(later, now, JSON.stringify([type, said]));
    }
  }
});

/** A turn with a text file that takes 3 s to fetch, and with a video. */
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
      think: async (_: unknown, turnContext: TurnContext) => {
        turnContext.addStep({ ...step, startMs: 5, ms: 1 });
        return { kind: 'apology', apology: 'no_answer', why: '' };
      },
    },
  } as unknown as ActiveRoute;
  const deps = {
    ...clock,
    fileBytes: new ByteSemaphore(1_000_000),
    events: {
      attachmentUnread: ({ part, reason }: Unread) => void told.push({ part, reason }),
    },
    ledger: { attachments: { of: async () => null, keep: async () => true } },
  } as unknown as Deps;
  const message = {
    sensitivity: 'public',
    sender: { id: '1', name: null },
    text: 'what is to do?',
    media: { type: 'text/plain', reference: 'list.txt', file: 'f' },
    further: [{ type: 'video', reference: 'video' }],
  } as unknown as Message;
  const claim = { message, stop: new Stopper() } as unknown as InClaim;
  const turnContext = new PipelineTurnContext(deps, claim, route.brain, clock.in(600_000));
  const turn = { message, text: message.text, history: [] };
  await answerWithAttachments(deps, route, claim, turn, turnContext);
  return { steps: turnContext.steps, told };
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
