/** When svc publishes its commands: once, as soon as it can, and not again after a refusal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handClock } from '../../../test/support/hand-clock.ts';
import { NotingLedger } from '../../../test/fake/discord-bench.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import { CommandMenu, type MenuOutcome } from './command-menu.ts';

const away: MenuOutcome = { kind: 'away', retryAfterMs: null };

function start(...answers: MenuOutcome[]) {
  const clock = handClock();
  const { events, calls } = noteEvents();
  const outcome: string[] = [];
  const menu = new CommandMenu({
    publish: async ({ commands }) => {
      outcome.push(commands.map(({ word }) => word).join());
      return answers.shift() ?? { kind: 'there' };
    },
    events,
    steady: clock.steady,
  });
  menu.begin(new NotingLedger().receive);
  const offer = (word: string): void =>
    menu.offer({ commands: [{ word, description: word, takesText: false }], own: new Set() });
  const rest = (): Promise<void> => new Promise((next) => setImmediate(next));
  const after = async (ms: number): Promise<number> => {
    clock.pass(ms);
    menu.platformAnswered();
    await rest();
    return outcome.length;
  };
  return { menu, outcome, calls, offer, rest, after };
}

test('what the platform has is not told again', async () => {
  const it = start();
  for (const word of ['new', 'new', 'help']) {
    it.offer(word);
    await it.rest();
  }
  assert.deepEqual(it.outcome, ['new', 'help']);
  assert.equal(await it.after(3_600_000), 2);
});

test('where the platform was away it is told when the channel is up', async () => {
  const it = start(away);
  it.offer('new');
  await it.rest();
  it.menu.up();
  await it.rest();
  it.menu.up();
  await it.rest();
  assert.deepEqual(it.outcome, ['new', 'new']);
});

test('what fails beside a channel that is up is tried less and less often', async () => {
  const it = start(away, away, { kind: 'away', retryAfterMs: 60_000 });
  it.offer('new');
  await it.rest();
  assert.equal(await it.after(4_000), 1);
  assert.equal(await it.after(1_000), 2);
  assert.equal(await it.after(9_000), 2);
  assert.equal(await it.after(1_000), 3);
  assert.equal(await it.after(59_000), 3);
  assert.equal(await it.after(1_000), 4);
  assert.equal(await it.after(3_600_000), 4, 'it is there');
});

test('while the platform names the time of the next try, the pauses do not grow', async () => {
  const limit: MenuOutcome = { kind: 'away', retryAfterMs: 20_000 };
  const it = start(...Array.from({ length: 19 }, () => limit));
  it.offer('new');
  await it.rest();
  for (let tries = 2; tries <= 20; tries++) assert.equal(await it.after(20_000), tries);
  assert.equal(await it.after(3_600_000), 20, 'it is there');
});

test('what was offered while it was told comes after it', async () => {
  const it = start(away);
  it.offer('new');
  it.offer('help');
  await it.rest();
  assert.deepEqual(it.outcome, ['new', 'help']);
  assert.equal(await it.after(3_600_000), 2);
});

test('what is refused is logged, and told again with the next offer alone', async () => {
  const message = 'it refused them; do this';
  const it = start({ kind: 'refused', message });
  it.offer('new');
  await it.rest();
  assert.deepEqual(it.calls, [['warned', { code: 'commands_refused', message }]]);
  it.menu.up();
  assert.equal(await it.after(3_600_000), 1);
  it.offer('new');
  await it.rest();
  assert.deepEqual(it.outcome, ['new', 'new']);
});
