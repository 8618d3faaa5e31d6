/** Where voice messages may go, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromNow } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import type { Attachment } from '../../domain/attachment.ts';
import type { Turn } from '../../brains/brain.ts';
import { failure } from '../../domain/failure.ts';
import type { Media, Message } from '../../domain/message.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { systemClock } from '../../lib/clock.ts';
import { Stopper } from '../../lib/stop.ts';
import type { InClaim } from '../../ledger/ledger.ts';
import { answerWithAttachments } from './attachment-turn.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { unreadSentences as say } from '../sentences.ts';

/** @returns the label with which the audio was handed over; null: it was not handed over */
async function spokenAs(
  brain: Sensitivity,
  label: Sensitivity,
  fetches = true,
  kept: readonly Attachment[] | null = null,
): Promise<Sensitivity | null> {
  let handed: Sensitivity | null = null;
  const route = {
    channel: {
      ...(fetches && {
        fetch: () => Promise.resolve({ kind: 'fetched', bytes: Uint8Array.from([1]) }),
      }),
    },
    brain: {
      sensitivity: brain,
      think: () => Promise.resolve({ kind: 'apology', apology: 'no_answer', why: '' }),
    },
    speech: {
      transcribe: ({ sensitivity }: { sensitivity: Sensitivity }) => {
        handed = sensitivity;
        return Promise.resolve({ kind: 'heard', text: 'hi' });
      },
    },
  } as unknown as ActiveRoute;
  const media = { type: 'audio/ogg', reference: 'https://far.example/voice.ogg', file: 'f' };
  const sender = { id: '1', name: null };
  const message = { sensitivity: label, sender, media, text: '' } as unknown as Message;
  const turnContext = {
    stop: new Stopper(),
    deadlineAt: fromNow(patienceMs),
    addStep: () => {},
  } as unknown as PipelineTurnContext;
  const turn = { message, text: '', history: [] };
  const attachments = { of: () => Promise.resolve(kept), keep: () => Promise.resolve(true) };
  const spokenBytes = new ByteSemaphore(1024);
  const events = { attachmentUnread: () => {} };
  const deps = { ...systemClock, events, ledger: { attachments }, spokenBytes } as unknown as Deps;
  await answerWithAttachments(deps, route, { message } as InClaim, turn, turnContext);
  return handed;
}

for (const brain of ['public', 'private'] as const) {
  for (const label of ['public', 'private'] as const) {
    const expected = brain === 'public' && label === 'public' ? 'public' : 'private';
    test(`to a ${brain} brain a ${label} voice message is spoken as ${expected}`, async () => {
      assert.equal(await spokenAs(brain, label), expected);
    });
  }
}

test('a channel that does not fetch has nothing fetched for it', async () => {
  assert.equal(await spokenAs('public', 'public', false), null);
});

test('what an earlier run read is not spoken again, unless more came since', async () => {
  const heard = { kind: 'spoken', name: 'voice.ogg', text: 'hi' } as const;
  assert.equal(await spokenAs('public', 'public', true, [heard]), null);
  assert.equal(await spokenAs('public', 'public', true, [heard, heard]), 'public');
});

/** @returns the attachments that the brain was shown, and the files that were fetched */
async function shownOf(
  all: readonly Media[],
  isDead: (file: string) => boolean,
  bytes: Uint8Array = Buffer.from('words'),
) {
  const [media, ...further] = all as [Media, ...Media[]];
  const sender = { id: '1', name: null };
  const said = { sensitivity: 'public', sender, media, further, text: 'look' };
  const message = said as unknown as Message;
  const [turns, fetched]: [Turn[], string[]] = [[], []];
  const picture = { type: 'image/jpeg', bytes: Uint8Array.of(1) };
  const route = {
    channel: {
      fetch: async (file: string) => {
        fetched.push(file);
        if (isDead(file)) return { kind: 'failed', failure: failure('not_found') };
        return { kind: 'fetched', bytes };
      },
    },
    pictures: { remake: () => Promise.resolve({ kind: 'remade', picture }) },
    brain: {
      think: (turn: Turn) => {
        turns.push(turn);
        return Promise.resolve({ kind: 'apology', apology: 'no_answer', why: '' });
      },
    },
  } as unknown as ActiveRoute;
  const attachments = { of: () => Promise.resolve(null), keep: () => Promise.resolve(true) };
  const fileBytes = new ByteSemaphore(100_000_000);
  const events = { attachmentUnread: () => {} };
  const deps = { ...systemClock, events, fileBytes, ledger: { attachments } } as unknown as Deps;
  const turnContext = {
    stop: new Stopper(),
    deadlineAt: fromNow(patienceMs),
    addStep: () => {},
  } as unknown as PipelineTurnContext;
  const turn = { message, text: 'look', history: [] };
  await answerWithAttachments(deps, route, { message } as InClaim, turn, turnContext);
  return { shown: turns[0]!.attachments!, fetched };
}

function mediaOf(type: string, at: number): Media {
  return { type, reference: `${at}`, file: `${type} ${at}` };
}

test('of more than four pictures and four files the rest is told as too many', async () => {
  const all = [0, 1, 2, 3, 4].flatMap((at) => [
    mediaOf('image/png', at),
    mediaOf('text/plain', at),
  ]);
  const { shown } = await shownOf(all, () => false);
  const each = ['picture', 'text'];
  assert.deepEqual(
    shown.map(({ kind }) => kind),
    [...each, ...each, ...each, ...each, 'unread', 'unread'],
  );
});

test('with what turns out to be a picture there are no more than four', async () => {
  const untold = (at: number) => mediaOf('application/octet-stream', at);
  const all = [0, 1, 2, 3].flatMap((at) => [mediaOf('image/png', at), untold(at)]);
  const { shown } = await shownOf(all, () => false, Buffer.from('\x89PNG\x1a', 'latin1'));
  const results = shown.map((one) => (one.kind === 'unread' ? one.why : one.kind));
  const four = Array.from({ length: 4 }, () => 'picture');
  assert.deepEqual(results, [...four, ...four.map(() => say.tooMany)]);
});

test('a picture that cannot be read takes no place of another', async () => {
  const all = Array.from({ length: 10 }, (_, at) => mediaOf('image/png', at));
  const { shown, fetched } = await shownOf(all, (file) => file === 'image/png 1');
  const [first, dead, ...others] = shown.map((one) => (one.kind === 'unread' ? one.why : one.kind));
  assert.deepEqual([first, dead], ['picture', say.notFetched]);
  const tooMany = Array.from({ length: 5 }, () => say.tooMany);
  assert.deepEqual(others, ['picture', 'picture', 'picture', ...tooMany]);
  assert.equal(fetched.length, 5);
  const none = await shownOf(all, () => true);
  assert.equal(none.fetched.length, 8, 'no more are tried');
});

test('what svc has no eyes for takes no place of a file', async () => {
  const videos = Array.from({ length: 9 }, (_, at) => mediaOf('video/mp4', at));
  const { shown } = await shownOf([...videos, mediaOf('text/plain', 9)], () => false);
  assert.equal(shown.at(-1)!.kind, 'text');
});
