/**
 * Budgets under everything that could let a call bypass them: models asked together, retries,
 * agents, trials, kills, and two processes with one budget. The counts of svc must agree with the
 * counts of the providers.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { noPostgres } from '../fake/postgres.ts';
import { startReceiver } from '../fake/receiver.ts';
import { scratch } from '../support/program.ts';
import { seeded, together, type Proof, type Proved } from './proof.ts';
import { Bill, callKey, type Killed } from './spend/bill.ts';
import { brainOf, documentOf, kinds, type BrainFacts, type Kind } from './spend/brains.ts';
import { Deployment, type Backend, type SpendLine } from './spend/deployment.ts';
import { Fitting } from './spend/fitting.ts';
import { People, type Turn } from './spend/people.ts';
import { Providers } from './spend/provider.ts';
import { patienceMs, until, untilAll } from '../support/waiting.ts';

/** The number of messages under way at once; more are written before the first kill. */
const atOnce = 10;
const calmShare = 0.4;

/** After this time without a call, a kill waits no more for one. */
const calmMs = 400;
/** The longest delay of a kill. */
const laterMs = 20;

type Cell = { readonly backend: Backend; readonly kind: Kind };
type Figures = Extract<Proved, { kind: 'proved' }>['figures'];

const sizes = { change: 480, nightly: 10_000 } as const;
/** The longest time of a free model's call until svc has written its usage. */
const gatheredMs = { alone: 3_000, crowded: patienceMs } as const;

export const spend: Proof = {
  name: 'spend',
  title:
    'Fan-out, retries, agents, consensus and trials at once on budgets that are used up, with ' +
    'SIGKILL, and two svc on one budget: no call that does not fit, what svc counts is what the ' +
    'providers count, and everybody has a reply',
  unit: 'messages',
  sizes,
  async run(count, seed, say) {
    const cells = all.filter(({ backend }) => backend !== 'postgres' || noPostgres === false);
    const sums: Record<string, number> = {};
    const rest = cells.entries();
    const work = async (): Promise<void> => {
      for (const [at, cell] of rest) {
        const counts = await proveCell(cell, count, seeded(seed + at));
        for (const [name, figure] of Object.entries(counts)) {
          sums[name] = (sums[name] ?? 0) + Number(figure);
        }
        say(`${cell.kind} on ${cell.backend}: ${counts['calls']} calls, ${counts['kills']} kills`);
      }
    };
    await together([work, work]);
    const skipped = cells.length < all.length ? { 'without PostgreSQL': String(noPostgres) } : {};
    return { kind: 'proved', figures: { ...sums, ...skipped } };
  },
};

const backends = ['memory', 'sqlite', 'postgres'] as const;
/** Each brain on each backend. */
const all: readonly Cell[] = backends.flatMap((backend) =>
  kinds.map((kind) => ({ backend, kind })),
);

async function proveCell(cell: Cell, count: number, random: () => number): Promise<Figures> {
  const { backend, kind } = cell;
  const messages = Math.ceil(count / all.length);
  const brain = brainOf(kind, messages);
  await using folder = await scratch();
  await using receiver = await startReceiver();
  await using providers = await Providers.start(random);
  const document = documentOf(brain, { hosted: providers.hosted.url, local: providers.local.url });
  const place = { backend, folder: folder.path, brain: document, receiverUrl: receiver.url };
  await using deployment = await Deployment.start(place);
  const fitting = new Fitting(brain);
  providers.onCall = (call) => fitting.came(call);
  using people = new People(deployment, receiver, random);
  const gathered = count >= sizes.nightly ? gatheredMs.alone : gatheredMs.crowded;
  const stage = { brain, deployment, providers, people, random, gatheredMs: gathered };
  const calm = backend === 'memory' ? messages : Math.ceil(messages * calmShare);
  try {
    await people.write(calm, atOnce);
    await assertCounted(stage);
    const kills = backend === 'memory' ? [] : await strike(stage, messages - calm);
    fitting.assertFitted();
    const last =
      backend === 'memory' ? await assertCounted(stage) : await assertEnded(stage, kills);
    const replies = judged(brain, people.turns);
    const { exact, uncertain } = last;
    const { length: calls } = providers.calls;
    return { ...replies, calls, 'counted exactly': exact, uncertain, kills: kills.length };
  } catch (error) {
    const about = `${kind} on ${backend}: ${(error as Error).message}`;
    throw new Error(`${about}\nit has written\n${deployment.logs()}`, { cause: error });
  }
}

