/** Checks the signature of a reply as a receiver does, with a third-party library. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import type { Reply } from '../../domain/reply.ts';
import { systemClock } from '../../lib/clock.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpClient } from '../../lib/http-client.ts';
import { Stopper } from '../../lib/stop.ts';
import { startReceiver, type Received } from '../../../test/fake/receiver.ts';
import { defaultMapping } from '../../../test/fake/webhook.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { createDeliver, type OutboundDeps } from './webhook.ts';
import { signingKeyFault } from '../../config/secret-value.ts';

const keyOf = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`;

const reply = {
  id: 'r1',
  inReplyTo: 'm1',
  conversation: '42',
  address: { channel: 'webhook', target: '42' },
  brain: 'helper',
  text: 'naïve 👩‍👩‍👧 \ud800 "quoted"\n\u0000',
  createdAt: 0,
  sessionStarted: null,
} as unknown as Reply;

/** The requests that a receiver got, one for each try. */
async function tries(more: Partial<OutboundDeps>, count = 1): Promise<readonly Received[]> {
  await using receiver = await startReceiver();
  const http = createHttpClient(createDeadlines(), { connectMs: patienceMs });
  const { url } = receiver;
  const parts = {
    url,
    mapping: defaultMapping,
    secret: null,
    signingKey: null,
    http,
    version: '1',
  };
  const deliver = createDeliver({ ...parts, ...systemClock, ...more });
  for (let number = 1; number <= count; number++) {
    const attempt = { number, possibleDuplicate: false, late: false };
    await deliver(reply, attempt, new Stopper());
  }
  await http.close();
  return receiver.received;
}

const headersOf = ({ headers }: Received): Record<string, string> =>
  headers as Record<string, string>;

test('a receiver verifies what was signed, and nothing that was changed', async () => {
  for (const bytes of [24, 25, 26, 32, 64]) {
    const signingKey = keyOf(bytes);
    const [got] = await tries({ signingKey });
    const verifying = new Webhook(signingKey);
    const headers = headersOf(got!);
    assert.deepEqual(verifying.verify(got!.text, headers), got!.body);
    const changed: readonly [string, Record<string, string>][] = [
      [got!.text.replace('helper', 'Helper'), headers],
      [got!.text, { ...headers, 'webhook-id': 'r2' }],
      [
        got!.text,
        { ...headers, 'webhook-timestamp': `${Number(headers['webhook-timestamp']) + 1}` },
      ],
    ];
    for (const [text, others] of changed) {
      assert.throws(() => verifying.verify(text, others), WebhookVerificationError);
    }
    const another = new Webhook(keyOf(bytes));
    assert.throws(() => another.verify(got!.text, headers), WebhookVerificationError);
  }
});

test('each try is signed anew, with its own time', async () => {
  const signingKey = keyOf(32);
  let now = Date.now();
  // A try reads the clock twice, and a verifier refuses anything that is five minutes old.
  const got = await tries({ signingKey, now: () => (now -= 10_000) }, 3);
  const signatures = got.map((one) => headersOf(one)['webhook-signature']);
  assert.equal(new Set(signatures).size, 3);
  for (const one of got) new Webhook(signingKey).verify(one.text, headersOf(one));
});

test('the bearer goes beside the signature; without a key there is none', async () => {
  const [both] = await tries({ signingKey: keyOf(32), secret: 'out' });
  assert.equal(both!.headers.authorization, 'Bearer out');
  assert.match(headersOf(both!)['webhook-signature']!, /^v1,[A-Za-z0-9+/]{43}=$/);
  const [plain] = await tries({});
  assert.equal('webhook-signature' in plain!.headers, false);
});

test('only whsec_ and base64 of 24 to 64 bytes is a key', () => {
  for (let bytes = 0; bytes <= 70; bytes++) {
    const fault = signingKeyFault(keyOf(bytes));
    assert.equal(fault === null, bytes >= 24 && bytes <= 64, String(bytes));
  }
  const good = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  assert.equal(signingKeyFault(good), null);
  const bad = [
    '',
    'whsec_',
    good.slice(6),
    good.toUpperCase(),
    `${good}=`,
    `${good}Zg`,
    `${good} `,
    good.replace('9', '-'),
    good.replace('9', '\n'),
    good.replace('whsec_', 'whpk_'),
    'hex:000102030405060708090a0b0c0d0e0f1011121314151617',
  ];
  for (const value of bad) {
    const { message, remedy } = signingKeyFault(value)!;
    assert.match(message, /^is no signing key: whsec_/);
    assert.match(remedy, /openssl rand -base64 32/);
    if (value.length > 6) assert.ok(!`${message}${remedy}`.includes(value.slice(6)));
  }
});
