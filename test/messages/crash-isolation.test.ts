/** Crash isolation finds the message that ends the process, and spares all others. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';
import { failure } from '../../src/domain/failure.ts';
import { Crashes } from '../fake/crashes.ts';
import {
  accept,
  answer,
  deliverAll,
  effects,
  noneIn,
  noneOut,
  oneIn,
  oneOut,
  other,
  said,
  takeIn,
  textsIn,
  until,
  type Bench,
} from '../contract/ledger/kit.ts';
import { patienceMs } from '../support/waiting.ts';

/** Messages of ann, bob and cid were in work at two unclean ends. */
async function threeSuspected(crashes: Crashes): Promise<Bench> {
  const first = await crashes.open();
  await accept(first, said('ann', 'a'), said('bob', 'b'), said('cid', 'c'), said('ann', 'later'));
  await takeIn(first, 10);
  const second = await crashes.crash();
  assert.equal(second.ledger.gauges().suspects, 0, 'once is no suspicion');
  assert.deepEqual(textsIn(await takeIn(second, 10)), ['a', 'b', 'c']);
  const third = await crashes.crash();
  assert.equal(third.ledger.gauges().suspects, 3);
  return third;
}

async function workOff(it: Bench, channel: typeof other, done: string[]): Promise<void> {
  for (const claim of await takeIn(it, 10, channel)) {
    done.push(claim.message.text);
    await it.ledger.complete(claim, effects(claim, []));
  }
}

suite('after two unclean ends', { concurrency: 4 }, () => {
  test('suspected messages run one at a time, alone, until their first success', async () => {
    await using crashes = await Crashes.make();
    const it = await threeSuspected(crashes);
    await accept(it, said('dee', 'new'));
    for (const text of ['a', 'b', 'c']) {
      const claim = await oneIn(it);
      assert.deepEqual([claim.message.text, claim.attempt, claim.poison], [text, 3, false]);
      await noneIn(it);
      await noneOut(it);
      await answer(it, claim, `re: ${text}`);
    }
    assert.equal(it.ledger.gauges().suspects, 0);
    assert.deepEqual(textsIn(await takeIn(it, 10)).sort(), ['later', 'new']);
    assert.deepEqual(await deliverAll(it), ['re: a', 're: b', 're: c']);
  });

  test('who waits is woken for each suspected message, and when none is left', async () => {
    await using crashes = await Crashes.make();
    const it = await threeSuspected(crashes);
    await accept(it, said('dee', 'on another channel', { channel: other }));
    const done: string[] = [];
    it.ledger.onReady((box, channel) => {
      if (box === 'out') return;
      void workOff(it, channel, done);
    });
    it.ledger.serve([said('ann', '').channel, other]);
    await until('all are done', () => done.length === 5);
    assert.deepEqual(done.slice(0, 3), ['a', 'b', 'c']);
  });

  test('one that ended the process twice while alone is poison, and no other', async () => {
    await using crashes = await Crashes.make();
    let it = await threeSuspected(crashes);
    // bob's is the poison: the process ends as soon as it runs.
    await answer(it, await oneIn(it), 're: a');
    assert.equal((await oneIn(it)).message.text, 'b');
    it = await crashes.crash();
    assert.equal(it.ledger.gauges().suspects, 2);
    const cid = await oneIn(it);
    assert.equal(cid.message.text, 'c', 'who has not run alone yet comes first');
    await answer(it, cid, 're: c');
    const again = await oneIn(it);
    assert.deepEqual([again.message.text, again.poison], ['b', false]);
    it = await crashes.crash();
    const poison = await oneIn(it);
    assert.deepEqual([poison.message.text, poison.poison], ['b', true]);
    const told = effects(poison, ['sorry'], { turn: null });
    assert.equal(await it.ledger.deadLetter(poison, failure('poison'), told), true);
    const later = await oneIn(it);
    assert.deepEqual([later.message.text, later.poison], ['later', false]);
    await answer(it, later, 're: later');
    assert.equal(it.ledger.gauges().deadLetters, 1);
    assert.deepEqual((await deliverAll(it)).sort(), ['re: a', 're: c', 're: later', 'sorry']);
  });

  test('a suspected message that is given back has not run', async () => {
    await using crashes = await Crashes.make();
    let it = await threeSuspected(crashes);
    for (let times = 0; times < 3; times++) {
      const claim = await oneIn(it);
      assert.equal(claim.message.text, 'a');
      await it.ledger.release(claim);
      // Only a later commit proves that it is on the disk.
      await accept(it, said('eve', `${times}`));
      it = await crashes.crash();
    }
    assert.equal((await oneIn(it)).poison, false);
  });

  test('one that was to run alone when the end came has not run', async () => {
    await using crashes = await Crashes.make({ onFault: (error) => assert.fail(String(error)) });
    await threeSuspected(crashes);
    const poison = await crashes.crash();
    assert.equal((await oneIn(poison)).message.text, 'a');
    const it = await crashes.crash();
    for (const text of ['b', 'c']) {
      const claim = await oneIn(it);
      assert.equal(claim.message.text, text);
      await answer(it, claim);
    }
    const asked = takeIn(it, 1);
    await it.ledger[Symbol.asyncDispose]();
    assert.deepEqual(textsIn(await asked), []);
    const after = await crashes.open();
    const [again] = await takeIn(after, 1);
    assert.deepEqual([again!.message.text, again!.poison], ['a', false]);
  });

  test('a clean end clears everybody', async () => {
    await using crashes = await Crashes.make();
    const it = await threeSuspected(crashes);
    await takeIn(it, 10);
    await it.ledger[Symbol.asyncDispose]();
    const after = await crashes.open();
    assert.equal(after.ledger.gauges().suspects, 0);
    const claims = await takeIn(after, 10);
    assert.deepEqual(
      claims.map(({ message, attempt }) => [message.text, attempt]),
      [
        ['a', 1],
        ['b', 1],
        ['c', 1],
      ],
    );
    const crashed = await crashes.crash();
    assert.equal(crashed.ledger.gauges().suspects, 0, 'counting begins anew');
  });

  test('the others start beside one that has run alone for a while, which is cleared', async () => {
    let now = Date.now();
    await using crashes = await Crashes.make({ now: () => now, limits: { aloneMs: 1 } });
    const it = await threeSuspected(crashes);
    await accept(it, said('dee', 'new'));
    const slow = await oneIn(it);
    await noneIn(it);
    now += 10;
    const others: string[] = [];
    await until('the others start', async () => {
      others.push(...textsIn(await takeIn(it, 10)));
      now += 10;
      return others.length === 3;
    });
    assert.deepEqual(others.sort(), ['b', 'c', 'new']);
    await until('the last is cleared', async () => {
      now += 10;
      return it.ledger.gauges().suspects === 0;
    });
    await accept(it, said('eve', 'a commit after it'));
    const next = await crashes.crash();
    assert.equal(next.ledger.gauges().suspects, 0, 'all had lived long enough');
    await answer(it, slow, 're: a');
  });

  test('together they hold up the others for a time at most, and are no less suspect', async () => {
    let now = Date.now();
    await using crashes = await Crashes.make({ now: () => now, limits: { stallMs: 1 } });
    const it = await threeSuspected(crashes);
    await accept(it, said('dee', 'new'));
    assert.equal((await oneIn(it)).message.text, 'a');
    now += 10;
    await until('another starts', async () => textsIn(await takeIn(it, 10)).includes('new'));
    await accept(it, said('eve', 'a commit after it'));
    const next = await crashes.crash();
    assert.ok(next.ledger.gauges().suspects >= 3);
    const first = await oneIn(next);
    assert.equal(first.message.text, 'a', 'what ended it when it was not alone is no evidence');
  });

  test('ends before it has lived a while are no evidence, and hold nobody up', async () => {
    await using crashes = await Crashes.make({ limits: { besideMs: 60_000 } });
    let it = await threeSuspected(crashes);
    for (let ends = 0; ends < 4; ends++) {
      await accept(it, said(`dee${ends}`, 'new'));
      const claim = await oneIn(it);
      assert.equal(claim.message.text, 'new');
      await noneIn(it);
      await answer(it, claim, 'ok');
      it = await crashes.crash();
    }
    assert.equal(it.ledger.gauges().suspects, 3);
    const db = new DatabaseSync(crashes.path, { readOnly: true });
    assert.equal(db.prepare('SELECT max(alone) AS most FROM inbox').get()?.['most'], 0);
    db.close();
  });

  test('of very many only the 16 that were next most often run alone', async () => {
    await using crashes = await Crashes.make();
    const first = await crashes.open();
    await accept(first, said('ann', 'the oldest trouble'));
    const crowd = Array.from({ length: 40 }, (_, i) => said(`c${i}`, `text ${i}`));
    const second = await crashes.crash();
    await accept(second, ...crowd);
    const third = await crashes.crash();
    assert.equal((await oneIn(third)).message.text, 'the oldest trouble');
    const fourth = await crashes.crash();
    assert.equal(fourth.ledger.gauges().suspects, 16);
    const alone: string[] = [];
    for (let n = 0; n < 16; n++) {
      const claim = await oneIn(fourth);
      alone.push(claim.message.text);
      await noneIn(fourth);
      await answer(fourth, claim, 'ok');
    }
    assert.ok(alone.includes('the oldest trouble'), 'it was next more often than they');
    assert.equal((await takeIn(fourth, 100)).length, 25, 'the others start together');
  });

  test('a suspected message whose channel is not served holds up nothing', async () => {
    await using crashes = await Crashes.make();
    const it = await threeSuspected(crashes);
    await accept(it, said('dee', 'new', { channel: other }));
    it.ledger.serve([other]);
    assert.deepEqual(textsIn(await takeIn(it, 10, other)), ['new']);
    assert.equal(it.ledger.gauges().suspects, 3);
  });
});

