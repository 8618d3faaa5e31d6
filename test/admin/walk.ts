/**
 * A walk over the admin server's own table of routes. Every test here asks each route in it, and
 * the description must name it.
 */
import assert from 'node:assert/strict';
import type { Principal } from '../../src/admin/http/auth.ts';
import type { Route } from '../../src/admin/routes/route.ts';
import { answered, ids, pathOf, said } from '../fake/admin-ledger.ts';
import {
  adminToken,
  live,
  makeWorld,
  openAdmin,
  revision,
  withToken,
  type Reply,
} from '../fake/admin-world.ts';
import {
  assertDescribed,
  operationsOf,
  requestOf,
  type OpenApi,
  type Operation,
} from './open-api.ts';

export const own = 'Host: localhost';
export const right = `Authorization: Bearer ${adminToken}`;
const guarded = [ids.conversation, encodeURIComponent(ids.conversation), said, answered];
const outsiders: readonly string[] = [...guarded, ids.sender, adminToken];

/** A route, and its description. */
export type Stop = { readonly route: Route; readonly operation: Operation };

export async function startWalk(options: Parameters<typeof openAdmin>[1] = { access: withToken }) {
  const world = makeWorld();
  live(world.events);
  await using stack = new AsyncDisposableStack();
  const admin = stack.use(await openAdmin(world, options));
  const api = JSON.parse((await admin.get('/api/v1/openapi.json')).body) as OpenApi;
  const stops = stopsOf(admin.routes, operationsOf(api));
  const open = stack.move();
  return { world, admin, api, stops, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

export type Walk = Awaited<ReturnType<typeof startWalk>>;

function stopsOf(routes: readonly Route[], operations: readonly Operation[]): readonly Stop[] {
  assert.equal(operations.length, routes.length);
  return routes.map((route) => {
    const { method, path, principal } = route;
    const operation = operations.find((one) => one.method === method && one.path === path);
    assert.ok(operation !== undefined, `${method} ${path} is described`);
    assert.equal(describedFor(operation), principal, `${method} ${path}`);
    return { route, operation };
  });
}

/** The required principal: no bearer, an optional one, or one. */
function describedFor({ security }: Operation): Principal {
  if (security.length === 0) return 'prober';
  return security.length === 2 ? 'reader' : 'operator';
}

/** 200, or 204 for a route without content. */
const statusOf = (route: Route, expected: number): number =>
  expected === 200 && route.contentType.length === 0 ? 204 : expected;

/**
 * Sends a valid request to every route, with these header lines.
 * @param expected the status, by the route: 200 stands for 204 as well
 * @param query follows the path
 */
export async function walk(
  { admin, api, stops, world }: Walk,
  head: readonly string[],
  expected: (route: Route) => number,
  query = '',
): Promise<void> {
  for (const { route, operation } of stops) {
    const before = world.calls.length;
    const { head: more, body } = requestOf(operation, revision);
    const all = [...head, ...more];
    const path = pathOf(operation) + query;
    const answer = await admin.send(operation.method, path, all, body);
    const where = `${operation.method} ${path} with ${head.join(', ')}`;
    const status = statusOf(route, expected(route));
    assert.equal(answer.status, status, `${where}: ${answer.body}`);
    assertDescribed(api, operation, answer);
    assertTellsNothing(answer, where);
    if (answer.status >= 400) assert.equal(world.calls.length, before, `${where} did something`);
    if (operation.method !== 'GET') continue;
    const alone = await admin.send('HEAD', path, all);
    assert.deepEqual([alone.status, alone.body], [answer.status, ''], `HEAD of ${where}`);
  }
  assert.equal(world.events.meters.faults, 0);
}

function assertTellsNothing({ body, headers }: Reply, where: string): void {
  const all = [body, ...headers.values()].join('\n');
  for (const secret of outsiders) assert.ok(!all.includes(secret), `${where} tells ${secret}`);
}

export const byPrincipal =
  (statuses: Readonly<Record<Principal, number>>) =>
  ({ principal }: Route): number =>
    statuses[principal];
