/**
 * Attacks on the cages of http_fetch and webhook_call, each as a model's call in the running
 * program. Unlisted servers stand by, and the environment's proxy settings point at one of them. At
 * the end none of them has seen a connection.
 */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { startCagedAgent, type CagedAgent } from './caged-agent.ts';
import { startNameServer, type NameServer } from '../fake/name-server.ts';
import { endless, redirectTo, startWeb, type Web } from '../fake/web.ts';
import { addressAttacks, redirectAttacks, type Ports } from './network-attacks.ts';
import { serve } from '../support/program.ts';

const ownNames = pathToFileURL(join(import.meta.dirname, '..', 'fake', 'own-names.ts')).href;

const names: Readonly<Record<string, readonly string[]>> = {
  'public.example': ['192.0.2.1'],
  'here.example': ['127.0.0.1'],
  'here6.example': ['::1'],
  'mapped.example': ['::ffff:7f00:1'],
  'both.example': ['93.184.216.34', '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  localhost: ['127.0.0.1', '::1'],
};

interface World extends AsyncDisposable {
  readonly agent: CagedAgent;
  readonly good: Web;
  readonly canaries: readonly Web[];
  readonly nameServer: NameServer;
  readonly ports: Ports;
}

/** A server on 127.0.0.1, and an empty one on ::1 at the same port, which must be free there. */
async function startTwins(
  pages: Parameters<typeof startWeb>[0] = {},
): Promise<readonly [Web, Web]> {
  for (;;) {
    const four = await startWeb(pages);
    const six = await startWeb({}, { host: '::1', port: four.port }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    });
    if (six !== undefined) return [four, six];
    await four[Symbol.asyncDispose]();
  }
}

/**
 * @param listed hosts beside the good server
 * @param callSeconds how long a webhook_call may take
 */
