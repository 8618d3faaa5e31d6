import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyNow } from '../../lib/clock.ts';
import { createIdSource } from '../../domain/ids.ts';
import { createMemoryLedger } from '../../ledger/memory/memory.ts';
import { listPairings, Pairings } from './pairing.ts';

const hourMs = 60 * 60_000;

async function setup(random: (bytes: Uint8Array<ArrayBuffer>) => void) {
  const clock = { now: 0 };
  const now = (): number => clock.now;
  const ids = createIdSource(now, () => {});
  const ledger = createMemoryLedger({ now, steady: steadyNow, ids });
  const pairings = new Pairings(ledger, now, random);
  await pairings.load('messenger_a');
  /** Works like the gate: the message's commit gives the code. */
  const pairingRequest = async (id: string): Promise<string> => {
    const knocked = pairings.pairingRequest('messenger_a', { id, name: null });
    if (knocked.kind === 'turned_away') return knocked.reason;
    assert.equal((await ledger.accept([], knocked.move)).kind, 'accepted');
    return knocked.code;
  };
  return { ledger, pairings, pairingRequest, clock };
}

test('a code is eight characters that look like no other, each as likely', async () => {
  // A linear congruential generator: the same codes at every run.
  let state = 4_711;
  const { pairingRequest, clock } = await setup((bytes) => {
    for (let i = 0; i < bytes.length; i++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      bytes[i] = state >>> 24;
    }
  });
  const counts = new Map<string, number>();
  for (let i = 0; i < 20_000; i++, clock.now += hourMs) {
    const code = await pairingRequest('1');
    assert.match(code, /^[^01258BILOSZ\W_a-z]{8}$/);
    for (const character of code) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  assert.equal(counts.size, 25);
  const [least, most] = [Math.min(...counts.values()), Math.max(...counts.values())];
  assert.ok(most / least < 1.075, `${least} to ${most}`);
});

test('a thousand may be let in by a code on a channel, and then none', async () => {
  const { pairings, pairingRequest, clock } = await setup(
    (bytes) => void crypto.getRandomValues(bytes),
  );
  for (let i = 0; i < 1_000; i++) {
    assert.equal((await pairings.admit(await pairingRequest(String(i)))).kind, 'admitted');
    clock.now += 1_000;
  }
  const code = await pairingRequest('too many');
  assert.equal((await pairings.admit(code)).kind, 'full');
  assert.equal(await pairings.remove('messenger_a', '500'), 'done');
  assert.equal((await pairings.admit(code)).kind, 'admitted');
  assert.equal((await pairings.list()).length, 1_000);
});

test('a code of one that was taken back is taken no more, and nobody else is removed', async () => {
  const { pairings, pairingRequest } = await setup((bytes) => void crypto.getRandomValues(bytes));
  const [first, second] = [await pairingRequest('1'), await pairingRequest('2')];
  assert.equal(await pairings.remove('messenger_a', '1'), 'done');
  assert.equal((await pairings.admit(first)).kind, 'not_found');
  assert.equal(await pairingRequest('1'), 'code_pending', 'silent for the rest of the hour');
  assert.equal((await pairings.admit(second)).kind, 'admitted');
  assert.equal(await pairings.remove('messenger_b', '2'), 'not_found');
  assert.equal(await pairings.remove('webhook', '2'), 'not_found');
});

test('a code of a clock that was ahead keeps nobody from another one', async () => {
  const { pairings, pairingRequest, clock } = await setup(
    (bytes) => void crypto.getRandomValues(bytes),
  );
  clock.now = 40 * 24 * hourMs;
  const before = await pairingRequest('1');
  clock.now = 0;
  const again = await pairingRequest('1');
  assert.match(again, /^[^a-z]{8}$/);
  assert.equal((await pairings.admit(before)).kind, 'not_found');
  assert.equal((await pairings.admit(again)).kind, 'admitted');
});

test('a crowd of strangers keeps nobody else out for more than ten minutes', async () => {
  const { pairings, pairingRequest, clock } = await setup(
    (bytes) => void crypto.getRandomValues(bytes),
  );
  const crowd = Array.from({ length: 100 }, (_none, index) => `crowd ${index}`);
  const codes: string[] = [];
  for (const one of crowd) codes.push(await pairingRequest(one));
  assert.ok(codes.every((code) => code.length === 8));
  assert.equal(
    await pairingRequest('friend'),
    'codes_out',
    'each of them has ten minutes to be used',
  );
  clock.now += 10 * 60_000;
  const code = await pairingRequest('friend');
  assert.equal((await pairings.admit(codes[0]!)).kind, 'not_found', 'the oldest gave way');
  assert.equal(
    await pairingRequest(crowd[0]!),
    'code_pending',
    'and gets no other within the hour',
  );
  for (let again = 0; again < 200; again++) await pairingRequest(`more ${again}`);
  clock.now += 10 * 60_000 - 1;
  for (let again = 200; again < 400; again++) await pairingRequest(`more ${again}`);
  assert.equal((await pairings.admit(code)).kind, 'admitted', 'his had its ten minutes');
  assert.equal((await pairings.list()).length, 100);
});

test('each bot has its own people, and an unnamed one keeps those that it had', async () => {
  const { ledger, pairings, pairingRequest } = await setup(
    (bytes) => void crypto.getRandomValues(bytes),
  );
  const knock = async (channel: string, id: string): Promise<string> => {
    await pairings.load(channel);
    const asked = pairings.pairingRequest(channel, { id, name: null });
    assert.ok(asked.kind === 'code');
    assert.equal((await ledger.accept([], asked.move)).kind, 'accepted');
    return asked.code;
  };
  await pairings.admit(await pairingRequest('1'));
  assert.equal((await pairings.admit(await knock('support', '1'))).kind, 'not_found');
  pairings.use(['messenger_a', 'support']);
  const admission = await pairings.admit(await knock('support', '2'));
  assert.ok(admission.kind === 'admitted' && admission.pairing.channel === 'support');
  assert.deepEqual(
    ['1', '2'].map((id) => [
      pairings.isAdmitted('messenger_a', id),
      pairings.isAdmitted('support', id),
    ]),
    [
      [true, false],
      [false, true],
    ],
  );
  const rows = async () => (await pairings.list()).map(({ channel, sender }) => [channel, sender]);
  const listed = [
    ['messenger_a', '1'],
    ['support', '2'],
    ['support', '1'],
  ];
  assert.deepEqual(await rows(), listed);
  const read = await listPairings(ledger, ['support'], () => 0);
  assert.deepEqual(
    read.map(({ channel, sender }) => [channel, sender]),
    listed,
  );
  assert.equal(await pairings.remove('sales', '1'), 'not_found');
  assert.equal(await pairings.remove('support', '2'), 'done');
  assert.equal(pairings.isAdmitted('messenger_a', '1'), true);
  pairings.use([]);
  assert.deepEqual(await rows(), [['messenger_a', '1']], 'its channel left the configuration');
});