type Stage = {
  readonly brain: BrainFacts;
  readonly deployment: Deployment;
  readonly providers: Providers;
  readonly people: People;
  readonly random: () => number;
  readonly gatheredMs: number;
};

/** Before any kill: nothing stays reserved, and every answered call is counted. */
async function assertCounted({ brain, deployment, providers, people }: Stage): Promise<Bill> {
  const bill = new Bill(brain, providers.calls, people.turns, { kills: [], gatheredMs: 0 });
  let lines: readonly SpendLine[] = [];
  let senders: readonly SpendLine[] = [];
  await until('what was given up is settled, and what was free is written', async () => {
    lines = await deployment.spent('model');
    senders = await deployment.spent('sender');
    const isSettled = lines.every(({ open }) => open.input + open.output === 0);
    return isSettled && bill.isWritten(lines, senders);
  });
  bill.assertModels(lines, true);
  bill.assertSenders(senders);
  bill.assertBudgets(lines, senders);
  return bill;
}

/** Sends messages, while one process after the other is killed and started again. */
async function strike(stage: Stage, messages: number): Promise<readonly Killed[]> {
  const { deployment, providers, people, random } = stage;
  const kills: Killed[] = [];
  const before = people.answered;
  const many = Math.max(2, Math.min(20, Math.floor(messages / 15)));
  const writing = people.write(messages, atOnce);
  const over = writing.catch(() => {});
  for (let at = 0; at < many; at++) {
    const due = before + Math.floor((messages * at) / many);
    const ripe = untilAll(due, () => people.answered);
    await Promise.race([ripe, over]);
    // In the middle of a turn, as long as some turns ask a model.
    await Promise.race([providers.nextCall(), over, pause(calmMs)]);
    await pause(random() * laterMs);
    const index = at % deployment.instances.length;
    await deployment.kill(index, () => {
      const open = providers.calls.filter(({ state }) => state === 'open');
      const turns = people.pending.map(({ marker }) => marker);
      kills.push({ at: Date.now(), turns, calls: new Set(open.map(callKey)) });
    });
    await deployment.begin(index);
  }
  await writing;
  return kills;
}

/** Checks the ledger's counts after all ends, with the killed calls. */
async function assertEnded(stage: Stage, kills: readonly Killed[]): Promise<Bill> {
  const { brain, deployment, providers, people } = stage;
  await deployment.end();
  const both = [deployment.spentInAll('model'), deployment.spentInAll('sender')] as const;
  const [models, senders] = await Promise.all(both);
  const bill = new Bill(brain, providers.calls, people.turns, {
    kills,
    gatheredMs: stage.gatheredMs,
  });
  bill.assertModels(models, false);
  bill.assertSenders(senders);
  bill.assertBudgets(models, senders);
  return bill;
}

const ofDay = 'I have used what I may use for one day. I can answer again tomorrow at 00:00.';
/** Allowed outcomes: the providers fail now and then, and do not always agree. */
const outcomes = new Set(['reply', 'over_budget', 'no_consensus', 'no_answer', 'busy']);
const ofTurn = /^This would take more than I may use for one message\./;

/** Asserts that every reply is allowed, and that the budget was used up, as it must be. */
function judged({ hasFree }: BrainFacts, turns: readonly Turn[]): Figures {
  const counts = { messages: 0, trials: 0, 'over budget': 0, 'too large': 0, 'by a free model': 0 };
  for (const { marker, reply, trace } of turns) {
    if (marker.startsWith('trial')) {
      if (reply !== null) counts.trials++;
    } else counts.messages++;
    if (reply === null) {
      assert.match(marker, /^trial/, 'every message has a reply');
      continue;
    }
    if (reply === `free: ${marker}`) counts['by a free model']++;
    if (reply === ofDay) counts['over budget']++;
    else if (ofTurn.test(reply)) counts['too large']++;
    const isOver = trace!.outcome === 'over_budget';
    assert.equal(isOver, reply === ofDay || ofTurn.test(reply), `${marker}: ${reply}`);
    assert.ok(!isOver || !hasFree, `${marker}: a free model answers where no other may`);
    assert.ok(outcomes.has(trace!.outcome), `${marker}: ${reply}`);
  }
  const shown = counts[hasFree ? 'by a free model' : 'over budget'];
  assert.ok(shown > 0, 'the budget was used up');
  return counts;
}
