/** A trial over the API, as events while it is under way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assertDescribed,
  operationsOf,
  requestOf,
  type OpenApi,
} from '../../test/admin/open-api.ts';
import { fakeTrials } from '../../test/fake/admin-trials.ts';
import { adminToken, makeWorld, openAdmin, withToken } from '../../test/fake/admin-world.ts';
import type { ConfigTrials } from './config-trials.ts';

const path = '/api/v1/config/try';

/** An admin server with these trials. */
async function start(tryBrain: ConfigTrials['tryBrain']) {
  const world = makeWorld();
  const trials = { ...fakeTrials(world.calls), tryBrain };
  const admin = await openAdmin(
    { ...world, ports: { ...world.ports, trials } },
    { access: withToken },
  );
  const api = JSON.parse((await admin.get('/api/v1/openapi.json')).body) as OpenApi;
  const operation = operationsOf(api).find((one) => one.path === path)!;
  const { body } = requestOf(operation, '');
  const authorization = `Bearer ${adminToken}`;
  const begin = (accept: string): Promise<Response> => {
    const headers = { authorization, accept, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${admin.port}${path}`;
    return fetch(url, { method: 'POST', headers, body });
  };
  const ask = async (accept: string) => {
    const answer = await begin(accept);
    const told = { status: answer.status, headers: answer.headers, body: await answer.text() };
    if (answer.ok) assertDescribed(api, operation, told);
    return told;
  };
  return { world, begin, ask, [Symbol.asyncDispose]: () => admin[Symbol.asyncDispose]() };
}

test('a bug in the middle of a growing trial is its last event, and told in the log', async () => {
  await using started = await start(async (_draft, _left, show) => {
    show?.('');
    show?.('One \ud83d');
    show?.('One');
    show?.('One \ud83d\ude00');
    await new Promise(setImmediate);
    throw new Error('a bug');
  });
  const { status, body } = await started.ask('text/event-stream');
  assert.equal(status, 200);
  const data = [...body.matchAll(/^data: (.*)$/gm)].map(([, one]) => JSON.parse(one!) as object);
  assert.deepEqual(data.slice(0, -1), [
    { kind: 'more', text: 'One ' },
    { kind: 'more', text: '\ud83d\ude00' },
  ]);
  assert.match(JSON.stringify(data.at(-1)), /"kind":"problem".*"status":500.*"code":"fault"/);
  assert.match(started.world.log(), /a bug/);
});

test('of a trial whose model says nothing for long, a proxy hears that it goes on', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const [asked, says] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using started = await start(async (draft, left) => {
    asked.resolve();
    await says.promise;
    return trying(draft, left);
  });
  const answer = started.begin('text/event-stream');
  await asked.promise;
  t.mock.timers.tick(15_000);
  const { status, body } = await answer;
  assert.equal(status, 200);
  t.mock.timers.tick(15_000);
  says.resolve();
  const text = await new Response(body).text();
  assert.match(text, /^:\n\nevent: result\n/);
});

test('a bug before the brain is asked is the answer', async () => {
  await using started = await start(() => Promise.reject(new Error('a bug')));
  assert.equal((await started.ask('text/event-stream')).status, 500);
});

const trying: ConfigTrials['tryBrain'] = (draft, left) => fakeTrials([]).tryBrain(draft, left);

test('events are for who names their type, whatever else is accepted', async () => {
  await using started = await start(trying);
  const types = [
    ['application/json, text/event-stream', 'text/event-stream'],
    ['Text/Event-Stream; q=0.9', 'text/event-stream'],
    ['*/*', 'application/json'],
    ['text/event-streams', 'application/json'],
  ] as const;
  for (const [accept, type] of types) {
    const { headers } = await started.ask(accept);
    assert.equal(headers.get('content-type'), type, accept);
  }
});
