/** The paths that exist only with an application around the service. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeApplication } from '../../test/fake/admin-application.ts';
import { makeWorld, openAdmin, type Reply } from '../../test/fake/admin-world.ts';
import { assertDescribed, operationsOf, type OpenApi } from '../../test/admin/open-api.ts';
import type { ApplicationView } from './application.ts';
import type { OperatorAccess } from './http/auth.ts';
import type { applicationSchema } from './schemas/application.ts';
import type { Described } from './schemas/schema.ts';

const paths = ['/api/v1/sign-in', '/api/v1/sign-in/next', '/api/v1/sign-in/ask'] as const;
const own = ['Host: 127.0.0.1', 'Content-Type: application/json'];
const readOnly: OperatorAccess = { kind: 'none', remedy: 'Add an admin block.' };

async function start({ canWrite = true, loopback = true } = {}) {
  const application = fakeApplication();
  const world = makeWorld();
  const ports = { ...world.ports, application };
  const access: OperatorAccess = canWrite
    ? { kind: 'bearer', matches: application.signIn.matches }
    : readOnly;
  const admin = await openAdmin({ ...world, ports }, { access, loopback });
  const { body } = await admin.get('/api/v1/openapi.json');
  const api = JSON.parse(body) as OpenApi;
  const post = (path: string, value: unknown, more: readonly string[] = []): Promise<Reply> => {
    const text = JSON.stringify(value);
    const head = [...own, `Content-Length: ${Buffer.byteLength(text)}`, ...more];
    return admin.send('POST', path, head, text);
  };
  const described = (method: string, path: string, reply: Reply): void => {
    const found = operationsOf(api).find((one) => one.method === method && one.path === path);
    assert.ok(found !== undefined, `${method} ${path} is described`);
    assertDescribed(api, found, reply);
  };
  const end = (): Promise<void> => admin[Symbol.asyncDispose]();
  return { application, admin, api, post, described, [Symbol.asyncDispose]: end };
}

type Started = Awaited<ReturnType<typeof start>>;

const jsonOf = ({ body }: Reply): Readonly<Record<string, unknown>> => JSON.parse(body);

async function enter({ application, post }: Started): Promise<string> {
  const reply = await post(paths[0], { code: application.signIn.offer() });
  return `Authorization: Bearer ${String(jsonOf(reply)['token'])}`;
}

test('who may use which of them', async () => {
  type Same = ApplicationView extends Described<typeof applicationSchema> ? true : false;
  const fits: Same = true;
  assert.ok(fits);
  await using started = await start();
  const told = started.admin.routes
    .filter(({ path }) => /application|sign-in/.test(path))
    .map(({ method, path, principal }) => `${principal} ${method} ${path}`);
  assert.deepEqual(told, [
    'reader POST /api/v1/sign-in',
    'operator POST /api/v1/sign-in/next',
    'reader POST /api/v1/sign-in/ask',
    'reader GET /api/v1/application',
  ]);
});

test('a code is traded for a token and the page of the application', async () => {
  await using started = await start();
  const { application, admin, post, described } = started;
  const reply = await post(paths[0], { code: application.signIn.offer() });
  described('POST', paths[0], reply);
  const { token, page } = jsonOf(reply);
  assert.equal(page, application.page);
  const bearer = `Authorization: Bearer ${String(token)}`;
  const read = await admin.send('GET', '/api/v1/conversations', ['Host: localhost', bearer]);
  assert.equal(read.status, 200);
});

test('why a code is refused is told, and nothing else', async () => {
  await using started = await start();
  const { application, post, described } = started;
  const late = application.signIn.offer();
  const used = application.signIn.offer();
  await post(paths[0], { code: used });
  for (const [code, why] of [
    ['canary-AAAAAAAAAAAAAAA', 'code_unknown'],
    [late, 'code_late'],
    [used, 'code_used_twice'],
  ]) {
    const reply = await post(paths[0], { code });
    described('POST', paths[0], reply);
    assert.deepEqual([reply.status, jsonOf(reply)['code']], [403, why]);
    assert.doesNotMatch(reply.body, /canary/);
  }
});

test('a page that is signed in opens the next one, and is signed out by it', async () => {
  await using started = await start();
  const { admin, post, described } = started;
  const bearer = await enter(started);
  const reply = await post(paths[1], {}, [bearer]);
  described('POST', paths[1], reply);
  const next = await post(paths[0], { code: jsonOf(reply)['code'] });
  assert.equal(next.status, 200);
  const after = await admin.send('GET', '/api/v1/status', ['Host: localhost', bearer]);
  assert.deepEqual([after.status, jsonOf(after)['code']], [401, 'signed_out_moved']);
  assert.equal((await post(paths[1], {})).status, 401);
});

test('a page that is not signed in asks for a window', async () => {
  await using started = await start();
  const { application, post, described } = started;
  const asked = await post(paths[2], {});
  described('POST', paths[2], asked);
  assert.equal(asked.status, 204);
  application.asked = { kind: 'too_soon', afterMs: 1_200 };
  const soon = await post(paths[2], {});
  described('POST', paths[2], soon);
  assert.deepEqual([soon.status, soon.headers.get('retry-after')], [429, '2']);
  application.asked = { kind: 'no_shell' };
  const none = await post(paths[2], {});
  described('POST', paths[2], none);
  assert.deepEqual([none.status, jsonOf(none)['code']], [503, 'no_shell']);
  assert.equal(application.windows, 3);
});

test('the page of the application is told to who is signed in alone', async () => {
  await using started = await start();
  const { application, admin, described } = started;
  const bearer = await enter(started);
  const look = async (...more: string[]): Promise<unknown> => {
    const reply = await admin.send('GET', '/api/v1/application', [own[0]!, ...more]);
    described('GET', '/api/v1/application', reply);
    return JSON.parse(reply.body);
  };
  assert.deepEqual(await look(), { shell: true, page: null });
  assert.deepEqual(await look(bearer), { shell: true, page: application.page });
  assert.deepEqual(await look(bearer, 'Via: 1.1 proxy'), { shell: true, page: null });
  application.page = null;
  assert.deepEqual(await look(bearer), { shell: false, page: null });
});

test('nobody from elsewhere signs in: no proxy, no other name, no foreign page', async () => {
  await using started = await start();
  const { application, admin, post } = started;
  const bearer = await enter(started);
  const bodies = [{ code: application.signIn.offer() }, {}, {}];
  const elsewhere = [
    ['X-Forwarded-For: 192.0.2.1', 'loopback_only'],
    ['Via: 1.1 proxy', 'loopback_only'],
    ['Origin: http://elsewhere.example', 'cross_site'],
    ['Sec-Fetch-Site: cross-site', 'cross_site'],
  ] as const;
  for (const [index, path] of paths.entries()) {
    const more = index === 1 ? [bearer] : [];
    for (const [line, code] of elsewhere) {
      const reply = await post(path, bodies[index], [line, ...more]);
      assert.deepEqual([reply.status, jsonOf(reply)['code']], [403, code], `${path} ${line}`);
    }
    const head = ['Host: svc.example', own[1]!, 'Content-Length: 2', ...more];
    assert.equal((await admin.send('POST', path, head, '{}')).status, 421);
  }
  assert.equal(application.windows, 0);
  assert.equal((await post(paths[0], bodies[0])).status, 200, 'the code was not used up');
});

test('on an address for other machines nobody signs in', async () => {
  await using started = await start({ loopback: false });
  const { application, post } = started;
  const reply = await post(paths[0], { code: application.signIn.offer() });
  assert.deepEqual([reply.status, jsonOf(reply)['code']], [403, 'loopback_only']);
});

test('a read-only service gives no token, whoever comes with a code', async () => {
  await using started = await start({ canWrite: false });
  const { application, post, described } = started;
  const reply = await post(paths[0], { code: application.signIn.offer() });
  described('POST', paths[0], reply);
  assert.deepEqual(jsonOf(reply), { token: null, page: application.page });
  const next = await post(paths[1], {});
  assert.deepEqual([next.status, jsonOf(next)['code']], [403, 'read_only']);
});
