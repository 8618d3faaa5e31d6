/** The extracted content of attachments: the ledger keeps it as long as the message. */
import assert from 'node:assert/strict';
import type { Attachment } from '../../../src/domain/attachment.ts';
import { failure } from '../../../src/domain/failure.ts';
import { mediaOf, type Inbound } from '../../../src/domain/message.ts';
import {
  accept,
  answer,
  durably,
  hook,
  oneIn,
  promise,
  said,
  type Bench,
  type LedgerCase,
} from './kit.ts';

const picture = (...bytes: number[]): Attachment => {
  return { kind: 'picture', name: 'a.png', picture: { type: 'image/png', bytes: bytesOf(bytes) } };
};
const bytesOf = (bytes: readonly number[]): Uint8Array => Buffer.from(bytes);
const all: readonly Attachment[] = [
  picture(1, 2, 255),
  { kind: 'text', name: 'b \0 \uE000.txt', text: 'buy \0 \uE000 milk' },
  { kind: 'spoken', name: 'voice', text: 'hello' },
  { kind: 'unread', name: 'c.pdf', why: 'I cannot read this.' },
];

const photoOf = (who: string, more: Partial<Inbound> = {}): Inbound => {
  const media = { type: 'image/png', reference: 'photo', file: 'f' };
  return said(who, '', { media, ...more });
};

/** The bytes of the pictures in the context of the conversation's next turn. */
async function shownTo(it: Bench, who: string, since = 0, n = 4): Promise<number[][]> {
  await accept(it, said(who, 'and now?', { sender: { id: 'asks', name: null } }));
  const claim = await oneIn(it);
  const found = await it.ledger.attachments.picturesSince(claim, since, n);
  await answer(it, claim);
  return found.map(({ picture: { bytes } }) => [...bytes]);
}

async function keptBy(it: Bench, who: string, ...kept: readonly Attachment[]): Promise<string> {
  await accept(it, photoOf(who));
  const claim = await oneIn(it);
  assert.equal(await it.ledger.attachments.keep(claim, kept), true);
  await answer(it, claim);
  return claim.message.id;
}

