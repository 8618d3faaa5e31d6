/** After an uncaught exception, only the messages in work count as tried. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { Crashes } from '../fake/crashes.ts';
import {
  accept,
  answer,
  effects,
  noneIn,
  oneIn,
  oneOut,
  said,
  takeIn,
  textsIn,
  type Bench,
} from '../contract/ledger/kit.ts';
import { patienceMs } from '../support/waiting.ts';

/** The counted tries of each unsettled message, by its text. */
function triesIn(path: string): Record<string, unknown> {
  using db = new DatabaseSync(path, { readOnly: true });
  const text = "json_extract(body, '$.text')";
  const rows = db.prepare(`SELECT ${text} AS text, attempts FROM inbox WHERE state = 0`).all();
  return Object.fromEntries(rows.map(({ text: of, attempts }) => [of, attempts]));
}

/** Two of ann's and one of bob's wait; ann's first is in work. */
async function oneAtWork(crashes: Crashes): Promise<Bench> {
  const it = await crashes.open();
  await accept(it, said('ann', 'a'), said('ann', 'behind a'), said('bob', 'b'));
  const [claim] = await takeIn(it, 1);
  assert.equal(claim!.message.text, 'a');
  return it;
}

test('what was at work counts, and no other first message of a conversation', async () => {
  await using crashes = await Crashes.make();
  await oneAtWork(crashes);
  const it = await crashes.throwUncaught();
  assert.deepEqual(triesIn(crashes.path), { a: 1, 'behind a': 0, b: 0 });
  assert.deepEqual(
    (await takeIn(it, 10)).map(({ message, attempt }) => [message.text, attempt]),
    [
      ['a', 2],
      ['b', 1],
    ],
  );
});

test('what was given back was not at work', async () => {
  await using crashes = await Crashes.make();
  const it = await oneAtWork(crashes);
  const [claim] = await takeIn(it, 1);
  assert.equal(claim!.message.text, 'b');
  await it.ledger.release(claim!);
  await crashes.throwUncaught();
  assert.deepEqual(triesIn(crashes.path), { a: 1, 'behind a': 0, b: 0 });
});

test('suspected messages that are held while others run do not count', async () => {
  await using crashes = await Crashes.make({ limits: { besideMs: 60_000 } });
  const first = await crashes.open();
  await accept(first, said('ann', 'a'), said('bob', 'b'));
  await takeIn(first, 10);
  await takeIn(await crashes.crash(), 10);
  let it = await crashes.crash();
  for (let ends = 1; ends <= 11; ends++) {
    assert.equal(it.ledger.gauges().suspects, 2);
    await accept(it, said(`c${ends}`, `the cause ${ends}`));
    const claim = await oneIn(it);
    assert.equal(claim.message.text, `the cause ${ends}`);
    it = await crashes.throwUncaught();
    const { [`the cause ${ends}`]: cause, ...others } = triesIn(crashes.path);
    assert.deepEqual([cause, others], [1, { a: 2, b: 2 }]);
    await answer(it, await oneIn(it));
  }
});

test('the message that ends the process each time is found, and no other is', async () => {
  await using crashes = await Crashes.make();
  let it = await oneAtWork(crashes);
  for (let ends = 0; ends < 2; ends++) {
    if (ends > 0) assert.equal((await takeIn(it, 1))[0]!.message.text, 'a');
    it = await crashes.throwUncaught();
  }
  assert.equal(it.ledger.gauges().suspects, 1);
  for (let alone = 0; alone < 2; alone++) {
    const claim = await oneIn(it);
    assert.deepEqual([claim.message.text, claim.poison], ['a', false]);
    await noneIn(it);
    it = await crashes.throwUncaught();
  }
  const poison = await oneIn(it);
  assert.deepEqual([poison.message.text, poison.poison], ['a', true]);
  const told = effects(poison, ['sorry'], { turn: null });
  assert.equal(await it.ledger.deadLetter(poison, failure('poison'), told), true);
  assert.deepEqual(textsIn(await takeIn(it, 10)).sort(), ['b', 'behind a']);
});

test('the first reply of a conversation may have been sent, as after any crash', async () => {
  await using crashes = await Crashes.make();
  const it = await oneAtWork(crashes);
  await answer(it, await oneIn(it), 're: b');
  const { possibleDuplicate } = await oneOut(await crashes.throwUncaught());
  assert.equal(possibleDuplicate, true);
});

test('the start that reads a note deletes it, and the next end is any crash', async () => {
  await using crashes = await Crashes.make();
  await oneAtWork(crashes);
  await crashes.throwUncaught();
  assert.ok(!existsSync(`${crashes.path}.crashed`));
  await crashes.crash();
  assert.deepEqual(triesIn(crashes.path), { a: 2, 'behind a': 0, b: 1 });
});

test('a note that is torn, and one of an end before the last, say nothing', async () => {
  await using torn = await Crashes.make();
  await oneAtWork(torn);
  process.emit('uncaughtExceptionMonitor', new Error('a fault'), 'uncaughtException');
  const note = `${torn.path}.crashed`;
  truncateSync(note, readFileSync(note).length - 1);
  await torn.crash();
  assert.deepEqual(triesIn(torn.path), { a: 1, 'behind a': 0, b: 1 });

  await using former = await Crashes.make();
  const it = await oneAtWork(former);
  process.emit('uncaughtExceptionMonitor', new Error('a fault'), 'uncaughtException');
  // Simulates a release that does not know such notes, and dies without one.
  await accept(it, said('cid', 'c'));
  await former.crash();
  assert.deepEqual(triesIn(former.path), { a: 1, 'behind a': 0, b: 1, c: 1 });
});

test('a ledger that has ended leaves no note', async () => {
  await using crashes = await Crashes.make();
  const it = await oneAtWork(crashes);
  await it.ledger[Symbol.asyncDispose]();
  process.emit('uncaughtExceptionMonitor', new Error('a fault'), 'uncaughtException');
  assert.ok(!existsSync(`${crashes.path}.crashed`));
});

test('after a failing storage no message counts, whatever else was noted', async () => {
  await using crashes = await Crashes.make();
  const it = await oneAtWork(crashes);
  const claim = await oneIn(it);
  using intruder = new DatabaseSync(crashes.path, { timeout: patienceMs });
  intruder.exec('ALTER TABLE turns RENAME TO elsewhere');
  assert.equal(await it.ledger.complete(claim, effects(claim, ['lost'])), false);
  process.emit('uncaughtExceptionMonitor', new Error('a fault'), 'uncaughtException');
  assert.ok(existsSync(`${crashes.path}.failed`) && existsSync(`${crashes.path}.crashed`));
  intruder.exec('ALTER TABLE elsewhere RENAME TO turns');
  await it.ledger[Symbol.asyncDispose]();
  await crashes.open();
  assert.deepEqual(triesIn(crashes.path), { a: 0, 'behind a': 0, b: 0 });
  for (const kind of ['failed', 'crashed']) assert.ok(!existsSync(`${crashes.path}.${kind}`));
});
