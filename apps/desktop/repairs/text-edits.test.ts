import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressText, portsBeside, valueIn, withAddress, withAdmin } from './make-repairs.ts';

test('ports beside one are near it, free of those that the text has, and fit for browsers', () => {
  // svc must not listen at the URL of the replies: it would send them to itself.
  const text = '{ "a": "127.0.0.1:8091", "b": [":8093"], "to": "http://127.0.0.1:8095/reply" }';
  const near = portsBeside({ port: 8_090 }, text);
  assert.deepEqual(near.slice(0, 3), [8_092, 8_094, 8_096]);
  assert.ok(portsBeside({ port: 80 }, '').includes(8_080), 'those below 1,024 are the system’s');
  assert.deepEqual(portsBeside({ port: 65_535 }, ''), []);
  assert.ok(!portsBeside({ port: 6_664 }, '').includes(6_665));
});

test('an address is written as it is read', () => {
  assert.equal(addressText({ host: '::1' }, 1), '[::1]:1');
  assert.equal(addressText({ host: '' }, 1), ':1');
  assert.equal(addressText({ host: 'localhost' }, 1), 'localhost:1');
});

test('an address changes its own place alone, or stands where there was none', () => {
  const text = '{\r\n\t"a": [{ "bind": "x:1" }],\r\n\t"b": {}\r\n}\r\n';
  assert.equal(withAddress(text, 'a[0].bind', 'x:2'), text.replace('x:1', 'x:2'));
  assert.equal(withAddress(text, 'b.bind', 'x:2'), text.replace('{}', '{ "bind": "x:2" }'));
  assert.equal(withAddress('{ broken', 'b.bind', 'x:2'), null);
  assert.equal(withAddress(text, 'a[7].bind', 'x:2'), null);
});

test('the admin block names a variable that stands for nothing else', () => {
  const added = withAdmin('{ "routes": [] }') ?? '';
  assert.deepEqual(valueIn(added, 'admin'), { token_env: 'ADMIN_TOKEN' });
  const other = withAdmin('{ "routes": [{ "token_env": "ADMIN_TOKEN" }] }') ?? '';
  assert.deepEqual(valueIn(other, 'admin'), { token_env: 'SVC_ADMIN_TOKEN' });
  const own = '{ "admin": { "token_env": "MINE" } }';
  assert.equal(withAdmin(own), own);
  assert.deepEqual(valueIn(withAdmin('{ "admin": null }') ?? '', 'admin'), {
    token_env: 'ADMIN_TOKEN',
  });
  assert.equal(withAdmin('[]'), null);
  assert.equal(withAdmin('{ broken'), null);
});
