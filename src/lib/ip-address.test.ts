import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../test/support/runs.ts';
import { bytesOf } from './ip-address.ts';

const versionOf = (text: string): number => ({ 4: 4, 16: 6 })[bytesOf(text)?.length ?? 0] ?? 0;

const hasNoZone = (text: string): boolean => !text.includes('%');

test('an address is read as the platform reads it', () => {
  const part = fc.constantFrom('', '0', '1', '01', '9', '255', '256', 'ff', 'FFFF', '12345', 'g');
  const joined = (mark: string): fc.Arbitrary<string> =>
    fc.array(part, { maxLength: 9 }).map((parts) => parts.join(mark));
  const mixed = fc.tuple(joined(':'), joined('.')).map(([six, four]) => `${six}:${four}`);
  const texts = fc
    .oneof(joined('.'), joined(':'), mixed, fc.ipV4(), fc.ipV6(), fc.string())
    .filter(hasNoZone);
  const same = (text: string): void => assert.equal(versionOf(text), isIP(text), text);
  fc.assert(fc.property(texts, same), { numRuns: runs(2_000) });
});

test('the bytes of an address', () => {
  assert.deepEqual(bytesOf('192.168.0.255'), [192, 168, 0, 255]);
  const zeros = Array<number>(9).fill(0);
  assert.deepEqual(bytesOf('fe80::1:203.0.113.9'), [0xfe, 0x80, ...zeros, 1, 203, 0, 113, 9]);
  for (const zone of ['fe80::1%lo', '1.2.3.4%lo', '[::1]', '1.2.3.4:80']) {
    assert.equal(bytesOf(zone), null, zone);
  }
});
