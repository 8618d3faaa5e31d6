/** The faults that `npm run planted` plants fit the present sources. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { planted } from '../../scripts/planted/copy.ts';
import { rooms } from '../planted/rooms.ts';

const root = join(import.meta.dirname, '../..');
const faults = Object.values(rooms).flat();

test('each fault has one place in its file, and what it makes of that is TypeScript', () => {
  for (const fault of faults) {
    const text = readFileSync(join(root, fault.file), 'utf8');
    const faulty = planted(text, fault);
    assert.notEqual(faulty, text, fault.name);
    assert.doesNotThrow(() => stripTypeScriptTypes(faulty), fault.name);
  }
});

test('each fault is told once, as a sentence', () => {
  const names = faults.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[A-Z/].*[a-zäö0-9]\.$/u);
});

test('each test file that is to see a fault is there', () => {
  for (const { name, seenBy = [] } of faults) {
    for (const file of seenBy) assert.ok(existsSync(join(root, file)), `${name}: ${file}`);
  }
});
