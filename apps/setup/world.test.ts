import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { fakeKeychain } from '../../test/fake/keychain.ts';
import { freePort, scratch } from '../../test/support/program.ts';
import { createLog } from '../../src/lib/log.ts';
import { createLookupBeside } from '../../test/fake/secret-lookup.ts';
import { createSetupWorld } from './world.ts';

test('where a port is taken, one is chosen that the system lends to no connection', async () => {
  await using own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  // The next port to try must be in this process's own hundred as well.
  let webhook = await freePort();
  while (webhook % 100 > 85) webhook = await freePort();
  const ports = { webhook, replies: await freePort(), admin: await freePort() };
  const taken = createServer().listen(ports.webhook, '127.0.0.1');
  own.defer(() => void taken.close());
  await once(taken, 'listening');
  const env = { HOME: folder.path };
  const stop = new AbortController();
  await using world = createSetupWorld({
    file: join(folder.path, 'svc.json'),
    shown: 'svc.json',
    env,
    lookup: createLookupBeside({ env, cwd: folder.path }),
    keychain: fakeKeychain(),
    version: '0.0.0',
    webRoot: new URL('file:///nowhere/'),
    log: createLog({ stream: new PassThrough(), level: 'error', format: 'text' }),
    stop: stop.signal,
    abandon: stop.signal,
    platform: null,
    places: { ports },
  });
  const effect = { kind: 'look_at_place', names: [], practises: false } as const;
  const found = await world.act(effect, new Map(), stop.signal);
  assert.ok(found.of === 'look_at_place');
  const { bind, replies, admin } = found.place;
  const chosen = [bind, replies, admin].map((at) => Number(/\d+(?=\/|$)/.exec(at ?? '')?.[0]));
  assert.ok((chosen[0]! - ports.webhook) % 10 === 0 && chosen[0]! > ports.webhook, `${bind}`);
  assert.deepEqual(chosen.slice(1), [ports.replies, ports.admin]);
});
