/** The quick way into the webhook beside `node:http`: the same bytes, the same outcome. */
import assert from 'node:assert/strict';
import type { Proof } from './proof.ts';
import { seeded } from './proof.ts';
import { NodeReading, readAlike } from './quick-way/node-reading.ts';
import { corpus, generated, plain, whole } from './quick-way/requests.ts';
import { TwoListeners } from './quick-way/two-listeners.ts';

/** A connection takes 50 times as long as reading alone. */
const perConnection = 50;
const cutRequests = 10;
/** At the smallest size one in so many techniques and cuts is tried on connections. */
const few = 11;
const sizes = { test: 5_000, change: 20_000, nightly: 1_000_000 };

export const quickWay: Proof = {
  name: 'quick-way',
  title: 'The quick way into the webhook ends as node:http does: answer, message, connection',
  unit: 'requests',
  sizes,
  async run(count, seed, say) {
    const random = seeded(seed);
    const node = new NodeReading();
    let plainly = 0;
    for (const bytes of corpus()) await readAlike(node, bytes);
    for (let index = 0; index < count; index++) {
      if (await readAlike(node, generated(random))) plainly++;
      if (index % 100_000 === 99_999) say(`${index + 1} read`);
    }
    assert.ok(plainly > count / 4, `only ${plainly} of ${count} were plain`);
    await using two = await TwoListeners.open();
    const stride = count < sizes.change ? few : 1;
    for (const [index, bytes] of corpus().entries()) {
      if ((index + seed) % stride === 0) await two.compare([bytes]);
    }
    say('all techniques tried');
    const cuts = await cut(two, random, stride);
    for (let index = 0; index < count / perConnection; index++) {
      const pieces = Array.from({ length: 1 + Math.floor(random() * 3) }, () => generated(random));
      await two.compare(pieces, random() < 0.8);
    }
    return { kind: 'proved', figures: { requests: count, 'read as plain': plainly, cuts } };
  },
};

/** Plain requests in two pieces, begun again behind a half one, and several at once. */
async function cut(two: TwoListeners, random: () => number, stride: number): Promise<number> {
  let cuts = 0;
  for (let index = 0; index < cutRequests; index++) {
    const bytes = Buffer.from(whole(plain(random)), 'latin1');
    const from = stride === 1 ? 1 : 1 + Math.floor(random() * stride);
    for (let at = from; at < bytes.length; at += stride) {
      await two.compare([bytes.subarray(0, at), bytes.subarray(at)]);
      if (random() < 0.2) await two.compare([bytes.subarray(0, at), bytes]);
      cuts++;
    }
    await two.compare([Buffer.concat([bytes, bytes]), bytes]);
    await two.compare([bytes, bytes, Buffer.concat([bytes, bytes, bytes.subarray(0, 9)])]);
  }
  return cuts;
}
