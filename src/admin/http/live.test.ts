/** The stream of live events, over real connections. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { ids } from '../../../test/fake/admin-ledger.ts';
import {
  adminToken,
  live,
  makeWorld,
  messageId,
  openAdmin,
  withToken,
} from '../../../test/fake/admin-world.ts';
import { listen } from '../../../test/fake/live-listener.ts';
import { until, within } from '../../../test/support/waiting.ts';
import type { LiveEvent } from '../../domain/live-event.ts';
import type { ChannelKey } from '../../domain/ids.ts';
import type { EventHub } from '../../telemetry/events.ts';
import { LiveEvents } from '../../telemetry/live-events.ts';
import { LiveListeners } from './live.ts';

const channel = 'webhook' as ChannelKey;
function refuse(events: EventHub, times: number, of = channel): void {
  for (let i = 0; i < times; i++) events.messageRefused({ channel: of, code: 'inbox_full' });
}
/** Makes events of a kilobyte, so that few of them fill a connection. */
const long = `messenger_a:${'7'.repeat(1_000)}` as ChannelKey;

test('each event is a frame with an id, a kind and a time, and nothing of anyone', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  const listener = await listen(admin.port);
  live(world.events);
  const target = { channel: 'webhook', conversation: ids.conversation, sender: ids.sender };
  world.events.operatorWrote({ action: 'forget', target, status: 200 });
  await listener.until(11);
  const [head] = listener.blocks;
  assert.match(head!, /^content-type: text\/event-stream\r$/im);
  assert.match(head!, /^x-content-type-options: nosniff\r$/im);
  assert.match(head!, /^x-accel-buffering: no\r$/im, 'no proxy gathers frames');
  assert.match(head!, /^cache-control: no-store, no-transform\r$/im, 'none compresses them');
  const { told } = listener;
  assert.deepEqual(
    told.map(({ event }) => event),
    [
      'message_accepted',
      'turn_started',
      'model_answered',
      'model_answered',
      'tool_used',
      'turn_finished',
      'reply_delivered',
      'message_refused',
      'delivery_failed',
      'dead_letter',
      'operator_wrote',
    ],
  );
  for (const { event, data } of told) assert.deepEqual([data.kind, data.at], [event, 1_000_000]);
  const numbers = told.map(({ id }) => Number(/^[0-9a-z]+-(\d+)$/.exec(id)![1]));
  assert.deepEqual(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  const [accepted] = told;
  const duplicate = false;
  const what = { kind: 'message_accepted', at: 1_000_000, channel, id: messageId, duplicate };
  assert.deepEqual(accepted?.data, what);
  for (const secret of [ids.conversation, ids.sender, 'the answer', 'governance']) {
    assert.ok(!JSON.stringify(told).includes(secret), secret);
  }
});

test('who comes back gets what it missed, and is told of what is gone', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  const first = await listen(admin.port);
  refuse(world.events, 5);
  await first.until(5);
  first.socket.destroy();
  const [, second] = first.told;
  const back = await listen(admin.port, `Last-Event-ID: ${second!.id}`);
  await back.until(5);
  assert.deepEqual(
    back.told.map(({ id }) => id.split('-')[1]),
    ['3', '4', '5'],
  );
  for (const upTo of [605, 1_205]) {
    refuse(world.events, 600);
    await back.until(upTo);
  }
  assert.equal(back.told.length, 1_203, 'who reads along misses nothing');
  const late = await listen(admin.port, `Last-Event-ID: ${second!.id}`);
  await late.until(1_205);
  const [dropped, ...rest] = late.told;
  assert.deepEqual(dropped?.data, { kind: 'dropped', at: 1_000_000, count: 203 });
  assert.equal(dropped.id.split('-')[1], '205', 'and who leaves now comes back behind it');
  assert.equal(rest.length, 1_000);
  assert.equal(rest[0]?.id.split('-')[1], '206');
});

test('who leaves before the first frame knows where it was', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  refuse(world.events, 3);
  const { blocks, socket } = await listen(admin.port);
  const place = `${world.ports.liveEvents.epoch}-3`;
  assert.ok(blocks.some((block) => block.endsWith(`retry: 2000\nid: ${place}`)));
  socket.destroy();
  refuse(world.events, 2);
  const back = await listen(admin.port, `Last-Event-ID: ${place}`);
  await back.until(5);
  assert.equal(back.told.length, 2);
  back.socket.destroy();
});

/** A response that keeps everything written to it. */
function kept() {
  const socket = new PassThrough();
  let text = '';
  socket.on('data', (part) => (text += String(part)));
  return { response: socket as unknown as ServerResponse, text: () => text };
}

test('of a frame that carries more than it should, the schema alone is told', async () => {
  const what = { kind: 'message_refused', at: 1, channel, code: 'inbox_full' } as const;
  const more = { ...what, instance: null, text: 'of ada' };
  const ring = {
    epoch: 'a',
    newest: 1,
    oldest: 1,
    at: (): LiveEvent => more,
    onLiveEvent: () => () => {},
  };
  using streams = new LiveListeners(ring, () => 1);
  const { response, text } = kept();
  streams.stream('a-0', 'reader')(response);
  await new Promise(setImmediate);
  assert.match(
    text(),
    /data: {"kind":"message_refused","at":1,"channel":"webhook","code":"inbox_full"}/,
  );
  assert.doesNotMatch(text(), /ada/);
});

