import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json } from '../http/answer.ts';
import { allowedAt, RouteTable } from './match.ts';
import { segment, readRoute, writeRoute, type Route } from './route.ts';

const rest = { summary: 'A route.', contentType: 'application/json', answer: () => json(200, 1) };

function read(path: string, ...names: string[]): Route {
  const parameters = Object.fromEntries(names.map((name) => [name, segment('A name.')]));
  return readRoute({ ...rest, path, principal: 'reader', parameters });
}

function write(path: string, method: 'POST' | 'DELETE', ...names: string[]): Route {
  const parameters = Object.fromEntries(names.map((name) => [name, segment('A name.')]));
  return writeRoute({ ...rest, path, method, action: 'act', parameters });
}

const routes = [
  read('/a/{x}', 'x'),
  read('/a/b'),
  read('/{y}/b/{z}', 'y', 'z'),
  read('/a/{x}/c', 'x'),
  write('/a/{x}', 'DELETE', 'x'),
  write('/a/{x}/c', 'POST', 'x'),
];

test('where several places fit, the one that takes the method is meant', () => {
  const table = new RouteTable([
    write('/a/{x}/hold', 'POST', 'x'),
    write('/a/{x}/{y}', 'DELETE', 'x', 'y'),
  ]);
  const found = (method: string) => table.find('/a/b/hold', method)?.routes;
  assert.ok(found('POST')?.has('POST'));
  assert.ok(found('DELETE')?.has('DELETE'));
  assert.ok(found('PUT')?.has('POST'), 'else the first');
});

test('a written segment is matched before a parameter, in whatever order they are listed', () => {
  for (const listed of [routes, routes.toReversed()]) {
    const table = new RouteTable(listed);
    const found = (path: string): unknown => {
      const place = table.find(path);
      return place && [place.routes.get('GET')?.path, Object.fromEntries(place.captured)];
    };
    assert.deepEqual(found('/a/b'), ['/a/b', {}]);
    assert.deepEqual(found('/a/%62'), ['/a/{x}', { x: '%62' }]);
    assert.deepEqual(found('/a/b/c'), ['/a/{x}/c', { x: 'b' }]);
    assert.deepEqual(found('/q/b/c'), ['/{y}/b/{z}', { y: 'q', z: 'c' }]);
    for (const path of ['', '/', 'a/b', '/a', '/a/', '/a//c', '/a/b/', '/q/q/c', '/a/{x}/d']) {
      assert.equal(found(path), null, path);
    }
  }
});

test('the methods of a place are those of its entries', () => {
  const table = new RouteTable(routes);
  assert.equal(allowedAt(table.find('/a/q')!), 'GET, HEAD, DELETE');
  assert.equal(allowedAt(table.find('/a/q/c')!), 'GET, HEAD, POST');
  assert.equal(allowedAt(table.find('/a/b')!), 'GET, HEAD');
});

test('a table that cannot be right is not made', () => {
  assert.throws(() => new RouteTable([read('/a'), read('/a')]), /two of GET \/a/);
  assert.throws(() => new RouteTable([read('/a/{x}')]), /parameters of \/a\/\{x\}/);
  assert.throws(() => new RouteTable([read('/a', 'x')]), /parameters of \/a/);
});
