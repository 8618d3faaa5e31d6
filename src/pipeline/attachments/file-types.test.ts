import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kindOfFile, textIn, textInUnlabelled } from './file-types.ts';

const utf16le = Buffer.from('\ufeffbuy milk €', 'utf16le');
const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

for (const [what, bytes, expected] of [
  ['UTF-8', Buffer.from('Straße'), 'Straße'],
  ['UTF-8 with its mark', Buffer.from('\ufeffStraße'), 'Straße'],
  ['UTF-16, the low byte first', utf16le, 'buy milk €'],
  ['UTF-16, the high byte first', Buffer.from(utf16le).swap16(), 'buy milk €'],
  ['Windows-1252', latin1('Stra\xdfe;5 \x80;\x93Gr\xf6\xdfe\x94\r\n'), 'Straße;5 €;“Größe”\r\n'],
  ['UTF-8 with a bell', Buffer.from('ping\x07'), 'ping\x07'],
  ['nothing', Buffer.alloc(0), ''],
  ['UTF-16 that is cut', utf16le.subarray(0, -1), null],
  ['UTF-16 without its mark', utf16le.subarray(2), null],
  ['Cyrillic of Windows-1251', latin1('a;\xcf\xf0\xe8\xe2\xe5\xf2'), null],
  ['German of DOS', latin1('f\x81r'), null],
  ['bytes of a picture', Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0x10, 0x4a]), null],
] as const) {
  test(`as a text ${what} is ${expected === null ? 'not read' : 'read'}`, () => {
    assert.equal(textIn(bytes), expected);
  });
}

test('a file of no told type is a text where its bytes say so', () => {
  assert.equal(textInUnlabelled(Buffer.from('all:\n\ttrue\n')), 'all:\n\ttrue\n');
  assert.equal(textInUnlabelled(utf16le), 'buy milk €');
  assert.equal(textInUnlabelled(Buffer.from('PK\x03\x04')), null);
});

test('a type counts for more than a name without a known ending', () => {
  const kind = (type: string | null, reference: string) =>
    kindOfFile({ type, reference, file: 'f' });
  for (const name of ['Makefile', '.env', 'LICENSE', 'a.zig']) {
    for (const type of [null, 'document', 'application/octet-stream']) {
      assert.equal(kind(type, name), 'untold', `${type} ${name}`);
    }
    assert.equal(kind('application/zip', name), 'unknown');
  }
  for (const type of [null, 'document', 'application/octet-stream']) {
    assert.equal(kind(type, 'a.PNG'), 'picture');
  }
  assert.equal(kind('application/zip', 'a.png'), 'unknown');
  assert.equal(kind('application/octet-stream', 'a.csv'), 'text');
});
