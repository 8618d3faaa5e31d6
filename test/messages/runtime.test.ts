/** The runtime and its changing configurations: held-up work, broken ones, and the end. */
import { historyBounds } from '../../src/domain/conversation.ts';
import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { Brain } from '../../src/brains/brain.ts';
import type { Channel } from '../../src/channels/channel.ts';
import { revisionOf } from '../../src/config/inspect.ts';
import { failure } from '../../src/domain/failure.ts';
import { createIdSource, type ModelName } from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Stop } from '../../src/lib/stop.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import type { Durability, Ledger } from '../../src/ledger/ledger.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { until } from './messenger-house.ts';

const { now, steady } = systemClock;
const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });

/** A runtime on a ledger in memory, and its connections. */
function house(terms: Partial<Durability> = {}, retireGraceMs = 30_000) {
  const ledger = createMemoryLedger({ now, steady, ids });
  const durability = { ...ledger.durability, ...terms };
  Object.assign(ledger, { durability } satisfies Partial<Ledger>);
  const events = createEvents({ log, now, steady });
  const deps = { ledger, events, ids, now, steady, random: Math.random };
  const host = new Runtime(deps, { retireGraceMs });
  return { host, ledger, events, platform: new FakePlatform() };
}

const replied = (text: string) =>
  ({ kind: 'reply', text, model: 'test/test' as ModelName, why: 'only one' }) as const;

/** Answers with its own name. */
function prompt(name: string): Brain {
  const think = async () => replied(name);
  return {
    name,
    sensitivity: 'public',
    agent: null,
    budget: null,
    deadlineMs: 60_000,
    historyBounds,
    think,
  };
}

/** Does not answer before its turn is aborted, or not even then. */
function hanging(name: string, deaf = false) {
  const held: Stop[] = [];
  const brain: Brain = {
    name,
    sensitivity: 'public',
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 60_000,
    think: (_turn, { stop }) => {
      held.push(stop);
      return new Promise((resolve) => {
        if (!deaf) stop.listen(() => resolve(replied('never sent')));
      });
    },
  };
  return { brain, held };
}

function runningConfigOf(channel: Channel | null, brain: Brain): RunningConfig {
  const planned = channel === null ? [] : [routed('webhook', channel, brain)];
  return new RunningConfig(brain.name, planned, brainsByName(brain));
}

/** A channel that counts its openings and closings, and opens only when the test lets it. */
function doored(platform: FakePlatform) {
  const door = { opening: 0, closed: 0, open: () => {} };
  const opened = new Promise<void>((resolve) => (door.open = resolve));
  const channel: Channel = {
    ...platform.channel(),
    open: async () => {
      door.opening++;
      await opened;
      return platform.channel().open();
    },
    [Symbol.asyncDispose]: async () => void door.closed++,
  };
  return { door, channel };
}

test('of two plans given at once the later one stays, however slowly the first opens', async () => {
  const { host, platform } = house();
  const slow = doored(platform);
  const first = host.use(runningConfigOf(slow.channel, prompt('first')));
  const second = host.use(runningConfigOf(platform.channel(), prompt('second')));
  await turn();
  slow.door.open();
  assert.deepEqual(await Promise.all([first, second]), [null, null]);
  assert.equal(host.runningConfig?.revision, revisionOf('second'));
  await until(() => slow.door.closed === 1);
  await host.drain();
});

test('a configuration whose opening throws stops none that come after it', async () => {
  const { host, platform } = house();
  const broken = { ...platform.channel(), open: () => Promise.reject(new Error('a bug')) };
  await assert.rejects(host.use(runningConfigOf(broken, prompt('broken'))), /a bug/);
  assert.equal(await host.use(runningConfigOf(platform.channel(), prompt('good'))), null);
  await platform.say('ada', 'hello');
  await until(() => platform.delivered.length === 1);
  await host.drain();
});

test('a configuration that comes while the runtime drains is never opened', async () => {
  const { host, platform } = house();
  await host.use(runningConfigOf(platform.channel(), prompt('old')));
  const late = doored(platform);
  const used = host.use(runningConfigOf(late.channel, prompt('too late')));
  const drained = host.drain();
  assert.equal((await used)?.code, 'shutting_down');
  assert.equal((await drained).rows, 0);
  assert.equal(late.door.opening, 0);
  assert.equal(host.runningConfig?.revision, revisionOf('old'));
});

test('a drain gives up a configuration that never opens, and closes what opens late', async () => {
  const { host, platform } = house();
  await host.use(runningConfigOf(platform.channel(), prompt('old')));
  const slow = doored(platform);
  const used = host.use(runningConfigOf(slow.channel, prompt('too late')));
  await until(() => slow.door.opening === 1);
  assert.equal((await host.drain()).rows, 0);
  assert.equal((await used)?.code, 'shutting_down');
  assert.equal(slow.door.closed, 1);
  assert.equal(host.runningConfig?.revision, revisionOf('old'));
  slow.door.open();
  await until(() => slow.door.closed === 2);
});

