/** A session takes answers to the current page only, and reveals no secret. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usualPlace } from './document.ts';
import { openSetup, type SecretValues, type SetupWorld } from './session.ts';
import type { SetupSession } from './setup.ts';
import type { Effect, EffectResult, TokenFound } from './state.ts';

const canary = 'a-canary-that-nobody-may-see';

/** A world in which every effect succeeds. */
class KindWorld implements SetupWorld {
  readonly served = new Promise<never>(() => {});
  readonly acts: Effect['kind'][] = [];
  readonly signals: AbortSignal[] = [];
  token: TokenFound = { kind: 'none' };
  secretValues: SecretValues = new Map();
  /** Effects of this kind last until nobody waits for them. */
  hangs: Effect['kind'] | null = null;

  async act(
    effect: Effect,
    secretValues: SecretValues,
    signal: AbortSignal,
  ): Promise<EffectResult> {
    this.acts.push(effect.kind);
    this.signals.push(signal);
    this.secretValues = secretValues;
    if (effect.kind === this.hangs) return aborted(signal);
    switch (effect.kind) {
      case 'look_at_file':
        return { of: 'look_at_file', file: { kind: 'absent', path: 'svc.json' } };
      case 'look_for_models':
        return { of: 'look_for_models', models: { near: [], empty: [], keyed: [] } };
      case 'ask_model':
        return { of: 'ask_model', outcome: { kind: 'answer', text: 'Hello.', ms: 1 } };
      case 'identify': {
        const isPasted = secretValues.size > 0;
        return { of: 'identify', token: isPasted ? this.token : { kind: 'none' } };
      }
      case 'look_at_place':
        return { of: 'look_at_place', place: { ...usualPlace, keychain: 'ready' } };
      case 'write':
      case 'start':
      case 'hear':
      case 'let_in':
        throw new Error(`nobody asked for ${effect.kind}`);
      default:
        return effect satisfies never;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('it was given up')));
  });
}

/** Waits for a page with this choice, and takes it. */
async function take(session: SetupSession, choice: string, fields = {}): Promise<void> {
  while (!session.page.choices.some(({ id }) => id === choice)) {
    await session.changed(session.revision);
  }
  assert.equal(session.answer({ choice, fields }, session.revision), 'taken');
}

async function toToken(session: SetupSession): Promise<void> {
  await take(session, 'practice');
  await take(session, 'next');
  await take(session, 'messenger_a');
}

test('an answer that the page of now does not offer changes nothing', async () => {
  await using session = openSetup(new KindWorld());
  await take(session, 'again');
  const { revision } = session;
  assert.equal(session.answer({ choice: 'again', fields: {} }, revision - 1), 'stale');
  assert.equal(session.answer({ choice: 'start', fields: {} }, revision), 'not_offered');
  assert.equal(session.revision, revision);
});

test('a field that is needed may not be empty, nor longer than it may be', async () => {
  await using session = openSetup(new KindWorld());
  await toToken(session);
  while (session.page.fields.length === 0) await session.changed(session.revision);
  for (const value of ['', '   ', 'x'.repeat(4_097)]) {
    const answer = { choice: 'paste', fields: { TELEGRAM_TOKEN: value } };
    assert.equal(session.answer(answer, session.revision), 'not_offered');
  }
  assert.equal(session.answer({ choice: 'paste', fields: {} }, session.revision), 'not_offered');
});

test('what was pasted is in no page, and is forgotten once it counts no more', async () => {
  const world = new KindWorld();
  world.token = { kind: 'known', source: 'pasted', id: '1', name: '@bot' };
  await using session = openSetup(world);
  const pages: string[] = [];
  const walk = async (choice: string, fields = {}): Promise<void> => {
    await take(session, choice, fields);
    pages.push(JSON.stringify(session.page));
    while (session.page.work !== null) await session.changed(session.revision);
    pages.push(JSON.stringify(session.page));
  };
  await toToken(session);
  await walk('paste', { TELEGRAM_TOKEN: ` ${canary}\n` });
  await walk('next');
  assert.equal(world.secretValues.get('TELEGRAM_TOKEN'), canary);
  await walk('keychain');
  await walk('pairing');
  assert.ok(pages.length > 5);
  assert.ok(!pages.join('').includes(canary));
  for (let step = 0; step < 4; step++) await take(session, 'back');
  assert.equal(session.page.step, 'channel');
  assert.deepEqual([...world.secretValues], []);
});

test('leaving gives up what goes on, and ends the session', async () => {
  const world = new KindWorld();
  world.hangs = 'ask_model';
  await using session = openSetup(world);
  await take(session, 'practice');
  await take(session, 'leave');
  assert.equal(world.signals.at(-1)!.aborted, true);
  assert.deepEqual(await session.ended, { kind: 'left' });
});

test('a fault of svc itself ends the session, and is told', async () => {
  const world = new KindWorld();
  await using session = openSetup(world);
  await take(session, 'practice');
  await take(session, 'next');
  await take(session, 'webhook');
  await take(session, 'by_hand', { WEBHOOK_SECRET: '' });
  await take(session, 'write');
  const end = await session.ended;
  assert.ok(end.kind === 'failed' && /nobody asked for write/.test(end.message));
});
