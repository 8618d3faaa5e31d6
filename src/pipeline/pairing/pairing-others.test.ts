/** Two gates on one ledger: one is quicker, the other reads again and tries again. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { activeRoute } from '../../../test/fake/channel.ts';
import { putNewDatabase } from '../../../test/fake/new-database.ts';
import { noteEvents } from '../../../test/fake/webhook.ts';
import { writeHere } from '../../../test/fake/writer-here.ts';
import type { Brain } from '../../brains/brain.ts';
import type { ReceiveResult } from '../../channels/channel.ts';
import { messengerTypes } from '../../channels/registry.ts';
import { createIdSource, type ChannelKey, type ConversationId } from '../../domain/ids.ts';
import type { Inbound } from '../../domain/message.ts';
import { systemClock } from '../../lib/clock.ts';
import { createMemoryLedger } from '../../ledger/memory/memory.ts';
import { openSqliteLedger } from '../../ledger/sqlite/sqlite.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { ByteSemaphore } from '../../lib/fair-queue.ts';
import { ApprovalWork } from '../approvals/request.ts';
import { Gate } from '../gate.ts';
import { Pairings } from './pairing.ts';
import { receiveAtGate } from '../pipeline.ts';
import { RecentMessages, Routing } from '../route.ts';

const channel = 'messenger_a:77' as ChannelKey;
const access = { allow: null, groups: 'off', pairing: true } as const;
const rules = { knows: () => false, gatherMs: 0 };
const random = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes);
const ids = createIdSource(systemClock.now, random);

function said(sender: string): Inbound {
  const address = { channel, target: sender };
  const facts = { text: 'let me in', media: null, sender: { id: sender, name: null } };
  return { channel, conversation: sender as ConversationId, address, dedupeKey: null, ...facts };
}

/** One of the processes that share the ledger. */
function setup(ledger: Ledger) {
  const { events } = noteEvents();
  const { now, steady } = systemClock;
  const pairings = new Pairings(ledger, now, random);
  const gate = new Gate({ pairings, events, now });
  const approvals = new ApprovalWork({ steady });
  const [fileBytes, spokenBytes] = [new ByteSemaphore(0), new ByteSemaphore(0)];
  const deps = {
    ledger,
    events,
    ids,
    now,
    steady,
    random: Math.random,
    approvals,
    fileBytes,
    spokenBytes,
  };
  const brain = { name: 'main', sensitivity: 'public' } as Brain;
  const routing = new Routing(activeRoute(brain), new RecentMessages(ledger));
  const gated = { channel, access, routing, ...rules };
  const pairingRequest = (...senders: readonly string[]): Promise<ReceiveResult> =>
    receiveAtGate(deps, gate, () => gated, senders.map(said));
  return { pairings, gate, pairingRequest };
}

/** The codes of all waiting messages, by sender. */
async function codesOf(ledger: Ledger): Promise<ReadonlyMap<string, string>> {
  const claims = await ledger.claim('in', channel, 1_000);
  return new Map(claims.map(({ message }) => [message.sender.id, message.pairingCode!]));
}

