import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from 'pg';
import { ConnectError } from './connect.ts';
import { ServerReads } from './reads.ts';
import { setTimeout as pause } from 'node:timers/promises';

const long = 60_000;
const asked = { text: 'SELECT 1', values: [] };

/** An error of the server, with its code. */
function refusal(code: string, message: string): ConnectError {
  return new ConnectError(code, message, 'a host', { code, message, routine: 'here' });
}

/** A connection that gives these answers in turn: rows, or an error. */
function clientOf(...answers: (readonly object[] | Error)[]): Client {
  const query = (): Promise<unknown> => {
    const answer = answers.shift()!;
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ rows: answer });
  };
  const connection = { stream: { destroy() {} } };
  return { query, connection } as unknown as Client;
}

const lost = Object.assign(new Error('lost'), { code: 'ECONNRESET' });

test('a server whose disk is full is asked again, whatever it says to a connection', async () => {
  const full = Object.assign(new Error('no room'), { code: '53100' });
  const connections: (Client | Error)[] = [
    clientOf([{ n: 1 }], full, [{ n: 2 }], lost),
    refusal('XX000', 'could not write init file'),
    refusal('53100', 'no space left on device'),
    clientOf([{ n: 3 }]),
  ];
  await using reads = new ServerReads(async () => {
    const next = connections.shift()!;
    if (next instanceof Error) throw next;
    return next;
  }, long);
  assert.deepEqual(await reads.ask(asked), [{ n: 1 }]);
  assert.deepEqual(await reads.ask(asked), [{ n: 2 }], 'the question was asked again');
  assert.deepEqual(await reads.ask(asked), [{ n: 3 }], 'until there was a connection');
});

test('what is owed at the end is heard before the connection goes', async () => {
  const { promise, resolve } = Promise.withResolvers<{ rows: object[] }>();
  const told: string[] = [];
  const connection = { stream: { destroy: () => void told.push('cut') } };
  const client = { query: () => promise, connection } as unknown as Client;
  const reads = new ServerReads(async () => client, long);
  const answer = reads.ask(asked);
  await new Promise(setImmediate);
  const ended = reads[Symbol.asyncDispose]();
  await new Promise(setImmediate);
  assert.deepEqual(told, []);
  resolve({ rows: [{ n: 1 }] });
  assert.deepEqual(await answer, [{ n: 1 }]);
  await ended;
  assert.deepEqual(told, ['cut']);
});

test('a connection that never was is not waited for', async () => {
  const refused = refusal('28P01', 'password authentication failed');
  await using reads = new ServerReads(() => Promise.reject(refused), long);
  await assert.rejects(reads.ask(asked), refused);
});

test('a fault of the question is told', async () => {
  const fault = Object.assign(new Error('no such column'), { code: '42703' });
  await using reads = new ServerReads(async () => clientOf(fault, [{ n: 1 }]), long);
  await assert.rejects(reads.ask(asked), fault);
  assert.deepEqual(await reads.ask(asked), [{ n: 1 }]);
});

/** A dead connection: nothing is answered until it is cut. */
function silent(): Client {
  const cut = Promise.withResolvers<never>();
  const connection = { stream: { destroy: () => cut.reject(lost) } };
  return { query: () => cut.promise, connection } as unknown as Client;
}

test('a connection that answers nothing is given up, and all is asked over another', async () => {
  const connections = [silent(), clientOf([{ n: 1 }], [{ n: 2 }])];
  await using reads = new ServerReads(async () => connections.shift()!, 20);
  const answers = await Promise.all([reads.ask(asked), reads.ask(asked)]);
  const numbers = answers.flat().map((row) => Number(row['n']));
  assert.deepEqual(new Set(numbers), new Set([1, 2]));
  assert.equal(connections.length, 0);
});

test('a server that is slow is waited for longer each time, until it answers', async () => {
  /** Later than the first timeout; a slow machine asks once more. */
  const replyDelayMs = 300;
  const slow = (): Client => {
    const cut = Promise.withResolvers<never>();
    const answer = pause(replyDelayMs, { rows: [{ n: 1 }] });
    const connection = { stream: { destroy: () => cut.reject(lost) } };
    return { query: () => Promise.race([answer, cut.promise]), connection } as unknown as Client;
  };
  await using reads = new ServerReads(async () => slow(), 25);
  assert.deepEqual(await reads.ask(asked), [{ n: 1 }]);
});