test('the ring is asked to wake while somebody listens, and no longer', async () => {
  let waiting = 0;
  const ring = {
    epoch: 'a',
    newest: 0,
    oldest: 1,
    at: () => null,
    onLiveEvent() {
      waiting++;
      return () => waiting--;
    },
  };
  using streams = new LiveListeners(ring, () => 1);
  for (let round = 0; round < 3; round++) {
    const two = [kept().response, kept().response];
    for (const response of two) streams.stream(null, 'reader')(response);
    assert.equal(waiting, 1);
    for (const response of two) {
      response.destroy();
      await once(response, 'close');
    }
    assert.equal(waiting, 0);
  }
});

test('an id of another life of svc is no place in this one', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  refuse(world.events, 3);
  for (const id of ['zzz-2', 'lost', `${world.ports.liveEvents.epoch}-4`, '-', '1']) {
    const back = await listen(admin.port, `Last-Event-ID: ${id}`);
    await back.until(3);
    const [dropped, ...rest] = back.told;
    assert.deepEqual(dropped?.data, { kind: 'dropped', at: 1_000_000, count: null }, id);
    assert.equal(rest.length, 3, id);
    back.socket.destroy();
  }
  const fresh = await listen(admin.port, 'Last-Event-ID:');
  refuse(world.events, 1);
  await fresh.until(4);
  assert.equal(fresh.told.length, 1, 'without an id it begins with the next');
});

test('who is too slow is told how much it did not get, and nothing waits for it', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  const slow = await listen(admin.port);
  slow.socket.pause();
  const brisk = await listen(admin.port);
  // More than a connection buffers by itself.
  const rounds = 40;
  for (let round = 1; round <= rounds; round++) {
    refuse(world.events, 1_000, long);
    await brisk.until(round * 1_000);
  }
  assert.equal(brisk.told.length, rounds * 1_000);
  slow.socket.resume();
  await slow.until(rounds * 1_000);
  const told = slow.told;
  const counts = told.flatMap(({ data }) => (data.kind === 'dropped' ? [data.count!] : []));
  assert.ok(counts.length >= 1, 'it was dropped from');
  const missed = counts.reduce((sum, count) => sum + count, 0);
  assert.equal(told.length - counts.length + missed, rounds * 1_000, 'nothing is unaccounted for');
  slow.socket.destroy();
  brisk.socket.destroy();
});

test('24 may listen without the bearer, 32 in all, until one of them leaves', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world, { access: withToken });
  const bearer = `Authorization: Bearer ${adminToken}`;
  const statusOf = async (...lines: string[]): Promise<number> =>
    (await admin.send('GET', '/api/v1/events', ['Host: localhost', ...lines])).status;
  const readers = await Promise.all(Array.from({ length: 24 }, () => listen(admin.port)));
  const refused = await admin.get('/api/v1/events');
  assert.equal(refused.status, 503);
  assert.match(refused.body, /"too_many_clients"/);
  const operators = await Promise.all(Array.from({ length: 8 }, () => listen(admin.port, bearer)));
  assert.equal(await statusOf(bearer), 503);
  readers[7]!.socket.destroy();
  await until('a place for the bearer', async () => (await statusOf(bearer)) !== 503);
  await until('a place for anybody', async () => (await statusOf()) !== 503);
  for (const { socket } of [...readers, ...operators]) socket.destroy();
});

test('HEAD is answered at once, and takes no place', async () => {
  const world = makeWorld();
  await using admin = await openAdmin(world);
  for (let i = 0; i < 40; i++) {
    const { status, headers, body } = await admin.ask('HEAD', '/api/v1/events');
    assert.deepEqual([status, body], [200, '']);
    assert.equal(headers.get('content-type'), 'text/event-stream');
  }
  const tooLong = `Last-Event-ID: ${'9'.repeat(65)}`;
  const answer = await admin.send('GET', '/api/v1/events', ['Host: localhost', tooLong]);
  assert.equal(answer.status, 400);
});

test('the streams end with the server, also those that nobody reads', async () => {
  const world = makeWorld();
  const admin = await openAdmin(world);
  const listeners = [await listen(admin.port), await listen(admin.port)];
  listeners[1]!.socket.pause();
  for (let i = 0; i < 20; i++) {
    refuse(world.events, 1_000, long);
    await new Promise(setImmediate);
  }
  await admin[Symbol.asyncDispose]();
  await listeners[0]!.closed;
  listeners[1]!.socket.resume();
  await listeners[1]!.closed;
});

test('a comment comes in each pause, and who takes nothing for long is let go', async () => {
  const clock = 1_000_000;
  const liveEvents = new LiveEvents(() => clock);
  using streams = new LiveListeners(liveEvents, () => clock, { heartbeatMs: 5, heartbeatsMax: 3 });
  const server = createServer((_request, response) => streams.stream(null, 'reader')(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const idle = await listen(port);
  await idle.until(() => idle.blocks.filter((block) => block.endsWith(':')).length >= 3);
  const gone = new Promise((resolve) => {
    server.on('request', (_request, response) => response.on('close', resolve));
  });
  const stuck = await listen(port);
  stuck.socket.pause();
  let flooding: NodeJS.Immediate;
  const flood = (): void => {
    for (let i = 0; i < 1_000; i++) liveEvents.messageRefused({ channel, code: 'inbox_full' });
    flooding = setImmediate(flood);
  };
  flood();
  await within('the end of the one that takes nothing', gone);
  clearImmediate(flooding!);
  idle.socket.destroy();
  stuck.socket.destroy();
  server.close();
  await once(server, 'close');
});
