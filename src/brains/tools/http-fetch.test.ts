import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { systemClock } from '../../lib/clock.ts';
import { bodyOf, fetchWith, show } from '../../../test/fake/fetches.ts';
import { closedPort } from '../../../test/fake/closed-port.ts';
import { noReserved } from '../../../test/fake/reserved.ts';
import { endless, startWeb, type Page, type Show, type Web } from '../../../test/fake/web.ts';
import { fromNow, handClock } from '../../../test/support/hand-clock.ts';
import { callTool } from '../../../test/agents/tool-call.ts';
import { createDeadlines } from '../../lib/deadlines.ts';
import { createHttpFetch } from './http-fetch.ts';

const html = (body: string | Buffer, type = 'text/html'): Page => ({
  headers: { 'content-type': type },
  body,
});

suite('http_fetch', { concurrency: 4 }, () => {
  test('asks plainly, and tells the status, where from, what kind, and the text', async () => {
    await using web = await startWeb({ '/a?b=c%20d': { body: 'hello\nworld' } });
    const allowHosts = ['127.0.0.1'];
    const called = await fetchWith({ allowHosts }, `${web.origin}/a?b=c d#e`);
    const text = `Status 200 from ${web.origin}/a?b=c%20d, text/plain:\nhello\nworld`;
    assert.deepEqual(called, { kind: 'done', text, cut: false });
    assert.deepEqual(web.visits, [
      {
        method: 'GET',
        path: '/a?b=c%20d',
        headers: {
          accept: 'text/html, text/plain, application/json, */*;q=0.1',
          'accept-encoding': 'identity',
          connection: 'close',
          host: `127.0.0.1:${web.port}`,
          'user-agent': 'svc/1.2.3',
        },
        body: '',
      },
    ]);
    const missing = await fetchWith({ allowHosts }, `${web.origin}/other`);
    assert.deepEqual(missing, {
      kind: 'done',
      text: `Status 404 from ${web.origin}/other, text/plain:\nnot here`,
      cut: false,
    });
  });

  test('a page comes as its text', async () => {
    const page = html('<title>T</title><p>one &amp; two<script>no()</script><p>three');
    assert.equal(bodyOf(await show(page)), 'T\none & two\nthree');
  });

  test('text is read in the character set that it says', async () => {
    const latin = Buffer.from('<p>caf\xe9', 'latin1');
    const said = Buffer.from('<meta charset="iso-8859-1"><p>caf\xe9', 'latin1');
    const marked = Buffer.from('\ufeff<meta charset="latin1"><p>café');
    for (const page of [
      html('<p>café'),
      html(latin, 'text/html; charset=ISO-8859-1'),
      html(latin, 'text/html;charset="windows-1252"'),
      html(said),
      html(marked),
      html(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=latin1'),
    ]) {
      assert.equal(bodyOf(await show(page)), 'café');
    }
    const unknown = await show(html('x', 'text/plain; charset=x-martian'));
    assert.match(unknown.text, /character set that is not known/);
  });

  test('what is not text is not read', async () => {
    for (const type of ['image/png', 'application/octet-stream', 'application/pdf', 'video/mp4']) {
      const called = await show(html('PNG', type));
      assert.equal(called.kind, 'failed');
      assert.match(
        called.text,
        /^Status 200 from .*\. Its content is not text, and was not read\.$/,
      );
    }
    for (const type of [
      'application/json',
      'application/problem+json',
      'image/svg+xml',
      'text/csv',
    ]) {
      assert.equal(
        (await show(html('{}', type))).kind,
        type.startsWith('image') ? 'failed' : 'done',
      );
    }
    assert.match((await show({ body: 'a\0b' })).text, /\[this is not text\]/);
  });

  test('compressed content, which was not asked for, is never unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000));
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'x']) {
      const headers = { 'content-encoding': encoding, 'content-type': 'text/plain' };
      const called = await show({ headers, body: bomb });
      assert.equal(called.kind, 'failed');
      assert.match(called.text, /compressed/);
    }
  });

  test('a long text is cut with a mark, at a character', async () => {
    const called = await show({ body: 'ä'.repeat(100) }, { bytesMax: 11 });
    assert.ok(called.kind === 'done' && called.cut);
    assert.equal(bodyOf(called), 'äääää\n[cut: there is more]');
    assert.equal(bodyOf(await show({ body: 'ä'.repeat(5) }, { bytesMax: 10 })), 'äääää');
  });

  test('a text without an end is read so far and no further', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n';
    await using web = await startWeb({ '/': endless(head, 'x'.repeat(65_536)) });
    const allowHosts = ['127.0.0.1'];
    const called = await fetchWith({ allowHosts, bytesMax: 1_000 }, web.origin);
    assert.equal(bodyOf(called), `${'x'.repeat(1_000)}\n[cut: there is more]`);
    await closed(web);
  });

  test('an answer that takes too long ends at the deadline, in its head or its body', async () => {
    // It drips until the call ends, however long that takes.
    const dripMs = 5;
    const slow: readonly ((flows: () => void) => Show)[] = [
      (flows) => () => flows(),
      (flows) => endless('HTTP/1.1 200 OK\r\n', 'x: y\r\n', dripMs, flows),
      (flows) => endless('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n', 'x', dripMs, flows),
      (flows) => endless('', 'HTTP/1.1 100 Continue\r\n\r\n', dripMs, flows),
    ];
    for (const page of slow) {
      const flowing = Promise.withResolvers<void>();
      await using web = await startWeb({ '/': page(flowing.resolve) });
      const clock = handClock();
      const deadlineAt = clock.in(20);
      const settings = { allowHosts: ['127.0.0.1'] };
      const calling = fetchWith(settings, web.origin, { deadlineAt }, clock);
      await flowing.promise;
      clock.pass(20);
      const text = 'The answer did not come whole in time.';
      assert.deepEqual(await calling, { kind: 'failed', text });
      await closed(web);
    }
  });

  test('a head without an end, or that is none, breaks the connection off', async () => {
    const broken: readonly Show[] = [
      endless('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(1_000)}\r\n`),
      endless('HTTP/1.1 200 OK\r\nx: ', 'y'.repeat(10_000)),
      (socket) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'),
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nhalf'),
      (socket) =>
        void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nhalf'),
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n'),
      (socket) =>
        void socket.end(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
        ),
      (socket) => void socket.resetAndDestroy(),
      (socket) => void socket.end(),
    ];
    for (const page of broken) {
      const called = await show(page);
      assert.equal(called.kind, 'failed', JSON.stringify(called));
      assert.match(called.text, /broke off/);
    }
  });

  test('it ends at once when the turn does', async () => {
    await using web = await startWeb({ '/': () => {} });
    const turn = new AbortController();
    const { signal } = turn;
    const calling = fetchWith({ allowHosts: ['127.0.0.1'] }, web.origin, { signal });
    while (web.visits.length === 0) await tick();
    turn.abort();
    assert.deepEqual(await calling, { kind: 'failed', text: 'The call was cancelled.' });
    await closed(web);
    const after = await fetchWith({ allowHosts: ['127.0.0.1'] }, web.origin, { signal });
    assert.equal(after.kind, 'failed');
    assert.equal(web.connections, 1);
  });

  test('an address that nobody listens on gives way to the next', async () => {
    await using web = await startWeb({ '/': { body: 'here' } });
    const settings = {
      allowHosts: ['two.example', 'localhost'],
      names: { 'two.example': ['127.0.0.2', '::1', '127.0.0.1'] },
    };
    const called = await fetchWith(settings, `http://two.example:${web.port}/`);
    assert.equal(bodyOf(called), 'here');
    assert.equal(web.visits[0]!.headers.host, `two.example:${web.port}`);
    const gone = await fetchWith(settings, `http://two.example:${closedPort}/`);
    assert.deepEqual(gone, {
      kind: 'failed',
      text: 'No connection could be made (ECONNREFUSED).',
    });
  });

  test('a name that is not resolved in time holds nothing up', async () => {
    const tool = createHttpFetch(
      { allowHosts: ['slow.example'], bytesMax: 1_000, redirectsMax: 0 },
      {
        ...systemClock,
        deadlines: createDeadlines(),
        resolve: () => new Promise(() => {}),
        reserved: noReserved,
        version: '0',
      },
    );
    const url = 'http://slow.example/';
    const late = await callTool(tool, { url }, { deadlineAt: fromNow(50) });
    assert.deepEqual(late, { kind: 'failed', text: 'The name was not resolved in time.' });
    const signal = AbortSignal.abort();
    assert.equal((await callTool(tool, { url }, { signal })).text, 'The call was cancelled.');
  });
});

test('a fetch has 30 s in all and 5 s to connect, and never more than its turn', async () => {
  await using web = await startWeb({ '/': { body: 'hello' } });
  const limitsMs = async (turnMs: number): Promise<readonly number[]> => {
    const clock = handClock();
    const { now, steady, deadlines } = clock;
    const startAt = steady();
    const asked: number[] = [];
    const at: typeof deadlines.at = (time, act) => {
      asked.push(time - startAt);
      return deadlines.at(time, act);
    };
    const tool = createHttpFetch(
      { allowHosts: ['127.0.0.1'], bytesMax: 1_000, redirectsMax: 0 },
      {
        now,
        steady,
        deadlines: { ...deadlines, at },
        resolve: async () => [],
        reserved: noReserved,
        version: '0',
      },
    );
    const called = await callTool(tool, { url: web.origin }, { deadlineAt: clock.in(turnMs) });
    assert.equal(bodyOf(called), 'hello');
    return asked;
  };
  assert.deepEqual(await limitsMs(300_000), [30_000, 30_000, 5_000]);
  assert.deepEqual(await limitsMs(20_000), [20_000, 20_000, 5_000]);
});

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function closed(web: Web): Promise<void> {
  while (web.open > 0) await tick();
}
