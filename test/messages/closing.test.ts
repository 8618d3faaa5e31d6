/** Channels that do not close, or do not end: they keep nothing else from closing. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { Channel } from '../../src/channels/channel.ts';
import { createIdSource } from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { createLog } from '../../src/lib/log.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { echo } from './messenger-house.ts';

function house() {
  let written = '';
  const write = (part: Buffer, _encoding: string, done: () => void): void => {
    written += part.toString();
    done();
  };
  const log = createLog({ stream: new Writable({ write }), level: 'error', format: 'json' });
  const ids = createIdSource(Date.now, (bytes) => void crypto.getRandomValues(bytes));
  const ledger = createMemoryLedger({ ...systemClock, ids });
  const events = createEvents({ log, ...systemClock });
  const told = async (): Promise<string> => {
    await log.flush();
    return written;
  };
  return { host: new Runtime({ ledger, events, ids, ...systemClock, random: Math.random }), told };
}

const types = ['webhook', 'messenger_a', 'messenger_b'] as const;

/** @param change the differences of each of the three channels, by its type */
function runningConfigOf(change: (type: string) => Partial<Channel>): RunningConfig {
  const brain = echo('one');
  const channels = types.map((type) => {
    const channel: Channel = { ...new FakePlatform(type).channel(), ...change(type) };
    return routed(type, channel, brain);
  });
  return new RunningConfig('one', channels, brainsByName(brain));
}

test('a channel that fails to close keeps no other open, and each such fault is told', async () => {
  const { host, told } = house();
  const closed: string[] = [];
  const runningConfig = runningConfigOf((type) => ({
    async [Symbol.asyncDispose]() {
      closed.push(type);
      if (type !== 'webhook') throw new Error(`${type} stays`);
    },
  }));
  assert.equal(await host.use(runningConfig), null);
  await host.drain();
  assert.deepEqual(closed, types.toReversed());
  assert.match(await told(), /messenger_b stays[^]*messenger_a stays/);
});

test('a channel that throws as it opens, and the ones before it, are closed', async () => {
  const { host } = house();
  const closed: string[] = [];
  const runningConfig = runningConfigOf((type) => ({
    ...(type === 'messenger_a' && { open: () => Promise.reject(new Error('no library')) }),
    [Symbol.asyncDispose]: async () => void closed.push(type),
  }));
  await assert.rejects(host.use(runningConfig), /no library/);
  assert.deepEqual(closed, ['messenger_a', 'webhook']);
  await host.drain();
});

test('a channel whose run does not end is told, and keeps nothing else from closing', async (t) => {
  const { host, told } = house();
  const closed: string[] = [];
  let running = 0;
  const run = (): Promise<void> => {
    running++;
    return new Promise(() => {});
  };
  const runningConfig = runningConfigOf((type) => ({
    ...(type === 'messenger_a' && { run }),
    [Symbol.asyncDispose]: async () => void closed.push(type),
  }));
  assert.equal(await host.use(runningConfig), null);
  assert.equal(running, 1);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const drained = host.drain();
  while (closed.length < types.length) {
    await turn();
    t.mock.timers.tick(100);
  }
  await drained;
  assert.match(await told(), /in ending messenger_a/);
});

test('a connection whose run does not end keeps the next one from beginning for 5 s', async (t) => {
  const { host, told } = house();
  const begun: string[] = [];
  const hung = (): Promise<void> => {
    begun.push('old');
    return new Promise(() => {});
  };
  const run: Channel['run'] = (_receive, signal) => {
    begun.push('new');
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
  };
  /** Two connections to one account must not be open at once. */
  const sameAs = (): boolean => false;
  const messenger = (change: Partial<Channel>): RunningConfig =>
    runningConfigOf((type) => (type === 'messenger_a' ? { sameAs, ...change } : {}));
  await host.use(messenger({ run: hung }));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await host.use(messenger({ run }));
  t.mock.timers.tick(4_999);
  await turn();
  assert.deepEqual(begun, ['old']);
  t.mock.timers.tick(1);
  await turn();
  assert.deepEqual(begun, ['old', 'new']);
  t.mock.timers.reset();
  await host.drain();
  assert.equal((await told()).match(/in ending messenger_a/g)?.length, 1);
});
