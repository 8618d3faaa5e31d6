/** How bytes before an answer, and a body that nobody wants, affect a connection. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, mock, suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { StreamSocket } from '../../../test/chaos/plain-client/memory-socket.ts';
import { startWeb } from '../../../test/fake/web.ts';
import { handClock } from '../../../test/support/hand-clock.ts';
import { patienceMs, until } from '../../../test/support/waiting.ts';
import { createHttpClient } from '../http-client.ts';
import { Connections, Exchange, drainMs, type HttpRequest, type HttpResult } from './exchange.ts';
import { UndiciConnection } from './undici-connection.ts';

type Way = 'plain' | 'by undici' | 'over TLS';

const fixture = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../test/fixtures/tls', name), 'utf8');

/** A client with one connection at a time, and a server whose first answer is this. */
async function bench(way: Way, first: string, rest: Promise<string | null>) {
  const tls = { key: fixture('shop.key.pem'), cert: fixture('shop.pem') };
  const web = await startWeb(
    {
      '/first': (socket) => {
        socket.write(first, 'latin1');
        const goOn = (text: string | null): unknown =>
          text === null || (text === '' ? socket.end() : socket.write(text));
        void rest.then(goOn);
      },
      // With node:http it would wait for an answer to the first request.
      '/second': (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
    },
    way === 'over TLS' ? { tls } : {},
  );
  const clock = handClock();
  const options = { connections: 1, connectMs: patienceMs, plain: way === 'plain' };
  const client = createHttpClient(clock.deadlines, options);
  const origin = way === 'over TLS' ? `https://shop.example:${web.port}` : web.origin;
  return {
    web,
    clock,
    client,
    post: (path: string, more: Partial<HttpRequest> = {}) =>
      client.send({
        method: 'POST',
        url: new URL(path, origin),
        headers: {},
        body: '{}',
        deadlineAt: clock.in(10 * drainMs),
        bodyBytesMax: 65_536,
        discardBody: true,
        ...more,
      }),
    async [Symbol.asyncDispose](): Promise<void> {
      await client.close();
      await web[Symbol.asyncDispose]();
    },
  };
}

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const refused = 'HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n';
const packed = `${ok}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\b`;
const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`;

/**
 * The bytes that come at once, and the bytes after the status is known; '': the end of the
 * connection.
 */
const kept: readonly [what: string, first: string, rest: string | null][] = [
  ['none', `${ok}Content-Length: 0\r\n\r\n`, null],
  ['with a length', `${ok}Content-Length: 11\r\n\r\n{"ok":true}`, null],
  ['in chunks', `${chunked}2\r\nok\r\n0\r\n\r\n`, null],
  ['packed by gzip', packed, null],
  ['of a refusal', `${refused}Content-Length: 4\r\n\r\nbusy`, null],
  ['that comes later', `${ok}Content-Length: 2\r\n\r\n`, 'ok'],
  ['whose chunks come later', chunked, '2\r\nok\r\n0\r\n\r\n'],
  ['whose chunks are cut anywhere', `${chunked}2\r\no`, 'k\r\n0\r\n\r\n'],
  ['with extensions and a trailer', `${chunked}2\r\nok\r\n`, '2;a=b\r\nok\r\n0\r\nX-T: a\r\n\r\n'],
  // nodejs/node#24580: `{}` behind a 204, by a framework for PHP.
  ['none, though a length is said', 'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n', null],
  ['of 64 KiB', `${ok}Content-Length: 65536\r\n\r\n`, 'x'.repeat(65_536)],
];
const closed: typeof kept = [
  ['of one byte more', `${ok}Content-Length: 65537\r\n\r\n`, 'x'.repeat(65_537)],
  ['behind a 204', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}', null],
  ['in more chunks', chunked, chunk.repeat(3)],
  ['before a close', `${ok}Connection: close\r\nContent-Length: 2\r\n\r\nok`, null],
  ['that breaks off', `${ok}Content-Length: 5\r\n\r\nhe`, ''],
  ['without a length, by HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok', ''],
];
const endless: typeof kept = [
  ['that never comes', `${ok}Content-Length: 2\r\n\r\n`, null],
  ['that does not end', `${chunked}2\r\nok\r\n`, null],
  ['that does not end, by HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nok', null],
];

/** Answers with a plain status, and with a head or body that undici refuses. */
const unreadable: readonly [what: string, answer: string][] = [
  // nodejs/node#43798, benoitc/hackney#706: a device, an SMS service.
  ['lines without CR', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
  ['lines without CR but the first', `${ok}Content-Length: 2\nServer: a\r\n\r\nok`],
  // nodejs/node#7136
  ['a length and chunks', `${ok}Content-Length: 12\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  // nodejs/node#6517, dart-lang/sdk#45679: an ESP8266.
  ['its length twice', `${ok}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`],
  // AdguardTeam/CoreLibs#870: a log among the fields.
  ['a name with a space', `${ok}Content Type: text/html\r\nContent-Length: 2\r\n\r\nok`],
  // nodejs/node#4480
  ['a field without a name', `${ok} : \r\nContent-Length: 2\r\n\r\nok`],
  ['a control character', `${ok}X-A: \x01\r\nContent-Length: 2\r\n\r\nok`],
  ['a head that is too long', `${ok}X-A: ${'a'.repeat(70_000)}\r\nContent-Length: 2\r\n\r\nok`],
  ['no reason, and lines without CR', 'HTTP/1.1 200\nContent-Length: 2\n\nok'],
  ['1.0 and lines without CR', 'HTTP/1.0 200 OK\nContent-Length: 2\n\nok'],
  ['an interim answer before it', `HTTP/1.1 103 Early\r\n\r\n${ok} : \r\n\r\n`],
];
const noStatus: typeof unreadable = [
  ['another protocol', 'ICY 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['four digits', 'HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['no digits', 'HTTP/1.1 OK\r\nContent-Length: 2\r\n\r\nok'],
  ['what comes behind a broken interim answer', `HTTP/1.1 103 Early\r\n : \r\n\r\n${ok}\r\n`],
  ['what comes behind one of four digits', `HTTP/1.1 1022 No\r\n\r\n${ok}\r\n`],
  ['an interim answer alone', 'HTTP/1.1 103 Early\r\n : \r\n\r\n'],
];

/**
 * RFC 9110, 15.2: a client skips interim answers, however many there are, and whether it expected
 * them.
 */
const interim: readonly [what: string, text: string][] = [
  ['100 Continue', 'HTTP/1.1 100 Continue\r\n\r\n'],
  // As XRootD wrote it (xrootd/xrootd#1120).
  ['100 with fields', 'HTTP/1.1 100\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n'],
  ['102 Processing', 'HTTP/1.1 102 Processing\r\n\r\n'],
  ['103 Early Hints', 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'],
  ['one that nobody has named yet', 'HTTP/1.1 199 Soon\r\n\r\n'],
];
const allInterim = interim.map(([, text]) => text).join('');

const testsOf = (way: Way) => (): void => {
  for (const [what, text] of [...interim, ['all of these, twice', allInterim.repeat(2)] as const]) {
    test(`reads past ${what}, and keeps the connection`, async () => {
      const answer = `${ok}Content-Length: 17\r\n\r\nHTTP/1.1 100 here`;
      await using it = await bench(way, text + answer, Promise.resolve(null));
      for (let asked = 0; asked < 3; asked++) {
        const result = await it.post('/first', { discardBody: false });
        assert.ok(result.kind === 'answer' && result.status === 200, JSON.stringify(result));
        assert.equal(result.body, 'HTTP/1.1 100 here');
      }
      assert.equal(it.web.connections, 1);
      assert.equal(it.web.visits.length, 3, 'nothing is sent again');
    });
  }

  test('reads past interim answers that are cut anywhere', async () => {
    const [goOn, hint] = [interim[0]![1], interim[3]![1]];
    const all = `${goOn}${hint}${goOn}${ok}Content-Length: 2\r\n\r\nok`;
    await using it = await bench(way, '', Promise.resolve(null));
    for (let at = 1; at < all.length; at++) {
      it.web.pages.set('/cut', (socket) => {
        socket.write(all.slice(0, at));
        // The client reads in between.
        void setImmediate()
          .then(() => setImmediate())
          .then(() => socket.write(all.slice(at)));
      });
      const result = await it.post('/cut', { discardBody: false });
      assert.ok(result.kind === 'answer' && result.body === 'ok', `${at}: ${result.kind}`);
    }
    assert.equal(it.web.connections, 1);
  });

  test('takes no other protocol for an answer', async () => {
    const upgrade = 'Connection: upgrade\r\nUpgrade: websocket\r\n\r\n';
    await using it = await bench(way, `HTTP/1.1 101 Over\r\n${upgrade}`, Promise.resolve(null));
    const result = await it.post('/first');
    assert.ok(result.kind === 'fault' && result.fault === 'connection_lost' && result.sent);
  });

  for (const [what, answer] of unreadable) {
    test(`takes the status of an answer with ${what} where no body is wanted`, async () => {
      await using it = await bench(way, answer, Promise.resolve(''));
      const whole = await it.post('/first', { discardBody: false });
      assert.ok(whole.kind === 'fault' && whole.fault === 'connection_lost' && whole.sent);
      const status = await it.post('/first');
      assert.ok(status.kind === 'answer' && status.status === 200, JSON.stringify(status));
      assert.equal((await it.post('/second')).kind, 'answer');
      assert.equal(it.web.connections, 3, 'nothing else goes over such a connection');
    });
  }

  for (const [what, answer] of noStatus) {
    test(`takes no status of ${what}`, async () => {
      await using it = await bench(way, answer, Promise.resolve(''));
      const result = await it.post('/first');
      assert.ok(result.kind === 'fault' && result.fault === 'connection_lost' && result.sent);
    });
  }

  for (const [what, first, rest] of [...kept, ...closed]) {
    const isKept = kept.some(([other]) => other === what);
    test(`${isKept ? 'keeps' : 'closes'} the connection of a body ${what}`, async () => {
      const told = Promise.withResolvers<string | null>();
      await using it = await bench(way, first, told.promise);
      const status = Number(first.slice(9, 12));
      const result = await it.post('/first');
      assert.ok(result.kind === 'answer' && result.status === status && result.body === '');
      told.resolve(rest);
      // The limit is one connection, so the exchange waits for the connection before it, or for its
      // end.
      assert.equal((await it.post('/second')).kind, 'answer');
      assert.equal(it.web.connections, isKept ? 1 : 2);
      assert.equal(it.web.visits.length, 2, 'nothing is sent again');
    });
  }

  for (const [what, first] of endless) {
    test(`gives a body ${what} a short time, and then its place to the next`, async () => {
      await using it = await bench(way, first, Promise.resolve(null));
      const result = await it.post('/first');
      assert.ok(result.kind === 'answer' && result.status === 200);
      const second = it.post('/second');
      it.clock.pass(drainMs - 1);
      await new Promise<void>((resolve) => it.clock.deadlines.at(it.clock.in(0), resolve));
      assert.equal(it.clock.deadlines.size, 2, 'the time of the first is not over');
      it.clock.pass(1);
      assert.equal((await second).kind, 'answer');
      assert.equal(it.web.connections, 2);
      await until('the end of the first', () => it.web.open === 1);
      await setImmediate();
      assert.equal(it.clock.deadlines.size, 0, 'no deadline is left behind');
    });

    test(`is closed at once, though a body ${what} is under way`, async () => {
      await using it = await bench(way, first, Promise.resolve(null));
      assert.equal((await it.post('/first')).kind, 'answer');
      await it.client.close();
      await until('the end of the connection', () => it.web.open === 0);
      assert.equal(it.clock.deadlines.size, 0);
    });
  }
};

suite('the plain client', { concurrency: true }, testsOf('plain'));
suite('undici alone', { concurrency: true }, testsOf('by undici'));
suite('undici over TLS', { concurrency: true }, () => {
  const usual = getCACertificates();
  before(() => {
    setDefaultCACertificates([...usual, fixture('authority.pem')]);
    const found = [{ address: '127.0.0.1', family: 4 }];
    mock.method(dns, 'lookup', (_: string, options: object, tell: typeof told) =>
      'all' in options ? tell(null, found) : tell(null, found[0]!.address, 4),
    );
  });
  after(() => {
    mock.restoreAll();
    setDefaultCACertificates(usual);
  });
  testsOf('over TLS')();
});

/** Like TLS at times: it reports the written bytes as sent only after the answer. */
class LateSocket extends StreamSocket {
  override _write(bytes: Buffer, encoding: string, done: () => void): void {
    super._write(bytes, encoding, () => globalThis.setImmediate(done));
    queueMicrotask(() => this.brings(Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`)));
  }
}

test('a socket that tells late what it has sent is used again', async () => {
  const clock = handClock();
  let sockets = 0;
  const all = new Connections(1, (owner) => {
    const connect = (_where: object, connected: (error: null, socket: never) => void): void => {
      sockets++;
      globalThis.setImmediate(() => connected(null, new LateSocket() as never));
    };
    return new UndiciConnection('http://home.test', connect, owner);
  });
  for (let asked = 0; asked < 3; asked++) {
    const result = await new Promise<HttpResult>((resolve, reject) => {
      const url = new URL('http://home.test/');
      const wanted = { deadlineAt: clock.in(1_000), bodyBytesMax: 10 };
      const request = { method: 'GET', url, headers: {}, body: null, ...wanted } as const;
      const exchange = new Exchange(request, undefined, resolve, reject);
      exchange.watch(clock.deadlines);
      all.take(exchange);
    });
    assert.ok(result.kind === 'answer' && result.body === 'ok');
  }
  assert.equal(sockets, 1);
  await all.close();
});

declare const told: (error: null, found: unknown, family?: number) => void;
