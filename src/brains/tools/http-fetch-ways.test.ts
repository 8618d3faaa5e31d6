/** The servers that `http_fetch` talks to: redirects, and servers with a certificate. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { bodyOf, fetchWith } from '../../../test/fake/fetches.ts';
import { redirectTo, startWeb } from '../../../test/fake/web.ts';
import type { Called } from '../../../test/agents/tool-call.ts';

test('redirects are followed to listed hosts, so many and no more', async () => {
  await using other = await startWeb({ '/end': { body: 'the end' } });
  await using web = await startWeb({
    '/1': redirectTo('/2', 301),
    '/2': redirectTo('?3', 302),
    '/2?3': redirectTo(`${other.origin}/end#part`, 307),
    '/loop': redirectTo('/loop', 308),
    '/none': { status: 302, body: 'nowhere to go' },
    '/choice': { status: 300, headers: { location: '/1' }, body: 'choose' },
    '/ü': redirectTo(Buffer.from('/ö').toString('latin1')),
    '/%C3%BC': redirectTo(Buffer.from('/ö').toString('latin1')),
    '/%C3%B6': { body: 'umlaut' },
  });
  const allowHosts = [`127.0.0.1:${web.port}`, `127.0.0.1:${other.port}`];
  const get = (path: string, redirectsMax = 3): Promise<Called> =>
    fetchWith({ allowHosts, redirectsMax }, web.origin + path);
  const text = `Status 200 from ${other.origin}/end, text/plain:\nthe end`;
  assert.deepEqual(await get('/1'), { kind: 'done', text, cut: false });
  assert.equal(other.visits[0]!.path, '/end');
  assert.equal(other.visits[0]!.headers.referer, undefined);
  for (const [path, most] of [
    ['/1', 2],
    ['/1', 0],
    ['/loop', 3],
  ] as const) {
    const called = await get(path, most);
    assert.ok(called.kind === 'refused' && called.rule === 'too_many_redirects');
    assert.match(called.text, new RegExp(`${most} redirects are the most`));
  }
  assert.equal(bodyOf(await get('/none')), 'nowhere to go');
  assert.equal(bodyOf(await get('/choice')), 'choose');
  assert.equal(bodyOf(await get('/ü')), 'umlaut');
});

test('a certificate must be trusted and be for that name', async (context) => {
  const fixture = (name: string): string =>
    readFileSync(join(import.meta.dirname, '../../../test/fixtures/tls', name), 'utf8');
  const tls = { key: fixture('shop.key.pem'), cert: fixture('shop.pem') };
  await using web = await startWeb({ '/': { body: 'shop' } }, { tls });
  const settings = {
    allowHosts: ['shop.example', 'other.example', 'localhost', '127.0.0.1'],
    names: { 'shop.example': ['127.0.0.1'], 'other.example': ['127.0.0.1'] },
  };
  const get = (host: string): Promise<Called> =>
    fetchWith(settings, `https://${host}:${web.port}/`);
  const untrusted = await get('shop.example');
  assert.match(untrusted.text, /^No connection could be made \(UNABLE_TO_VERIFY_LEAF_SIGNATURE\)/);
  const usual = getCACertificates();
  context.after(() => setDefaultCACertificates(usual));
  setDefaultCACertificates([...usual, fixture('authority.pem')]);
  assert.equal(bodyOf(await get('shop.example')), 'shop');
  assert.equal(bodyOf(await get('shop.example.')), 'shop');
  for (const host of ['other.example', '127.0.0.1', 'localhost']) {
    const settled = await get(host);
    assert.equal(settled.kind, 'failed', host);
  }
  assert.match((await get('other.example')).text, /ERR_TLS_CERT_ALTNAME_INVALID/);
  assert.equal(web.visits.length, 2);
});
