import assert from 'node:assert/strict';
import { timeOfId } from '../../../src/domain/ids.ts';
import type { Inbound } from '../../../src/domain/message.ts';
import {
  accept,
  answer,
  hook,
  noneIn,
  oneIn,
  other,
  promise,
  said,
  takeIn,
  textsIn,
  type LedgerCase,
} from './kit.ts';

const odd = 'naïve 👩‍👩‍👧 \u0000 "quoted" \\ \n\t ‮ end';

/** A dedupe key with the fingerprint of its message. */
const check = (dedupeKey: string, fingerprint: string): Partial<Inbound> => {
  return { dedupeKey, keyCheck: { fingerprint, formerKey: dedupeKey } };
};

/** The order in which messages are worked on, and their deduplication. */
export const inboxCases: readonly LedgerCase[] = [
  promise('a message is claimed as it was handed in', async (it) => {
    const inbound = said('ann', odd, {
      sender: { id: odd, name: 'Ann "A" \\' },
      media: { type: 'image/png', reference: 'https://example.test/a.png' },
      address: { channel: hook, target: '{"id":42}' },
    });
    const before = Date.now();
    const [receipt] = await accept(it, inbound);
    const { message, box, attempt } = await oneIn(it);
    const { id, acceptedAt, ...rest } = message;
    const { dedupeKey: _, ...handedIn } = inbound;
    assert.deepEqual(rest, handedIn);
    assert.deepEqual([id, box, attempt], [receipt!.id, 'in', 1]);
    assert.ok(acceptedAt >= before && acceptedAt <= Date.now());
  }),
  promise('ids have 22 characters, carry the time, and grow', async (it) => {
    const before = Date.now();
    const all = Array.from({ length: 50 }, (_, i) => said(`c${i}`, 'hi'));
    const receipts = [...(await accept(it, ...all)), ...(await accept(it, said('z', 'hi')))];
    const given = receipts.map(({ id }) => id);
    assert.deepEqual(given, [...given].sort());
    assert.equal(new Set(given).size, 51);
    for (const id of given) assert.match(id, /^[0-9a-hjkmnp-tv-z]{22}$/);
    assert.ok(timeOfId(given[0]!) >= before && timeOfId(given[0]!) <= Date.now());
  }),
  promise('a claimed message is not claimed again', async (it) => {
    await accept(it, said('ann', 'one'));
    await oneIn(it);
    await noneIn(it);
  }),
  promise('the second message of a conversation waits for the first', async (it) => {
    await accept(it, said('ann', 'one'), said('ann', 'two'));
    const first = await oneIn(it);
    assert.equal(first.message.text, 'one');
    await noneIn(it);
    await answer(it, first);
    assert.equal((await oneIn(it)).message.text, 'two');
  }),
  promise('ten messages of a conversation come in the order in which they came', async (it) => {
    const texts = Array.from({ length: 10 }, (_, i) => `text ${i}`);
    for (const text of texts) await accept(it, said('ann', text));
    const seen: string[] = [];
    for (const _ of texts) {
      const claim = await oneIn(it);
      seen.push(claim.message.text);
      await answer(it, claim);
    }
    assert.deepEqual(seen, texts);
  }),
  promise('a batch keeps its order within a conversation', async (it) => {
    await accept(
      it,
      said('ann', 'one'),
      said('bob', 'x'),
      said('ann', 'two'),
      said('ann', 'three'),
    );
    for (const text of ['one', 'two', 'three']) {
      const claims = await takeIn(it, 10);
      const claim = claims.find(({ message }) => message.conversation === 'ann')!;
      assert.equal(claim.message.text, text);
      await answer(it, claim);
    }
  }),
  promise('accepts that are under way at once keep the order of the calls', async (it) => {
    const texts = Array.from({ length: 20 }, (_, i) => `text ${i}`);
    await Promise.all(texts.map((text) => accept(it, said('ann', text))));
    for (const text of texts) {
      const claim = await oneIn(it);
      assert.equal(claim.message.text, text);
      await answer(it, claim);
    }
  }),
  promise('different conversations are claimed at once', async (it) => {
    await accept(it, said('ann', 'a'), said('bob', 'b'), said('cid', 'c'));
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['a', 'b', 'c']);
  }),
  promise('the oldest of the idle conversations come first', async (it) => {
    for (let i = 0; i < 8; i++) await accept(it, said(`c${i}`, `${i}`));
    assert.deepEqual(textsIn(await takeIn(it, 3)), ['0', '1', '2']);
    assert.deepEqual(textsIn(await takeIn(it, 3)), ['3', '4', '5']);
  }),
  promise('a claim gives at most what was asked for, and loses nothing', async (it) => {
    await accept(it, said('ann', 'a'), said('bob', 'b'), said('cid', 'c'));
    assert.equal((await takeIn(it, 0)).length, 0);
    assert.equal((await takeIn(it, 2)).length, 2);
    assert.equal((await takeIn(it, 2)).length, 1);
    assert.equal((await takeIn(it, 2)).length, 0);
  }),
  promise('claims under way at once share nothing', async (it) => {
    for (let i = 0; i < 10; i++) await accept(it, said(`c${i}`, `${i}`));
    const claims = await Promise.all(Array.from({ length: 4 }, () => takeIn(it, 4)));
    const texts = claims.flatMap(textsIn).sort();
    assert.deepEqual(
      texts,
      Array.from({ length: 10 }, (_, i) => `${i}`),
    );
  }),
  promise('an empty ledger gives nothing, and a channel it never heard of neither', async (it) => {
    await noneIn(it);
    await accept(it, said('ann', 'a'));
    await noneIn(it, other);
  }),
  promise('one id on two channels is two conversations', async (it) => {
    await accept(it, said('ann', 'here'), said('ann', 'there', { channel: other }));
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['here']);
    assert.deepEqual(textsIn(await takeIn(it, 10, other)), ['there']);
  }),
  promise('conversations whose ids look like each other stay apart', async (it) => {
    const names = ['a b', 'a', 'b', 'a\u0000b', '', ' ', 'A', 'constructor', '__proto__'];
    await accept(it, ...names.map((name) => said(name, `to ${name}`)));
    const texts = textsIn(await takeIn(it, 20));
    assert.deepEqual(
      texts,
      names.map((name) => `to ${name}`),
    );
  }),
  promise('a known key gets the first id back and no second run', async (it) => {
    const [first] = await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    const [second] = await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    assert.deepEqual([first!.duplicate, second!.duplicate], [false, true]);
    assert.equal(second!.id, first!.id);
    await answer(it, await oneIn(it));
    await noneIn(it);
  }),
  promise('a key is known after its message is settled', async (it) => {
    const [first] = await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    await answer(it, await oneIn(it));
    const [again] = await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    assert.deepEqual([again!.id, again!.duplicate], [first!.id, true]);
    await noneIn(it);
  }),
  promise('a key that comes twice in a batch is taken once', async (it) => {
    const [first, second] = await accept(
      it,
      said('ann', 'one', { dedupeKey: 'k' }),
      said('bob', 'two', { dedupeKey: 'k' }),
    );
    assert.deepEqual([first!.duplicate, second!.duplicate], [false, true]);
    assert.equal(first!.id, second!.id);
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['one']);
  }),
  promise('a key that comes twice at the same time is taken once', async (it) => {
    const resend = said('ann', 'one', { dedupeKey: 'k' });
    const receipts = (await Promise.all([accept(it, resend), accept(it, resend)])).flat();
    assert.equal(receipts.filter(({ duplicate }) => duplicate).length, 1);
    assert.equal(receipts[0]!.id, receipts[1]!.id);
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['one']);
  }),
  promise('a repeat in a batch does not hold up the others', async (it) => {
    await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    const receipts = await accept(
      it,
      said('bob', 'two'),
      said('ann', 'one', { dedupeKey: 'k' }),
      said('cid', 'three', { dedupeKey: 'l' }),
    );
    assert.deepEqual(
      receipts.map(({ duplicate }) => duplicate),
      [false, true, false],
    );
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['one', 'two', 'three']);
  }),
  promise('a key that comes with another fingerprint is reused, and not run', async (it) => {
    const one = said('ann', 'one', check('k', 'said one'));
    const [first] = await accept(it, one);
    const [reused, again, unchecked] = await accept(
      it,
      said('ann', 'two', check('k', 'said two')),
      one,
      said('ann', 'two', { dedupeKey: 'k' }),
    );
    assert.deepEqual([reused!.id, reused!.duplicate, reused!.keyReused], [first!.id, false, true]);
    for (const receipt of [again, unchecked]) {
      assert.deepEqual([receipt!.duplicate, receipt!.keyReused], [true, false]);
    }
    await answer(it, await oneIn(it));
    await noneIn(it);
    const [later] = await accept(it, said('ann', 'two', check('k', 'said two')));
    assert.deepEqual([later!.id, later!.keyReused], [first!.id, true], 'also once it is settled');
  }),
  promise('a reused key in a batch does not hold up the others', async (it) => {
    const receipts = await accept(
      it,
      said('ann', 'one', check('k', 'said one')),
      said('ann', 'two', check('k', 'said two')),
      said('bob', 'three', check('l', 'said two')),
    );
    const reused = receipts.map(({ keyReused }) => keyReused);
    assert.deepEqual(reused, [false, true, false]);
    assert.deepEqual(textsIn(await takeIn(it, 10)), ['one', 'three']);
  }),
  promise('the same key on another channel is another message', async (it) => {
    await accept(it, said('ann', 'one', { dedupeKey: 'k' }));
    const [there] = await accept(it, said('ann', 'two', { dedupeKey: 'k', channel: other }));
    assert.equal(there!.duplicate, false);
  }),
  promise('without a key nothing is a repeat', async (it) => {
    await accept(it, said('ann', 'yes'));
    const [second] = await accept(it, said('ann', 'yes'));
    assert.equal(second!.duplicate, false);
    await answer(it, await oneIn(it));
    assert.equal((await oneIn(it)).message.text, 'yes');
  }),
];