export const attachmentCases: readonly LedgerCase[] = [
  promise('what was read of a message is there when its turn runs again', async (it) => {
    await accept(it, photoOf('ann'), photoOf('bob'));
    const [ann, bob] = await it.ledger.claim('in', hook, 2);
    assert.equal(await it.ledger.attachments.of(ann!), null);
    assert.equal(await it.ledger.attachments.keep(ann!, all), true);
    assert.deepEqual(await it.ledger.attachments.of(ann!), all);
    assert.equal(await it.ledger.attachments.of(bob!), null, 'of another message');
    await it.ledger.release(ann!);
    assert.equal(await it.ledger.attachments.of(ann!), null, 'only while the claim holds');
    const again = await oneIn(it);
    assert.deepEqual(await it.ledger.attachments.of(again), all);
    assert.deepEqual(await it.ledger.attachments.of(again), all, 'it is read, not taken');
  }),
  promise('what a later run keeps takes the place of what an earlier one kept', async (it) => {
    await accept(it, photoOf('ann'), photoOf('bob'));
    const claims = await it.ledger.claim('in', hook, 2);
    for (const claim of claims) await it.ledger.attachments.keep(claim, all);
    const [ann, bob] = claims;
    assert.equal(await it.ledger.attachments.keep(ann!, [picture(9), all[1]!]), true);
    assert.deepEqual(await it.ledger.attachments.of(ann!), [picture(9), all[1]!]);
    assert.equal(await it.ledger.attachments.keep(ann!, []), true);
    assert.equal(await it.ledger.attachments.of(ann!), null);
    assert.deepEqual(await it.ledger.attachments.of(bob!), all, 'of another message');
  }),
  promise('nothing is kept once the claim is over', async (it) => {
    await accept(it, photoOf('ann'));
    const claim = await oneIn(it);
    await it.ledger.release(claim);
    assert.equal(await it.ledger.attachments.keep(claim, all), false);
    assert.equal(await it.ledger.attachments.of(await oneIn(it)), null);
  }),
  durably('it outlives the process', async (it) => {
    await accept(it, photoOf('ann'));
    assert.equal(await it.ledger.attachments.keep(await oneIn(it), all), true);
    await it.reopen();
    assert.deepEqual(await it.ledger.attachments.of(await oneIn(it)), all);
  }),
  durably('later turns of the conversation find its newest pictures', async (it) => {
    const before = Date.now();
    await keptBy(it, 'ann', picture(1), ...all.slice(1), picture(2));
    await keptBy(it, 'ann', picture(3));
    await keptBy(it, 'bob', picture(4));
    assert.deepEqual(await shownTo(it, 'ann'), [[3], [2], [1]]);
    assert.deepEqual(await shownTo(it, 'ann', before - 1_000, 2), [[3], [2]]);
    assert.deepEqual(await shownTo(it, 'ann', Date.now() + 1_000), []);
    await it.reopen();
    assert.deepEqual(await shownTo(it, 'ann', before - 1_000), [[3], [2], [1]]);
  }),
  durably('what was kept of a message is found by when it was accepted', async (it) => {
    await accept(it, photoOf('ann'));
    const claim = await oneIn(it);
    assert.equal(await it.ledger.attachments.keep(claim, all), true);
    await answer(it, claim);
    await keptBy(it, 'bob', picture(4));
    await accept(it, said('ann', 'again'));
    const again = await oneIn(it);
    const { acceptedAt } = claim.message;
    assert.deepEqual(await it.ledger.attachments.acceptedAt(again, acceptedAt), [all]);
    assert.deepEqual(await it.ledger.attachments.acceptedAt(again, acceptedAt - 1), []);
    await it.ledger.release(again);
    assert.deepEqual(await it.ledger.attachments.acceptedAt(again, acceptedAt), []);
  }),
  durably('a picture is as private as its message', async (it) => {
    for (const sensitivity of ['public', 'private'] as const) {
      await accept(it, photoOf('ann', { sensitivity }));
      const claim = await oneIn(it);
      await it.ledger.attachments.keep(claim, [picture(1)]);
      await answer(it, claim);
    }
    await accept(it, said('ann', 'and now?'));
    const found = await it.ledger.attachments.picturesSince(await oneIn(it), 0, 4);
    assert.deepEqual(
      found.map(({ sensitivity }) => sensitivity),
      ['private', 'public'],
    );
  }),
  durably('of an album of which one part is private, every picture is private', async (it) => {
    const gather = { kind: 'album', key: 'a', ms: 10_000 } as const;
    const isPrivate = { sensitivity: 'private' } as const;
    await accept(it, photoOf('ann', { gather }), photoOf('ann', { gather, ...isPrivate }));
    await accept(it, said('ann', 'and now?', { sender: { id: 'asks', name: null } }));
    const claim = await oneIn(it);
    assert.equal(mediaOf(claim.message).length, 2);
    assert.equal(await it.ledger.attachments.keep(claim, [picture(1), picture(2)]), true);
    await answer(it, claim);
    const found = await it.ledger.attachments.picturesSince(await oneIn(it), 0, 4);
    assert.deepEqual(
      found.map(({ sensitivity }) => sensitivity),
      ['private', 'private'],
    );
  }),
  durably('it goes when the conversation or its sender is forgotten', async (it) => {
    await keptBy(it, 'ann', picture(1));
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of ann' });
    assert.deepEqual(await shownTo(it, 'ann'), []);
    await keptBy(it, 'bob', picture(1));
    const { conversation } = said('bob', '');
    await it.ledger.forget({ kind: 'conversation', channel: hook, conversation });
    assert.deepEqual(await shownTo(it, 'bob'), []);
  }),
  durably('what is forgotten while it is at work keeps nothing', async (it) => {
    await accept(it, photoOf('ann'));
    const claim = await oneIn(it);
    await it.ledger.forget({ kind: 'sender', channel: hook, sender: 'sender of ann' });
    assert.equal(await it.ledger.attachments.keep(claim, all), false);
  }),
  durably('a dead letter keeps it until it is discarded', async (it) => {
    await accept(it, photoOf('ann'));
    const claim = await oneIn(it);
    const { id } = claim.message;
    await it.ledger.attachments.keep(claim, all);
    await it.ledger.deadLetter(claim, failure('gone'));
    assert.equal(await it.ledger.replay(id), 'done');
    const again = await oneIn(it);
    assert.deepEqual(await it.ledger.attachments.of(again), all);
    await it.ledger.deadLetter(again, failure('gone'));
    assert.deepEqual(await shownTo(it, 'ann'), [[1, 2, 255]]);
    assert.equal(await it.ledger.discard(id), 'done');
    assert.deepEqual(await shownTo(it, 'ann'), []);
  }),
];