test('a turn that hangs under the old configuration goes to the new one in time', async () => {
  const { host, ledger, platform } = house({}, 20);
  const stuck = hanging('stuck');
  await host.use(runningConfigOf(platform.channel(), stuck.brain));
  await platform.say('ada', 'one');
  await platform.say('ada', 'two');
  await until(() => stuck.held.length === 1);
  const attempts: number[] = [];
  const next = prompt('next');
  const claim = ledger.claim.bind(ledger);
  ledger.claim = (async (box: 'in', channel, n) => {
    const claims = await claim(box, channel, n);
    for (const one of claims) attempts.push(one.attempt);
    return claims;
  }) as typeof ledger.claim;
  await host.use(runningConfigOf(platform.channel(), next));
  await until(() => platform.delivered.length === 2);
  assert.ok(stuck.held[0]!.stopped);
  assert.deepEqual(
    platform.delivered.map(({ brain }) => brain),
    ['next', 'next'],
  );
  assert.deepEqual(new Set(attempts), new Set([1]), 'what was given back was no attempt');
  assert.equal((await host.drain()).rows, 0);
});

test('unless told otherwise, a turn under way has 30 s when a configuration comes', async (t) => {
  const { ledger, platform } = house();
  const events = createEvents({ log, now, steady });
  const host = new Runtime({ ledger, events, ids, now, steady, random: Math.random });
  const stuck = hanging('stuck');
  await host.use(runningConfigOf(platform.channel(), stuck.brain));
  await platform.say('ada', 'one');
  await until(() => stuck.held.length === 1);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await host.use(runningConfigOf(platform.channel(), prompt('next')));
  let seconds = 0;
  await until(() => {
    if (stuck.held[0]!.stopped) return true;
    t.mock.timers.tick(1_000);
    seconds++;
    return false;
  });
  // The configuration begins to wait some turns of the loop after its replacement.
  assert.ok(seconds >= 30, `${seconds} s`);
  t.mock.timers.reset();
  await host.drain();
});

test('a drain aborts what hangs under a configuration that was being retired', async () => {
  const graceMs = 100_000;
  const { host, platform } = house({ drainMs: 20 }, graceMs);
  const stuck = hanging('stuck');
  await host.use(runningConfigOf(platform.channel(), stuck.brain));
  await platform.say('ada', 'hello');
  await until(() => stuck.held.length === 1);
  await host.use(runningConfigOf(platform.channel(), prompt('next')));
  const startedAt = now();
  assert.equal((await host.drain()).rows, 1);
  assert.ok(now() - startedAt < graceMs, 'it did not wait for the grace of the swap');
});

test('a drain takes nothing in, and finishes what is in hand', async () => {
  const { host, platform } = house();
  let answer = (): void => {};
  const asked = new Promise<void>((resolve) => (answer = resolve));
  const think = async () => {
    await asked;
    return replied('in hand');
  };
  await host.use(runningConfigOf(platform.channel(), { ...prompt('slow'), think }));
  await platform.say('ada', 'one');
  const drained = host.drain();
  const late = await platform.say('bob', 'two');
  assert.equal(late.kind === 'refused' && late.reason, 'shutting_down');
  answer();
  assert.equal((await drained).rows, 0);
  assert.deepEqual(
    platform.delivered.map(({ text }) => text),
    ['in hand'],
  );
});

test('a drain waits for the turn of a channel that a swap took away', async () => {
  const { host, platform } = house();
  let answer: (() => void) | null = null;
  const brain: Brain = {
    ...prompt('slow'),
    think: () => new Promise((resolve) => (answer = () => resolve(replied('late')))),
  };
  await host.use(runningConfigOf(platform.channel(), brain));
  await platform.say('ada', 'hello');
  await until(() => answer !== null);
  await host.use(runningConfigOf(null, prompt('none')));
  const drained = host.drain();
  await turn();
  answer!();
  assert.equal((await drained).rows, 1, 'the turn is done; its reply has no way out');
});

test('work that heeds no signal does not hold up the end', async () => {
  const { host, platform } = house({ drainMs: 20 });
  const deaf = hanging('deaf', true);
  await host.use(runningConfigOf(platform.channel(), deaf.brain));
  await platform.say('ada', 'hello');
  await until(() => deaf.held.length === 1);
  assert.equal((await host.drain()).rows, 1);
});

