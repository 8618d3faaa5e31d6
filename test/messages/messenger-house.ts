/** A runtime with one messenger, on either backend of the ledger. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { steadyNow } from '../../src/lib/clock.ts';
import type { Brain } from '../../src/brains/brain.ts';
import type { Channel } from '../../src/channels/channel.ts';
import type { AccessConfig, SessionConfig } from '../../src/config/config.ts';
import {
  createIdSource,
  type ChannelKey,
  type ConversationId,
  type ModelName,
} from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { Runtime, type RuntimeOptions } from '../../src/app/runtime.ts';
import { createLog } from '../../src/lib/log.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { openSqliteLedger } from '../../src/ledger/sqlite/sqlite.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { brainsByName, routed } from '../fake/channel.ts';
import { FakeMessenger } from '../fake/messenger.ts';
import { until as waitUntil } from '../support/waiting.ts';

const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });

/** Answers with its own name and the question. */
export function echo(name: string): Brain {
  return {
    name,
    sensitivity: 'public',
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 60_000,
    think: async ({ text }) => {
      const model = 'test/test' as ModelName;
      return { kind: 'reply', text: `${name}: ${text}`, model, why: 'only one' };
    },
  };
}

/** A clock that tests may set forward. */
export type Clock = { now: number };

export function openHouse(ledger: Ledger, clock: Clock, options: Partial<RuntimeOptions> = {}) {
  const now = (): number => clock.now;
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const events = createEvents({ log, now, steady: steadyNow });
  const deps = { ledger, events, ids, now, steady: steadyNow, random: Math.random };
  const host = new Runtime(deps, options);
  const messenger = new FakeMessenger();
  return { host, messenger, meters: events.meters };
}

export function openMemory(clock: Clock): Ledger {
  const now = (): number => clock.now;
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  return createMemoryLedger({ now, steady: steadyNow, ids });
}

export async function openStorage(folder: string, clock: Clock): Promise<Ledger> {
  const now = (): number => clock.now;
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const path = join(folder, 'svc.db');
  const ledger = await openSqliteLedger({ path, now, steady: steadyNow, ids, retentionDays: 30 });
  assert.ok(!('kind' in ledger));
  return ledger;
}

export function runningConfigOf(
  channel: Channel,
  brain: Brain,
  access: AccessConfig | null,
  session: SessionConfig | null = null,
): RunningConfig {
  const planned = routed('messenger_a', channel, brain, { session, access });
  return new RunningConfig(brain.name, [planned], brainsByName(brain));
}

/** The welcome of a newly admitted person, where they can be reached. */
export function welcomeOn(channel: ChannelKey) {
  return {
    channel,
    conversation: '5' as ConversationId,
    address: { channel, target: '5' },
    sender: { id: '5', name: null },
    text: '',
    media: null,
    dedupeKey: null,
    welcome: true,
  } as const;
}

export const until = (done: () => boolean): Promise<void> => waitUntil(String(done), done);
