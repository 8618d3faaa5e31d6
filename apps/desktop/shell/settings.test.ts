import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { parseSettings, SettingsFile } from './settings.ts';

test('what is broken or of another kind counts as not set', () => {
  const defaults = { port: 0, onClose: 'ask' };
  for (const text of ['', 'null', '[]', '{', '{"port":"2112","onClose":"never"}', '{"port":1e9}']) {
    assert.deepEqual(parseSettings(text), defaults, text);
  }
  assert.deepEqual(parseSettings('{"port":2112,"onClose":"keep"}'), {
    port: 2112,
    onClose: 'keep',
  });
});

test('a change is there at the next start, and nobody else can read it', async () => {
  await using folder = await scratch();
  const file = join(folder.path, 'svc', 'desktop.json');
  const settings = await SettingsFile.read(file);
  const written = await Promise.all([
    settings.change({ port: 2_112 }),
    settings.change({ onClose: 'quit' }),
  ]);
  assert.deepEqual(written, [true, true]);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.deepEqual((await SettingsFile.read(file)).now, { port: 2_112, onClose: 'quit' });
});

test('where nothing can be written, a change holds until the end', async () => {
  await using folder = await scratch();
  const inTheWay = join(folder.path, 'file');
  await writeFile(inTheWay, '');
  const settings = await SettingsFile.read(join(inTheWay, 'desktop.json'));
  assert.equal(await settings.change({ onClose: 'keep' }), false);
  assert.equal(settings.now.onClose, 'keep');
});