test('rows of a channel that is gone wait, and go on in order when it is back', async () => {
  const { host, ledger, platform } = house({}, 20);
  const stuck = hanging('stuck');
  await host.use(runningConfigOf(platform.channel(), stuck.brain));
  const said = [await platform.say('ada', 'one'), await platform.say('ada', 'two')];
  await until(() => stuck.held.length === 1);
  await host.use(runningConfigOf(null, prompt('none')));
  await until(() => ledger.gauges().inboxClaimed === 0);
  const [waiting] = ledger.backlog();
  assert.deepEqual([waiting?.channel, waiting?.inbox, waiting?.outbox], ['webhook', 2, 0]);
  assert.ok(waiting!.unroutableSince !== null);
  assert.equal(ledger.gauges().unroutable, 2);
  await host.use(runningConfigOf(platform.channel(), prompt('back')));
  await until(() => platform.delivered.length === 2);
  assert.deepEqual(
    platform.delivered.map(({ inReplyTo }) => inReplyTo),
    said.map((one) => one.kind === 'accepted' && one.receipts[0]!.id),
  );
  assert.equal((await host.drain()).rows, 0);
});

test('what waits for a channel that is gone holds up no drain', async () => {
  const drainMs = 100_000;
  const { host, ledger, platform } = house({ drainMs }, 0);
  const stuck = hanging('stuck');
  await host.use(runningConfigOf(platform.channel(), stuck.brain));
  await platform.say('ada', 'one');
  await until(() => stuck.held.length === 1);
  await host.use(runningConfigOf(null, prompt('none')));
  await until(() => ledger.gauges().inboxClaimed === 0);
  const startedAt = now();
  assert.equal((await host.drain()).rows, 1);
  assert.ok(now() - startedAt < drainMs, 'it did not wait for what cannot be worked on');
});

/** The reply to a sender whose own turn met a bug of ours. */
const faultSentence = /^Sorry, something went wrong here/;

test('a brain that throws ends its own turn, and its sender is told', async () => {
  const { host, platform } = house();
  const brain: Brain = {
    ...prompt('well'),
    think: async ({ text }) => {
      if (text === 'one') throw new Error('a bug');
      return replied(text);
    },
  };
  await host.use(runningConfigOf(platform.channel(), brain));
  await platform.say('ada', 'one');
  await platform.say('ada', 'two');
  await until(() => platform.delivered.length === 2);
  assert.match(platform.delivered[0]!.text, faultSentence);
  assert.equal(platform.delivered[1]!.text, 'two');
  assert.equal((await host.drain()).rows, 0);
});

test('a delivery that throws is a dead letter, and the next one goes out', async () => {
  const { host, ledger, platform } = house();
  const channel = platform.channel();
  let tries = 0;
  const deliver: Channel['deliver'] = (reply, attempt, stop) => {
    if (tries++ === 0) throw new Error('a bug');
    return channel.deliver(reply, attempt, stop);
  };
  await host.use(runningConfigOf({ ...channel, deliver }, prompt('well')));
  await platform.say('ada', 'one');
  await platform.say('ada', 'two');
  await until(() => platform.delivered.length === 1);
  assert.equal((await host.drain()).rows, 0);
  assert.equal(ledger.gauges().deadLetters, 1);
});

test('an answer that cannot be cut is a fault of its own turn, and holds up nothing', async () => {
  const { host, ledger, platform } = house();
  const split = (text: string) => {
    if (text !== 'two') throw new Error('a bug');
    return [{ text: 't' }, { text: 'wo' }];
  };
  const echo: Brain = { ...prompt('echo'), think: async ({ text }) => replied(text) };
  await host.use(runningConfigOf({ ...platform.channel(), split }, echo));
  await platform.say('ada', 'one');
  await platform.say('ada', 'two');
  await until(() => platform.delivered.length === 3);
  const [sorry, ...parts] = platform.delivered.map(({ text }) => text);
  assert.match(sorry!, faultSentence);
  assert.deepEqual(parts, ['t', 'wo']);
  assert.equal(ledger.gauges().deadLetters, 1);
  assert.equal((await host.drain()).rows, 0);
});

test('what failed is told once the ledger has it, so that who hears it can read it', async () => {
  const { host, ledger, events, platform } = house({ drainMs: 20 });
  const seen: string[] = [];
  events.frames.onLiveEvent(() => {
    const { kind } = events.frames.at(events.frames.newest)!;
    const { deadLetters, outboxDeferred } = ledger.gauges();
    const known = `${deadLetters} dead, ${outboxDeferred} deferred`;
    if (kind === 'delivery_failed' || kind === 'dead_letter') seen.push(`${kind}: ${known}`);
  });
  const endings: Channel['deliver'][] = [
    async () => ({ kind: 'dead', failure: failure('gone') }),
    () => Promise.reject(new Error('a bug')),
    async () => ({ kind: 'retry', failure: failure('server_error'), mayHaveArrived: false }),
  ];
  for (const [index, deliver] of endings.entries()) {
    await host.use(runningConfigOf({ ...platform.channel(), deliver }, prompt(`plan ${index}`)));
    await platform.say(`of ${index}`, 'hello');
    await until(() => seen.length > index + 1);
  }
  assert.deepEqual(seen, [
    'delivery_failed: 1 dead, 0 deferred',
    'dead_letter: 1 dead, 0 deferred',
    'dead_letter: 2 dead, 0 deferred',
    'delivery_failed: 2 dead, 1 deferred',
  ]);
  await host.drain();
});
