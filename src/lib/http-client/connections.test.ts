import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs } from '../../../test/support/waiting.ts';
import { ownHttpVariable } from '../http-client.ts';
import { Connections, Connection, Exchange, type HttpResult } from './exchange.ts';
import { Stopper } from '../stop.ts';

class Told extends Connection {
  exchanges: Exchange[] = [];

  begin(exchange: Exchange): void {
    this.exchanges.push(exchange);
  }

  destroy(): Promise<void> {
    return Promise.resolve();
  }
}

function connectionsOf(max: number) {
  const opened: Told[] = [];
  const open = (): Connection => {
    const connection = new Told();
    opened.push(connection);
    return connection;
  };
  const all = new Connections(max, open);
  return { all, opened };
}

const clock = handClock();

function exchangeOf(stop?: Stopper): { exchange: Exchange; results: HttpResult[] } {
  const results: HttpResult[] = [];
  const request = {
    method: 'GET' as const,
    url: new URL('http://home.test/'),
    headers: {},
    body: null,
    deadlineAt: clock.in(1_000),
    bodyBytesMax: 1,
  };
  const exchange = new Exchange(request, stop, (result) => results.push(result), assert.ifError);
  exchange.watch(clock.deadlines);
  return { exchange, results };
}

test('the connection that was used last is taken first', () => {
  const { all, opened } = connectionsOf(3);
  for (let i = 0; i < 3; i++) all.take(exchangeOf().exchange);
  const [one, two, three] = opened as [Told, Told, Told];
  for (const connection of [two, three, one]) all.freed(connection);
  const next = Array.from({ length: 3 }, () => exchangeOf().exchange);
  for (const exchange of next) all.take(exchange);
  assert.equal(opened.length, 3);
  assert.deepEqual(
    [one, three, two].map(({ exchanges }) => exchanges.indexOf(next.shift()!)),
    [1, 1, 1],
  );
});

test('beyond the most, requests wait in their order, and not those that have given up', () => {
  const { all, opened } = connectionsOf(1);
  const stopper = new Stopper();
  all.take(exchangeOf().exchange);
  const [second, third, fourth] = [exchangeOf(), exchangeOf(stopper), exchangeOf()] as const;
  for (const { exchange } of [second, third, fourth]) all.take(exchange);
  stopper.stop();
  assert.deepEqual(third.results, [{ kind: 'fault', fault: 'cancelled', sent: false, code: null }]);
  const only = opened[0]!;
  all.freed(only);
  assert.equal(only.exchanges[1], second.exchange);
  all.gone(only);
  assert.equal(opened.length, 2, 'a new connection has come for the one that is gone');
  assert.equal(opened[1]?.exchanges[0], fourth.exchange);
  all.freed(opened[1]);
  all.gone(opened[1]);
  all.freed(only);
  all.take(exchangeOf().exchange);
  assert.equal(opened.length, 3, 'what is gone is never used again');
});

test('who waits when the client is closed is told so', async () => {
  const { all } = connectionsOf(1);
  all.take(exchangeOf().exchange);
  const waiting = exchangeOf();
  all.take(waiting.exchange);
  await all.close();
  assert.deepEqual(waiting.results, [
    { kind: 'fault', fault: 'cancelled', sent: false, code: 'UND_ERR_DESTROYED' },
  ]);
});

test('undici is loaded for https, or where own HTTP is switched off', async () => {
  const program = `
    import { createRequire } from 'node:module';
    import { createDeadlines } from './deadlines.ts';
    import { createHttpClient } from './http-client.ts';
    const loaded = () =>
      Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('undici'));
    const client = createHttpClient(createDeadlines(), { connectMs: ${patienceMs} });
    const told = [loaded()];
    for (const url of ['http://127.0.0.1:1/', 'https://127.0.0.1:1/']) {
      const result = await client.send({
        method: 'GET', url: new URL(url), headers: {}, body: null,
        deadlineAt: performance.now() + ${patienceMs}, bodyBytesMax: 1,
      });
      told.push(result.code, loaded());
    }
    process.stdout.write(JSON.stringify(told));
    await client.close();`;
  const cwd = `${import.meta.dirname}/..`;
  const toldWith = async (value: string): Promise<unknown> => {
    const env = { ...process.env, [ownHttpVariable]: value };
    const args = ['--input-type=module-typescript', '-e', program];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env });
    return JSON.parse(stdout);
  };
  const code = 'ECONNREFUSED';
  assert.deepEqual(await toldWith('on'), [false, code, false, code, true]);
  assert.deepEqual(await toldWith('off'), [false, code, true, code, true]);
});
