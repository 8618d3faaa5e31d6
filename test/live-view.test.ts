/** The live view's script, run against a document made of its own page. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { statusOf } from '../src/admin/status.ts';
import { live, makeWorld, webRoot } from './fake/admin-world.ts';
import { fakeDocument } from './fake/page.ts';

test('the live view shows the status, rests while unseen, and says when svc is gone', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const page = fakeDocument(readFileSync(join(webRoot, 'live', 'index.html'), 'utf8'));
  const world = makeWorld();
  live(world.events);
  world.clockMs += 3_720_000;
  let asked = 0;
  let gone = false;
  const answer = async (path: string): Promise<Response> => {
    assert.equal(path, '/api/v1/status');
    asked++;
    if (gone) throw new TypeError('fetch failed');
    return Response.json(statusOf(world.ports, 'read_only'));
  };
  t.mock.method(globalThis, 'fetch', answer);
  Object.assign(globalThis, { document: page });
  const round = async (): Promise<void> => {
    t.mock.timers.tick(2_000);
    await settle();
  };
  await import(pathToFileURL(join(webRoot, 'live', 'live.js')).href);
  await settle();

  assert.equal(page.text('health'), 'Working');
  assert.equal(page.text('uptime'), '1 h 2 min');
  const numbers = /^accepted 1 waiting 7 in flight 2 delivered 1 refused 1 .* dead letters 1/;
  assert.match(page.text('numbers'), numbers);
  assert.equal(page.text('notes'), 'webhook is degraded · 1 dead letter · 1 warning');
  assert.match(page.text('channels'), /webhook to main http:\S+:8090\/webhook degraded It is slow/);
  assert.match(page.text('channels'), /messenger_a unrouted .* 2 2/);
  assert.match(page.text('brains'), /hosted_runtime\/big .*cloud: never asked/);
  assert.match(page.text('times'), /Begun to decided \d\d ms/);
  assert.match(page.text('providers'), /^local_runtime timeout 1 1 1 \d\d ms$/);
  assert.match(page.text('warnings'), /Anyone can reach it\. channels\[0\]\.webhook\.bind: Bind/);
  assert.equal(page.element('first').hidden, true);
  assert.equal(page.element('main').dataset['heard'], 'now');
  assert.equal(page.element('warnings-section').hidden, false);

  await round();
  assert.equal(asked, 2);
  for (const id of ['health', 'numbers', 'brains']) {
    assert.equal(page.element(id).changes, 1, `${id} was replaced by the same`);
  }
  page.turn(true);
  await round();
  await round();
  assert.equal(asked, 2);
  gone = true;
  page.turn(false);
  await settle();
  assert.equal(asked, 3);
  assert.match(page.text('health'), /^No answer from the service since /);
  assert.match(page.title, /^svc: No answer/);
  assert.equal(page.element('main').dataset['heard'], 'before');
  gone = false;
  world.health = { status: 'failing', reason: 'The disk is full.' };
  await round();
  assert.equal(page.text('health'), 'Failing: The disk is full.');
  assert.equal(page.element('health').dataset['state'], 'failing');
  assert.equal(page.element('main').dataset['heard'], 'now');

  const empty = makeWorld();
  world.ports = {
    ...empty.ports,
    plan: () => ({ ...empty.ports.plan(), channels: [{ ...up, type: 'webhook' }] }),
  };
  await round();
  assert.equal(page.element('first').hidden, false);
  assert.match(page.text('first'), /Send one to http:\/\/127\.0\.0\.1:8090\/webhook;/);
  assert.match(page.text('providers'), /No model was asked yet/);
  assert.match(page.text('channels'), /heard of 1 min/);
});

const up = { state: 'up', since: 1_000_000, reason: null, lastSeenAt: 940_000 } as const;

/** Lets what was begun go as far as it can without a timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}