async function openStorage(messagesMax?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-pairing-'));
  const path = join(folder, 'svc.db');
  await putNewDatabase(path);
  const limits = messagesMax === undefined ? {} : { messagesMax };
  const more = { limits, startWriter: writeHere };
  const ledger = await openSqliteLedger({ path, ...systemClock, ids, retentionDays: 30, ...more });
  if ('kind' in ledger) throw new Error(ledger.message);
  return {
    ledger,
    async [Symbol.asyncDispose]() {
      await ledger[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

/** Counts the turns of the event loop, in which other work runs. */
function turns() {
  let count = 0;
  let next = setImmediate(function turn() {
    count++;
    next = setImmediate(turn);
  });
  return {
    get count(): number {
      return count;
    },
    [Symbol.dispose]: () => clearImmediate(next),
  };
}

/** The ledger with one method replaced. */
function withReplaced(
  ledger: Ledger,
  other: Pick<Ledger, 'accept'> | Pick<Ledger, 'cursor'>,
): Ledger {
  return new Proxy(ledger, {
    get: (_, name) => {
      const value: unknown = Reflect.get(other, name) ?? Reflect.get(ledger, name, ledger);
      return typeof value === 'function' ? value.bind(ledger) : value;
    },
  });
}

test('a code that one gate gave is taken at the other, and each knows who was let in', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  const [one, two] = [setup(ledger), setup(ledger)];
  for (const [at, sender] of ['1', '2', '3', '4'].entries()) {
    const handled = await (at % 2 === 0 ? one : two).pairingRequest(sender);
    assert.equal(handled.kind, 'accepted');
  }
  const codes = await codesOf(ledger);
  assert.deepEqual([...codes.keys()], ['1', '2', '3', '4']);
  assert.equal((await two.pairings.admit(codes.get('1')!)).kind, 'admitted');
  assert.equal((await one.pairings.admit(codes.get('1')!)).kind, 'not_found');
  assert.equal((await one.pairings.admit(codes.get('4')!)).kind, 'admitted');
  assert.equal(await two.pairings.remove('messenger_a', '4'), 'done');
  for (const { pairings } of [one, two]) {
    const rows = (await pairings.list()).map(({ sender, state }) => `${sender} ${state}`);
    assert.deepEqual(rows, ['1 admitted', '2 asking', '3 asking']);
  }
});

test('who is let in elsewhere during the first look at the pairings is read again', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  const two = setup(ledger);
  await two.pairingRequest('1');
  const code = (await codesOf(ledger)).get('1')!;
  let read: (() => Promise<void>) | null = async () => {
    read = null;
    assert.equal((await two.pairings.admit(code)).kind, 'admitted');
    one.pairings.doubt('messenger_a');
  };
  const one = setup(
    withReplaced(ledger, {
      async cursor(...asked: Parameters<Ledger['cursor']>) {
        const kept = await ledger.cursor(...asked);
        // Another instance changes it now, and announces the change.
        await read?.();
        return kept;
      },
    }),
  );
  assert.equal((await one.pairingRequest('2')).kind, 'accepted');
  assert.equal(one.pairings.isAdmitted('messenger_a', '1'), true);
  assert.deepEqual(
    (await two.pairings.list()).map(({ sender, state }) => `${sender} ${state}`),
    ['1 admitted', '2 asking'],
  );
});

test('of many who ask for pairing at two gates at once none is forgotten', async () => {
  for (const form of ['memory', 'storage'] as const) {
    await using storage = form === 'storage' ? await openStorage() : null;
    const ledger = storage?.ledger ?? createMemoryLedger({ ...systemClock, ids });
    const [one, two] = [setup(ledger), setup(ledger)];
    using loop = turns();
    const senders = Array.from({ length: 40 }, (_none, at) => `p${at}`);
    const pairingRequests = senders.map(async (sender, at) => {
      const it = at % 2 === 0 ? one : two;
      while ((await it.pairingRequest(sender)).kind === 'refused') await new Promise(setImmediate);
    });
    await Promise.all(pairingRequests);
    assert.ok(loop.count > 0);
    const codes = await codesOf(ledger);
    assert.deepEqual([...codes.keys()].sort(), [...senders].sort());
    for (const code of codes.values()) {
      assert.equal((await two.pairings.admit(code)).kind, 'admitted');
    }
    assert.equal((await one.pairings.list()).length, senders.length);
    if (storage === null) await ledger[Symbol.asyncDispose]();
  }
});

test('where another is always quicker the answer is a refusal, and all else goes on', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  const it = setup(ledger);
  await it.pairingRequest('1');
  const [code] = (await codesOf(ledger)).values();
  let others = 0;
  const accept: Ledger['accept'] = async (batch, ...moves) => {
    const [{ channel: where, name }] = [moves[0]!];
    const state = JSON.parse((await ledger.cursor(where, name))!) as object;
    const value = JSON.stringify({ ...state, other: others++ });
    await ledger.accept([], { channel: where, name, value });
    return ledger.accept(batch, ...moves);
  };
  const late = setup(withReplaced(ledger, { accept }));
  const acts = [
    () => late.pairings.admit(code!).then(({ kind }) => kind),
    () => late.pairings.remove('messenger_a', '1'),
    () => late.pairingRequest('2').then((handled) => handled.kind === 'refused' && handled.reason),
  ];
  const answers: unknown[] = [];
  for (const act of acts) {
    using loop = turns();
    answers.push(await act());
    assert.ok(loop.count > 0, `all else stood still until ${String(answers.at(-1))}`);
  }
  assert.deepEqual(answers, ['storage_failed', 'storage_failed', 'full']);
  assert.equal((await it.pairings.admit(code!)).kind, 'admitted', 'the code is still good');
});

test('who was refused for want of room beside a code on its way gets the next one', async () => {
  await using storage = await openStorage(3);
  const { ledger } = storage;
  const it = setup(ledger);
  await ledger.accept([said('filler')]);
  const first = it.pairingRequest('1');
  const both = it.pairingRequest('2', '3');
  const refused = await both;
  assert.ok(refused.kind === 'refused' && refused.reason === 'full');
  using loop = turns();
  assert.equal((await it.pairingRequest('4')).kind, 'accepted');
  assert.equal((await first).kind, 'accepted');
  const codes = await codesOf(ledger);
  assert.deepEqual([...codes.keys()], ['filler', '1', '4']);
  for (const sender of ['1', '4']) {
    assert.equal((await it.pairings.admit(codes.get(sender)!)).kind, 'admitted');
  }
  assert.equal((await it.pairings.list()).length, 2, 'nobody else was given a code');
  assert.ok(loop.count > 0);
});

test('a word of the operator counts beside codes on their way and refused ones', async () => {
  await using storage = await openStorage(3);
  const { ledger } = storage;
  const it = setup(ledger);
  await it.pairingRequest('1');
  const [code] = (await codesOf(ledger)).values();
  const flying = it.pairingRequest('2');
  const [refused, admission] = await Promise.all([
    it.pairingRequest('3', '4'),
    it.pairings.admit(code!),
  ]);
  assert.equal(refused.kind, 'refused');
  assert.equal(admission.kind, 'admitted');
  assert.equal((await flying).kind, 'accepted');
  const rows = (await it.pairings.list()).map(({ sender, state }) => `${sender} ${state}`);
  assert.deepEqual(rows, ['1 admitted', '2 asking']);
});

test('a change that could not be written undoes itself, and not what came after it', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  const { pairings } = setup(ledger);
  await pairings.load('messenger_a');
  const pairingRequest = (id: string) => {
    const knocked = pairings.pairingRequest('messenger_a', { id, name: null });
    assert.ok(knocked.kind === 'code');
    return knocked;
  };
  const [first, second] = [pairingRequest('1'), pairingRequest('2')];
  assert.equal(second.move.expected, first.move.value);
  first.undo();
  assert.equal(pairings.pairingRequest('messenger_a', { id: '2', name: null }).kind, 'turned_away');
  assert.equal(pairingRequest('1').move.expected, second.move.value);
  const alone = setup(ledger).pairings;
  await alone.load('messenger_a');
  const only = alone.pairingRequest('messenger_a', { id: '1', name: null });
  assert.ok(only.kind === 'code' && only.move.expected === null);
  only.undo();
  const again = alone.pairingRequest('messenger_a', { id: '1', name: null });
  assert.ok(again.kind === 'code' && again.move.expected === null, 'it expects what is there');
});

test('what is read again gives way to what was changed meanwhile', async () => {
  await using ledger = createMemoryLedger({ ...systemClock, ids });
  let held: Promise<void> | null = null;
  let asked = 0;
  const cursor: Ledger['cursor'] = async (...of) => {
    asked++;
    const value = await ledger.cursor(...of);
    await held;
    return value;
  };
  const { pairings, pairingRequest } = setup(withReplaced(ledger, { cursor }));
  await pairings.load('messenger_a');
  asked = 0;
  const late = Promise.withResolvers<void>();
  held = late.promise;
  const lists = [pairings.list(), pairings.list()];
  assert.equal((await pairingRequest('1')).kind, 'accepted');
  late.resolve();
  held = null;
  for (const rows of await Promise.all(lists)) assert.equal(rows.length, 1);
  assert.ok(asked <= messengerTypes.length, 'they share a reading of each messenger');
  assert.equal(pairings.pairingRequest('messenger_a', { id: '1', name: null }).kind, 'turned_away');
  const [code] = (await codesOf(ledger)).values();
  assert.equal((await pairings.admit(code!)).kind, 'admitted');
});
