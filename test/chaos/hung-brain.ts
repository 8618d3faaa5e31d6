/**
 * A channel with a hung brain, beside one whose brain answers at once. Each has its own worker
 * pools and slots in one runtime on one ledger, so the second must not notice the first.
 */
import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../src/lib/clock.ts';
import type { Brain } from '../../src/brains/brain.ts';
import type { Channel } from '../../src/channels/channel.ts';
import { createIdSource, type ModelName } from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { createLog } from '../../src/lib/log.ts';
import { RunningConfig } from '../../src/app/running-config.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import {
  memoryBackend,
  openSound,
  sqliteBackend,
  type Backend,
} from '../contract/ledger/backends.ts';
import { brainsByName, FakePlatform, routed } from '../fake/channel.ts';
import { percentile } from './outside.ts';
import { seeded, type Proof } from './proof.ts';
import { patienceMs, until, within } from '../support/waiting.ts';

const conversations = 2_000;
/** Messages come in rounds, so that a stall of the machine spoils one round and not the figure. */
const perRound = 50;
/** All messages of a round are sent within this time. */
const betweenMs = 100;
/** The delay is judged at the largest size only, where the machine does nothing else. */
export const delayMsMax = 50;
const sizes = { change: 1_000, nightly: 5_000 } as const;

export const hungBrain: Proof = {
  name: 'hung-brain',
  title: `${conversations} conversations on a hung brain delay no other channel`,
  unit: 'messages',
  sizes,
  async run(count, seed, say) {
    const figures: Record<string, number> = {};
    const most = count >= sizes.nightly ? delayMsMax : Infinity;
    for (const backend of [memoryBackend, sqliteBackend]) {
      const name = backend.durable ? 'sqlite' : 'memory';
      const { quiet, hung } = await measure(backend, count, seeded(seed));
      const delayMs = Math.max(0, hung - quiet);
      say(`${name}: p99 ${quiet.toFixed(2)} ms, beside a hung brain ${hung.toFixed(2)} ms`);
      figures[`ms p99 without (${name})`] = rounded(quiet);
      figures[`ms p99 beside it (${name})`] = rounded(hung);
      assert.ok(delayMs < most, `${name}: a message was delayed by ${delayMs} ms`);
    }
    return { kind: 'proved', figures: { messages: 4 * count, ...figures } };
  },
};

const rounded = (ms: number): number => Math.round(ms * 100) / 100;

/** The 99th percentiles from message to reply: first alone, then beside the hung brain. */
async function measure(backend: Backend, count: number, random: () => number) {
  await using bench = await openSound(backend)({});
  const { ledger } = bench;
  const [slow, quick] = [new FakePlatform('stuck'), new FakePlatform('quick')];
  const hanging = hangingBrain();
  const accepting = new Arrivals();
  const host = hostOn(ledger);
  const channels = [
    routed('webhook', slow.channel(), hanging.brain),
    routed('webhook', accepting.watch(quick.channel()), echo),
  ];
  const brains = brainsByName(hanging.brain, echo);
  assert.equal(await host.use(new RunningConfig('one', channels, brains)), null);
  try {
    await talk(quick, accepting, Math.min(count, 200), random);
    const quiet = await talk(quick, accepting, count, random);
    const said = Array.from({ length: conversations }, (_, i) => slow.say(`stuck ${i}`, 'hello'));
    await Promise.all(said);
    const stuck = (): number => ledger.gauges().inboxClaimed + ledger.gauges().inboxWaiting;
    await until('the slots are full', () => hanging.held() === 1_000);
    assert.equal(stuck(), conversations);
    const hung = await talk(quick, accepting, count, random);
    assert.equal(stuck(), conversations, 'nobody of the hung brain was answered or lost');
    assert.equal(slow.delivered.length, 0);
    return { quiet, hung };
  } finally {
    await host.drain();
  }
}

/** @returns the median, over rounds, of the slowest of a hundred; milliseconds */
export async function talk(
  platform: FakePlatform,
  accepting: Arrivals,
  count: number,
  random: () => number,
): Promise<number> {
  const rounds: number[] = [];
  for (let said = 0; said < count; said += perRound) {
    const tookMs = await Promise.all(
      Array.from({ length: perRound }, async () => {
        await pause(random() * betweenMs);
        const startedAt = performance.now();
        const acceptance = await platform.say(`c${Math.floor(random() * 1e9)}`, 'hello');
        assert.ok(acceptance.kind === 'accepted');
        return (await accepting.of(acceptance.receipts[0]!.id)) - startedAt;
      }),
    );
    rounds.push(percentile(tookMs, 0.99));
  }
  return percentile(rounds, 0.5);
}

/** The times at which replies arrived; `of` may be called before or after. */
export class Arrivals {
  readonly #of = new Map<string, PromiseWithResolvers<number>>();

  watch(channel: Channel): Channel {
    const deliver: Channel['deliver'] = async (reply, attempt, stop) => {
      const outcome = await channel.deliver(reply, attempt, stop);
      this.#at(reply.inReplyTo).resolve(performance.now());
      return outcome;
    };
    return { ...channel, deliver };
  }

  of(id: string): Promise<number> {
    return within('an answer beside the hung brain', this.#at(id).promise);
  }

  #at(id: string): PromiseWithResolvers<number> {
    const known = this.#of.get(id) ?? Promise.withResolvers<number>();
    this.#of.set(id, known);
    return known;
  }
}

const replied = (text: string) =>
  ({ kind: 'reply', text, model: 'test/test' as ModelName, why: 'only one' }) as const;

export const echo: Brain = {
  name: 'echo',
  sensitivity: 'public',
  agent: null,
  budget: null,
  historyBounds: { turns: 40, characters: 16_000 },
  deadlineMs: patienceMs,
  think: async ({ text }) => replied(text),
};

/** A brain that answers only once its turn is aborted. */
function hangingBrain() {
  let held = 0;
  const brain: Brain = {
    name: 'hung',
    sensitivity: 'public',
    agent: null,
    budget: null,
    historyBounds: { turns: 40, characters: 16_000 },
    deadlineMs: 10 * patienceMs,
    think: (_turn, { stop }) => {
      held++;
      return new Promise((resolve) => {
        stop.listen(() => resolve(replied('never sent')));
      });
    },
  };
  return { brain, held: () => held };
}

export function hostOn(ledger: Ledger): Runtime {
  const durability = { ...ledger.durability, drainMs: 0 };
  Object.assign(ledger, { durability } satisfies Partial<Ledger>);
  const { now, steady } = systemClock;
  const log = createLog({ stream: process.stderr, level: 'error', format: 'text' });
  const ids = createIdSource(now, (bytes) => void randomFillSync(bytes));
  const events = createEvents({ log, now, steady });
  return new Runtime({ ledger, events, ids, now, steady, random: Math.random });
}
