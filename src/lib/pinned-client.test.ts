import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { floods, noFloods } from '../../test/fake/floods.ts';
import { fromNow } from '../../test/support/hand-clock.ts';
import { startWeb } from '../../test/fake/web.ts';
import { patienceMs } from '../../test/support/waiting.ts';
import { createDeadlines } from './deadlines.ts';
import { sendPinned, type PinnedResult } from './pinned-client.ts';

const ask = (address: string): Promise<PinnedResult> =>
  sendPinned(
    {
      method: 'GET',
      url: new URL(address),
      address: '127.0.0.1',
      headers: {},
      body: null,
      deadlineAt: fromNow(patienceMs),
      connectDeadlineAt: fromNow(patienceMs),
      bodyBytesMax: 1_000_000,
      wantsBody: () => true,
    },
    createDeadlines(),
    new AbortController().signal,
  );

const variable = 'NODE_TLS_REJECT_UNAUTHORIZED';

test('a certificate that nobody vouches for is refused, whatever Node is told', async () => {
  const fixture = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../../test/fixtures/tls', name), 'utf8');
  const tls = { key: fixture('shop.key.pem'), cert: fixture('shop.pem') };
  await using web = await startWeb({ '/': { body: 'shop' } }, { tls });
  const before = process.env[variable];
  process.env[variable] = '0';
  try {
    const result = await ask(`https://shop.example:${web.port}/`);
    assert.equal(result.kind === 'fault' && result.code, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE');
  } finally {
    if (before === undefined) delete process.env[variable];
    else process.env[variable] = before;
  }
  assert.equal(web.visits.length, 0);
});

test('an answer that is drowned in what comes beside it is read no further', async () => {
  const decent = Object.entries(noFloods).map(([path, [show]]) => [path, show] as const);
  await using web = await startWeb({ ...floods, ...Object.fromEntries(decent) });
  for (const path of Object.keys(floods)) {
    const result = await ask(web.origin + path);
    assert.equal(result.kind === 'fault' && result.fault, 'answer_too_large', path);
  }
  for (const [path, [, body]] of Object.entries(noFloods)) {
    const result = await ask(web.origin + path);
    assert.equal(result.kind === 'answer' && result.body.toString(), body, path);
  }
});