test('a crash loop marks replies and counts them, and moves none along its schedule', async () => {
  await using crashes = await Crashes.make();
  let it = await crashes.open();
  await accept(it, said('ann', 'hi'));
  await answer(it, await oneIn(it), 're: hi');
  for (let ends = 1; ends <= 6; ends++) {
    await oneOut(it);
    it = await crashes.crash();
    const claim = await oneOut(it);
    assert.deepEqual(
      [claim.attempt, claim.attemptOfSchedule, claim.possibleDuplicate],
      [ends + 1, 1, true],
    );
    await it.ledger.release(claim);
  }
});

test('an end by failing storage is no evidence against any message', async () => {
  await using crashes = await Crashes.make();
  let it = await threeSuspected(crashes);
  for (let ends = 0; ends < 3; ends++) {
    const claim = await oneIn(it);
    assert.deepEqual([claim.message.text, claim.attempt, claim.poison], ['a', 3, false]);
    const intruder = new DatabaseSync(crashes.path, { timeout: patienceMs });
    intruder.exec('ALTER TABLE turns RENAME TO elsewhere');
    assert.equal(await it.ledger.complete(claim, effects(claim, ['lost'])), false);
    intruder.exec('ALTER TABLE elsewhere RENAME TO turns');
    await it.ledger[Symbol.asyncDispose]();
    intruder.close();
    it = await crashes.open();
  }
  it = await crashes.crash();
  assert.deepEqual((await oneIn(it)).attempt, 4, 'after that an end counts again');
});
