import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratch } from '../../../test/support/program.ts';
import { autostartOf, desktopEntry, launchAgent, quoteForWindows } from './autostart.ts';

const program = { file: '/opt/my svc/node', args: ['/opt/svc.js', 'desktop', '--hidden'] };

test('it is off, on when the person wants it, and off again', async () => {
  await using home = await scratch();
  const env = { HOME: home.path, XDG_CONFIG_HOME: '' };
  const autostart = autostartOf({ env, platform: 'linux', program });
  assert.ok(autostart !== null);
  assert.equal(await autostart.isOn(), false);
  assert.equal(await autostart.set(true), null);
  assert.equal(await autostart.isOn(), true);
  const file = join(home.path, '.config', 'autostart', 'svc.desktop');
  const text = await readFile(file, 'utf8');
  assert.match(text, /^Exec="\/opt\/my svc\/node" \/opt\/svc\.js desktop --hidden$/m);
  await writeFile(file, `${text}Hidden=true\n`);
  assert.equal(await autostart.isOn(), false, 'the settings of the desktop switched it off');
  assert.equal(await autostart.set(false), null);
  assert.equal(await autostart.set(false), null, 'off is off');
  assert.equal(await autostart.isOn(), false);
});

test('what cannot be written is told', async () => {
  await using home = await scratch();
  await writeFile(join(home.path, 'config'), '');
  const env = { XDG_CONFIG_HOME: join(home.path, 'config') };
  const autostart = autostartOf({ env, platform: 'linux', program });
  assert.match((await autostart?.set(true)) ?? '', /svc\.desktop cannot be written \(\w+\)\.$/);
});

test('words of a command come out as they went in', () => {
  const words = ['/a b/c', '$HOME', '`x`', 'say "hi"', String.raw`back\slash`, '100%'];
  const entry = desktopEntry({ file: '/bin/printf', args: [String.raw`%s\n`, ...words] });
  const value = /^Exec=(.*)$/m.exec(entry)?.[1] ?? '';
  // The entry is unescaped twice: as a value, then by the rules of `Exec`. A shell reads the rest
  // in the same way.
  const line = value.replaceAll('\\\\', '\\').replaceAll('%%', '%');
  const said = execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' });
  assert.deepEqual(said.trimEnd().split('\n'), words);
  assert.match(launchAgent({ file: '/a&b', args: ['<c>'] }), /<string>\/a&amp;b<\/string>/);
  assert.match(launchAgent({ file: '/a', args: ['<c>'] }), /<string>&lt;c&gt;<\/string>/);
  assert.equal(quoteForWindows(String.raw`C:\svc\node.exe`), String.raw`C:\svc\node.exe`);
  assert.equal(quoteForWindows(String.raw`C:\my svc\ `), String.raw`"C:\my svc\ "`);
  assert.equal(quoteForWindows('C:\\my svc\\'), String.raw`"C:\my svc\\"`);
  assert.equal(quoteForWindows('say "hi"'), String.raw`"say \"hi\""`);
});

test('a system without one has none', () => {
  assert.equal(autostartOf({ env: {}, platform: 'freebsd', program }), null);
});
