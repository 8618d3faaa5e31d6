/** Searching messages over the API: who may find what, and the audit of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ids, said } from '../../test/fake/admin-ledger.ts';
import { adminToken, makeWorld, openAdmin, withToken } from '../../test/fake/admin-world.ts';

const head = ['Host: localhost'];
const asOperator = [...head, `Authorization: Bearer ${adminToken}`];

async function start() {
  const world = makeWorld();
  const admin = await openAdmin(world, { access: withToken });
  return {
    world,
    get: (path: string, headers = asOperator) => admin.send('GET', `/api/v1/${path}`, headers),
    [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose](),
  };
}

test('who may read finds ids, and nothing that a person wrote or is', async () => {
  await using started = await start();
  const { status, body } = await started.get('search?q=0123456&limit=5', head);
  assert.equal(status, 200);
  assert.deepEqual(started.world.calls.at(-1), ['foundIds', '0123456', { after: null, limit: 5 }]);
  assert.ok(body.includes(ids.message));
  for (const text of [said, ids.sender, ids.conversation]) assert.ok(!body.includes(text));
});

test('texts are found by the operator alone', async () => {
  await using started = await start();
  const { world, get } = started;
  assert.equal((await get('search/texts?q=parcel', head)).status, 401);
  assert.deepEqual(world.calls, []);
  const { status, body } = await get('search/texts?q=parcel%20%22');
  assert.equal(status, 200);
  assert.deepEqual(world.calls[0], ['foundTexts', 'parcel "', { after: null, limit: 100 }]);
  const { rows, complete, indexedSince } = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual([complete, indexedSince], [false, 500]);
  const [row] = rows as readonly Record<string, unknown>[];
  assert.deepEqual(row!['excerpt'], { text: said, hits: [{ from: 12, to: 18 }] });
});

test('the audit keeps how much was searched for, and not what', async () => {
  await using started = await start();
  const { world, get } = started;
  await get('search/texts?q=parcel');
  const { at, ...kept } = world.audited!.at(-1)!;
  assert.equal(typeof at, 'number');
  assert.deepEqual(kept, {
    action: 'search_texts',
    target: { characters: '6' },
    status: 200,
    reason: null,
  });
  assert.equal(world.audited?.length, 1);
  await get('search?q=0123456');
  assert.equal(world.audited?.length, 1, 'an id is nobody’s text');
});

test('a question that is too long is 400, and nothing is asked', async () => {
  await using started = await start();
  for (const path of ['search', 'search/texts']) {
    assert.equal((await started.get(`${path}?q=${'x'.repeat(201)}`)).status, 400);
  }
  assert.deepEqual(started.world.calls, []);
});

test('a message is found by the id that an answer of the completions API has', async () => {
  await using started = await start();
  const { world, get } = started;
  for (const path of ['search?q=chatcmpl-0123456', 'messages/chatcmpl-0123456']) await get(path);
  await get('messages/chatcmpl-0123456/text');
  assert.deepEqual(
    world.calls.map(([, id]) => id),
    ['0123456', '0123456', '0123456'],
  );
});
