import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { forgetNotedEnd, notedEnd, noteCrash, noteFailure } from './database-files.ts';

function scratch(): Disposable & { readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-noted-end-'));
  const remove = (): void => rmSync(folder, { recursive: true });
  return { path: join(folder, 'svc.db'), [Symbol.dispose]: remove };
}

const crash = { lastSeq: 12, atWork: ['01JA', '01JB'] };

test('what was noted is read until it is forgotten', () => {
  using place = scratch();
  const { path } = place;
  const nothing = { failed: null, crashed: null };
  assert.deepEqual(notedEnd(path), nothing);
  noteCrash(path, crash);
  assert.deepEqual(notedEnd(path), { failed: null, crashed: crash });
  noteFailure(path, { alone: 7 });
  assert.deepEqual(notedEnd(path), { failed: { alone: 7 }, crashed: crash });
  noteFailure(path, { alone: null });
  assert.deepEqual(notedEnd(path).failed, { alone: null });
  for (const kind of ['failed', 'crashed']) {
    assert.equal(statSync(`${path}.${kind}`).mode & 0o777, 0o600);
  }
  forgetNotedEnd(path);
  assert.deepEqual(notedEnd(path), nothing);
  assert.ok(!existsSync(`${path}.crashed`));
  forgetNotedEnd(path);
});

test('a note of a crash that is torn anywhere says nothing', () => {
  using place = scratch();
  const file = `${place.path}.crashed`;
  noteCrash(place.path, crash);
  const whole = readFileSync(file);
  for (let length = 0; length < whole.length; length++) {
    writeFileSync(file, whole.subarray(0, length));
    assert.equal(notedEnd(place.path).crashed, null, `${length} bytes`);
  }
  // A system that dies may leave zeros in place of unwritten bytes.
  for (let from = 0; from < whole.length; from++) {
    writeFileSync(file, Buffer.from(whole).fill(0, from));
    assert.equal(notedEnd(place.path).crashed, null, `zeros from ${from}`);
  }
  for (const text of ['null', '{}', '{"lastSeq":1}', '{"lastSeq":"1","atWork":[]}', 'x']) {
    writeFileSync(file, `${text}\nend\n`);
    assert.equal(notedEnd(place.path).crashed, null, text);
  }
});

test('what is there in the place of a note and cannot be read stops nothing', () => {
  using place = scratch();
  for (const kind of ['failed', 'crashed']) mkdirSync(`${place.path}.${kind}`);
  assert.deepEqual(notedEnd(place.path), { failed: null, crashed: null });
  forgetNotedEnd(place.path);
  noteCrash(place.path, crash);
  noteFailure(place.path, { alone: null });
});

test('where nothing can be written nothing is thrown', () => {
  noteCrash('/nowhere/svc.db', crash);
  noteFailure('/nowhere/svc.db', { alone: null });
});
