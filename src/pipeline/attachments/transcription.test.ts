/** How long a transcription may take, and which sentence a person gets when there is none. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import type { Attachment, Unread } from '../../domain/attachment.ts';
import { failure } from '../../domain/failure.ts';
import type { Media, Message } from '../../domain/message.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { Stopper } from '../../lib/stop.ts';
import type { Speech, Transcript } from './speech/speech.ts';
import type { PipelineTurnContext } from '../turn-context.ts';
import type { ActiveRoute, Deps } from '../deps.ts';
import { readAttachments } from './reading.ts';
import { unreadSentences as say } from '../sentences.ts';

const voice: Media = { type: 'audio/ogg', reference: 'voice', file: 'voice', bytes: 100 };
const note: Media = { type: 'text/plain', reference: 'note', file: 'note', bytes: 100 };

/** A turn of that length whose speech server is `transcribe`. */
function stage(transcribe: Speech['transcribe'], turnMs = 600_000) {
  const clock = handClock();
  const stop = new Stopper();
  const [fileBytes, spokenBytes] = [new ByteSemaphore(100), new ByteSemaphore(100)];
  const told: string[] = [];
  const events = {
    attachmentUnread: ({ part, reason }: Unread) => void told.push(`${part} ${reason}`),
  };
  const deps = { ...clock, events, fileBytes, spokenBytes } as unknown as Deps;
  const route = {
    channel: { fetch: async () => ({ kind: 'fetched', bytes: Buffer.from('words') }) },
    brain: { sensitivity: 'public' },
    speech: { transcribe },
  } as unknown as ActiveRoute;
  const read = async (media: Media): Promise<Attachment> => {
    const sender = { id: '1', name: null };
    const message = { sensitivity: 'public', sender, media, text: '' } as unknown as Message;
    const deadlineAt = clock.in(turnMs);
    const turnContext = { stop, deadlineAt, addStep: () => {} } as unknown as PipelineTurnContext;
    return (await readAttachments(deps, route, message, [media], turnContext))![0]!;
  };
  return { clock, stop, read, told };
}

const heard: Transcript = { kind: 'heard', text: 'buy milk' };
const hangs: Speech['transcribe'] = (_, stop) =>
  new Promise((resolve) => {
    stop.listen(() => resolve({ kind: 'failed', failure: failure('cancelled') }));
  });

/** Waits for everything that happens without time passing. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
}

function withoutTime({ mock }: TestContext): (ms: number) => Promise<void> {
  mock.timers.enable({ apis: ['setTimeout'] });
  return async (ms) => {
    await settle();
    mock.timers.tick(ms);
    await settle();
  };
}

for (const [turnMs, expectedMs] of [
  [600_000, 300_000],
  [20_000, 10_000],
] as const) {
  test(`of a turn of ${turnMs} ms half may be spent on what is spoken`, async () => {
    let leftMs = 0;
    const { clock, read } = stage(async ({ deadlineAt }) => {
      leftMs = deadlineAt - clock.steady();
      return heard;
    }, turnMs);
    assert.equal((await read(voice)).kind, 'spoken');
    assert.equal(leftMs, expectedMs);
  });
}

test('a voice message is written down for longer than other files are read', async (t) => {
  const pass = withoutTime(t);
  const said = Promise.withResolvers<Transcript>();
  let isStopped = (): boolean => true;
  const { read } = stage((_, stop) => ((isStopped = () => stop.stopped), said.promise));
  const reading = read(voice);
  await pass(290_000);
  assert.equal(isStopped(), false);
  said.resolve(heard);
  assert.deepEqual(await reading, { kind: 'spoken', name: 'voice', text: 'buy milk' });
});

test('one that takes longer is told so, and not that nobody listens', async (t) => {
  const pass = withoutTime(t);
  const { read, told } = stage(hangs);
  const reading = read(voice);
  await pass(301_000);
  assert.deepEqual(await reading, { kind: 'unread', name: 'voice', why: say.notInTime });
  assert.deepEqual(told, ['speech timeout']);
});

test('what the speech server itself cannot do in time is told so, too', async () => {
  const late: Transcript = { kind: 'failed', failure: failure('timeout') };
  const { read } = stage(async () => late);
  assert.deepEqual(await read(voice), { kind: 'unread', name: 'voice', why: say.notInTime });
});

for (const kind of ['overloaded', 'connect_failed'] as const) {
  test(`a speech server that fails once with ${kind} is asked again`, async (t) => {
    const pass = withoutTime(t);
    let tries = 0;
    const { read } = stage(async () => {
      return ++tries === 1 ? { kind: 'failed', failure: failure(kind) } : heard;
    });
    const reading = read(voice);
    await pass(500);
    assert.equal((await reading).kind, 'spoken');
  });
}

test('one that is away is asked three times, and told as away', async (t) => {
  const pass = withoutTime(t);
  let tries = 0;
  const { read, told } = stage(async () => {
    tries++;
    return { kind: 'failed', failure: failure('connect_failed') };
  });
  const reading = read(voice);
  await pass(500);
  await pass(1_000);
  assert.deepEqual(await reading, { kind: 'unread', name: 'voice', why: say.notHeard });
  assert.equal(tries, 3);
  assert.deepEqual(told, ['speech connect_failed'], 'told once');
});

test('once svc stops, it waits for no speech server', async () => {
  const { read, stop, told } = stage(hangs);
  const reading = read(voice);
  await settle();
  stop.stop();
  assert.equal((await reading).kind, 'unread');
  assert.deepEqual(told, [], 'nothing has failed: it is read again');
});

test('a speech server that hangs holds up no other file', async () => {
  const { read, stop } = stage(hangs);
  const reading = read(voice);
  await settle();
  assert.equal((await read(note)).kind, 'text');
  stop.stop();
  await reading;
});
