/** A new configuration under load: nothing is lost, repeated or out of order. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { Brain } from '../../src/brains/brain.ts';
import { createIdSource, type ModelName } from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import type { Deps } from '../../src/pipeline/deps.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { createLog } from '../../src/lib/log.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { scratch } from '../support/program.ts';

const conversations = 50;
const messagesEach = 20;
const runningConfigs = 20;

const { now, steady } = systemClock;
const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));

/** Answers with its own name and the text, some turns of the loop later. */
function brain(name: string): Brain {
  return {
    name,
    sensitivity: 'public',
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 60_000,
    async think(turn) {
      for (let i = 0; i < 5; i++) await new Promise(setImmediate);
      return { kind: 'reply', text: turn.text, model: 'test/test' as ModelName, why: 'only one' };
    },
  };
}

function runningConfig(platform: FakePlatform, number: number, broken = false): RunningConfig {
  const problem = { kind: 'problem', code: 'broken', message: 'made to fail' } as const;
  const channel = platform.channel(broken ? problem : null);
  const mind = brain(`brain-${number}`);
  const planned = routed('webhook', channel, mind);
  return new RunningConfig(String(number), [planned], brainsByName(mind));
}

async function swapUnderLoad(ledger: Ledger): Promise<void> {
  const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });
  const events = createEvents({ log, now, steady });
  const deps: Omit<Deps, 'approvals' | 'fileBytes' | 'spokenBytes'> = {
    ledger,
    events,
    ids,
    now,
    steady,
    random: Math.random,
  };
  const host = new Runtime(deps);
  const platform = new FakePlatform();
  assert.equal(await host.use(runningConfig(platform, 0)), null);

  const expected = conversations * messagesEach;
  const speak = async (conversation: string): Promise<void> => {
    for (let i = 0; i < messagesEach; i++) {
      const acceptance = await platform.say(conversation, String(i));
      assert.equal(acceptance.kind, 'accepted');
      await new Promise(setImmediate);
    }
  };
  const speaking = Promise.all(Array.from({ length: conversations }, (_, i) => speak(`c${i}`)));
  for (let number = 1; number <= runningConfigs; number++) {
    const aim = (expected * number) / (runningConfigs + 2);
    while (platform.delivered.length < aim) await new Promise(setImmediate);
    const broken = number % 5 === 0;
    const problem = await host.use(runningConfig(platform, number, broken));
    assert.equal(problem !== null, broken);
  }
  await speaking;
  while (platform.delivered.length < expected) await new Promise(setImmediate);
  assert.equal((await host.drain()).rows, 0);

  const texts = new Map<string, string[]>();
  for (const { conversation, text } of platform.delivered) {
    texts.set(conversation, [...(texts.get(conversation) ?? []), text]);
  }
  const inOrder = Array.from({ length: messagesEach }, (_, i) => String(i));
  assert.equal(texts.size, conversations);
  for (const said of texts.values()) assert.deepEqual(said, inOrder);
  const brains = new Set(platform.delivered.map((reply) => reply.brain));
  assert.ok(brains.size > runningConfigs / 2, `${brains.size} plans were really used`);
  assert.ok(!brains.has('brain-5'), 'a plan that did not open is never used');
}

test('20 new plans under load, 4 of them broken: 0 lost, repeated, reordered (memory)', () =>
  swapUnderLoad(createMemoryLedger({ now, steady, ids })));

test('the same on SQLite: 0 lost, repeated, reordered', async () => {
  await using folder = await scratch();
  const path = join(folder.path, 'svc.db');
  const ledger = await openSqliteLedger({ path, now, steady, ids, retentionDays: 30 });
  assert.ok(!('kind' in ledger));
  await swapUnderLoad(ledger);
});