async function startWorld(
  sensitivity: 'public' | 'private',
  listed: readonly string[],
  callSeconds = 60,
): Promise<World> {
  await using stack = new AsyncDisposableStack();
  // A second look-up of a name leads to ::1, at the listed server's port.
  const [good, turned] = await startTwins({ '/': { body: 'the listed server' } });
  const [canary, six] = await startTwins();
  for (const one of [good, turned, canary, six]) stack.use(one);
  const nameServer = stack.use(
    await startNameServer((name, times) => {
      if (name === 'rebind.example') return times === 0 ? ['127.0.0.1'] : ['::1'];
      return names[name] ?? [];
    }),
  );
  const hosts = [`127.0.0.1:${good.port}`, ...listed];
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy'];
  const agent = stack.use(
    await startCagedAgent(
      {
        tools: ['http_fetch', 'webhook_call'],
        http_fetch: { allow_hosts: hosts },
        webhook_call: { allow_hosts: hosts, timeout_seconds: callSeconds },
      },
      {
        brain: { sensitivity },
        // A name server and proxy variables belong to a whole process.
        serve,
        env: {
          NODE_OPTIONS: `--import=${ownNames}`,
          OWN_NAME_SERVER: nameServer.place,
          NODE_USE_ENV_PROXY: '1',
          NODE_TLS_REJECT_UNAUTHORIZED: '0',
          NO_PROXY: 'nothing.example',
          ...Object.fromEntries(proxies.map((name) => [name, canary.origin])),
        },
      },
    ),
  );
  const all = stack.move();
  return {
    agent,
    good,
    canaries: [canary, six, turned],
    nameServer,
    ports: { good: good.port, canary: canary.port },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Asserts that the servers are up, so that they would see a connection, and that none came. */
async function assertUnseen({ canaries }: World): Promise<void> {
  for (const canary of canaries) {
    assert.deepEqual(canary.visits, []);
    assert.equal(canary.connections, 0);
    await (await fetch(canary.origin)).text();
    assert.equal(canary.connections, 1);
  }
}

const fetching = (agent: CagedAgent, url: string, message = {}): Promise<string> =>
  agent.call('http_fetch', { url }, message);
const posting = (agent: CagedAgent, url: string): Promise<string> =>
  agent.call('webhook_call', { url, body: { a: 1 } });

const ofPublic = [
  'public.example',
  'here.example',
  'here6.example',
  'mapped.example',
  'both.example',
  'metadata.example',
  'gone.example',
  'rebind.example',
];

suite('the network cages of a public agent', () => {
  let world: Promise<World>;
  before(async () => void (await (world = startWorld('public', ofPublic))));
  after(async () => (await world)[Symbol.asyncDispose]());

  suite('attacked', { concurrency: 8 }, () => attacks(() => world));

  test('after all that, no server that nobody listed has seen a connection', async () => {
    await assertUnseen(await world);
  });
});

test('a private agent reaches nothing outside, though it is listed', async () => {
  const outside = ['93.184.216.34', '169.254.169.254', '[2606:4700::1111]', '0.0.0.0'];
  const named = ['public.example', 'both.example', 'metadata.example', 'here.example'];
  await using world = await startWorld('private', [...outside, ...named]);
  const { agent, good } = world;
  assert.match(await fetching(agent, good.origin), /Status 200 .*\nthe listed server/);
  assert.match(await posting(agent, good.origin), /Status 200:\nthe listed server/);
  const inside = await fetching(agent, `http://here.example:${good.port}/`);
  assert.match(inside, /Status 200 .*\nthe listed server/);
  for (const host of [...outside, ...named.slice(0, 3)]) {
    const url = `http://${host}:${good.port}/`;
    good.pages.set('/out', redirectTo(url));
    assert.match(await fetching(agent, url), /This agent is private/, host);
    assert.match(await posting(agent, url), /This agent is private/, host);
    assert.match(await fetching(agent, `${good.origin}/out`), /This agent is private/, host);
  }
  await assertUnseen(world);
});

// Alone, so that the status comes in time although the body never ends.
test('an answer that does not come, or comes without an end, is given up', async () => {
  await using hurried = await startWorld('public', [], 10);
  const { agent, good } = hurried;
  const text = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n';
  good.pages.set('/slow', endless(text, 'x', 100));
  good.pages.set('/never', () => {});
  const [slow, never] = await Promise.all(
    ['/slow', '/never'].map((path) => posting(agent, good.origin + path)),
  );
  assert.match(slow!, /did not come whole in time\. The status was 200/);
  assert.match(never!, /did not come whole in time\. Whether it took effect is not known/);
  assert.match(await posting(agent, good.origin), /Status 200:\nthe listed server/);
});

function attacks(world: () => Promise<World>): void {
  test('what is listed can be reached', async () => {
    const { agent, good } = await world();
    assert.match(await fetching(agent, good.origin), /Status 200 .*\nthe listed server/);
    assert.match(await posting(agent, good.origin), /Status 200:\nthe listed server/);
  });

  for (const [what, [address, told]] of Object.entries(addressAttacks)) {
    test(`an address does not lead out: ${what}`, async () => {
      const { agent, ports } = await world();
      const url = address(ports);
      assert.match(await fetching(agent, url), told);
      assert.match(await posting(agent, url), told);
    });
  }

  for (const [what, [location, told]] of Object.entries(redirectAttacks)) {
    test(`a redirect does not lead out: ${what}`, async () => {
      const { agent, good, ports } = await world();
      const path = `/redirect?${encodeURIComponent(what)}`;
      good.pages.set(path, (socket) => {
        socket.end(`HTTP/1.1 302 Found\r\nLocation: ${location(ports)}\r\n\r\n`, 'latin1');
      });
      assert.match(await fetching(agent, good.origin + path), told);
      const posted = await posting(agent, good.origin + path);
      assert.match(posted, /Status 302, a redirect, which is not followed/);
    });
  }

  test('a redirect does not lead out at its third hop, nor go round for ever', async () => {
    const { agent, good, ports } = await world();
    good.pages.set('/hop1', redirectTo('/hop2', 301));
    good.pages.set('/hop2', redirectTo('/hop3', 307));
    good.pages.set('/hop3', redirectTo(`http://127.0.0.1:${ports.canary}/`, 308));
    good.pages.set('/round', redirectTo('/round', 303));
    assert.match(await fetching(agent, `${good.origin}/hop1`), /is not on the list/);
    assert.match(await fetching(agent, `${good.origin}/round`), /3 redirects are the most/);
    assert.equal(good.visits.filter(({ path }) => path === '/round').length, 4);
  });

  test('a 307 does not make a call travel', async () => {
    const { agent, good, ports } = await world();
    for (const status of [301, 302, 303, 307, 308]) {
      good.pages.set(`/${status}`, redirectTo(`http://127.0.0.1:${ports.canary}/`, status));
      const told = await posting(agent, `${good.origin}/${status}`);
      assert.match(told, new RegExp(`Status ${status}, a redirect, which is not followed`));
    }
  });

  test('other ways of leading on are not taken', async () => {
    const { agent, good, ports } = await world();
    const url = `http://127.0.0.1:${ports.canary}/`;
    const headers = {
      refresh: `0; url=${url}`,
      link: `<${url}>; rel=preload`,
      'alt-svc': `h2="127.0.0.1:${ports.canary}"`,
      'content-location': url,
      'content-type': 'text/html',
    };
    const body = `<meta http-equiv=refresh content="0;url=${url}"><img src="${url}">stay`;
    good.pages.set('/lead', { headers, body });
    good.pages.set('/proxy', { status: 305, headers: { location: url }, body: 'use a proxy' });
    good.pages.set('/early', (socket) => {
      socket.end(
        `HTTP/1.1 103 Early Hints\r\nLocation: ${url}\r\n\r\n` +
          'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nstay',
      );
    });
    assert.match(await fetching(agent, `${good.origin}/lead`), /\nstay\n/);
    assert.match(await fetching(agent, `${good.origin}/proxy`), /Status 305 .*\nuse a proxy/);
    assert.match(await fetching(agent, `${good.origin}/early`), /Status 200 .*\nstay\n/);
  });

  test('a name that is turned over after it was judged stays where it was judged', async () => {
    const { agent, ports, nameServer } = await world();
    const told = await fetching(agent, `http://rebind.example:${ports.good}/`);
    assert.match(told, /the listed server/);
    assert.deepEqual(
      nameServer.asked.filter((name) => name === 'rebind.example'),
      ['rebind.example', 'rebind.example'],
      'once for IPv4 and once for IPv6',
    );
    const again = await fetching(agent, `http://rebind.example:${ports.good}/`);
    assert.match(again, /leads into a network that is not public/);
  });

  test('the model chooses no headers, method, proxy or address', async () => {
    const { agent, good, ports } = await world();
    const extra = {
      headers: { host: 'evil', authorization: 'x', cookie: 'y', 'idempotency-key': 'mine' },
      method: 'DELETE',
      host: `127.0.0.1:${ports.canary}`,
      address: '::1',
      base: `http://127.0.0.1:${ports.canary}`,
      proxy: `http://127.0.0.1:${ports.canary}`,
      max_redirects: 99,
    };
    const asked = good.visits.length;
    for (const name of ['http_fetch', 'webhook_call']) {
      const url = `${good.origin}/extra`;
      await agent.call(name, { ...extra, url, body: 'b' });
    }
    const visits = good.visits.slice(asked).filter(({ path }) => path === '/extra');
    assert.deepEqual(
      visits.map(({ method, body }) => [method, body]),
      [
        ['GET', ''],
        ['POST', '"b"'],
      ],
    );
    for (const { headers } of visits) {
      assert.equal(headers.host, `127.0.0.1:${ports.good}`);
      assert.deepEqual([headers.authorization, headers.cookie], [undefined, undefined]);
      assert.notEqual(headers['idempotency-key'], 'mine');
    }
  });

  test('a hostile answer is cut, broken off or left unread, and the agent goes on', async () => {
    const { agent, good } = await world();
    const text = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n';
    const gzip = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    good.pages.set('/bomb', { headers: gzip, body: gzipSync(Buffer.alloc(50_000_000)) });
    good.pages.set('/endless', endless(text, 'x'.repeat(65_536)));
    good.pages.set('/head', endless('HTTP/1.1 200 OK\r\n', `x: ${'y'.repeat(1_000)}\r\n`));
    good.pages.set('/image', { headers: { 'content-type': 'image/png' }, body: 'PNG' });
    const table: readonly (readonly [path: string, fetched: RegExp, posted: RegExp])[] = [
      ['/bomb', /compressed though/, /compressed though/],
      ['/endless', /[^x]x{60000,}\n\[cut/, /[^x]x{60000,}\n\[cut/],
      ['/head', /broke off/, /broke off .* Whether it took effect is not known/],
      ['/image', /not text/, /not text/],
    ];
    for (const [path, fetched, posted] of table) {
      const url = good.origin + path;
      assert.match(await fetching(agent, url), fetched, path);
      assert.match(await posting(agent, url), posted, path);
    }
  });

  test('the address of an attachment is told to the model and never fetched', async () => {
    const { agent, good, ports } = await world();
    const media = {
      media_url: `http://127.0.0.1:${ports.canary}/media`,
      media_type: 'image/png',
    };
    await fetching(agent, good.origin, media);
    await fetching(agent, good.origin, { media_url: `${good.origin}/media` });
    assert.ok(!good.visits.some(({ path }) => path === '/media'));
  });
}
