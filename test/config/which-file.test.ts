/** Which configuration a command uses: one order for all commands. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findConfigFile, inspectConfigFile } from '../../src/cli/frame/config-file.ts';
import { runCommand } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const inDark = { cwd: '/home/ada/router', env: { HOME: '/home/ada' }, platform: 'linux' } as const;
const only = (...there: readonly string[]) => ({
  ...inDark,
  isThere: (path: string) => there.includes(path),
});

test('the flag comes first, then SVC_CONFIG, then the folder, the user and the machine', () => {
  const user = '/home/ada/.config/svc/svc.json';
  const machine = '/etc/svc/svc.json';
  const all = only('/home/ada/router/svc.json', user, machine);
  const named = { ...all, env: { ...all.env, SVC_CONFIG: 'other.json' } };
  assert.equal(findConfigFile('a.json', named).path, '/home/ada/router/a.json');
  assert.equal(findConfigFile(null, named).path, '/home/ada/router/other.json');
  assert.equal(findConfigFile(null, { ...named, isThere: () => false }).name, 'other.json');
  for (const [there, name] of [
    [all, 'svc.json'],
    [only(user, machine), user],
    [only(machine), machine],
    [only(), 'svc.json'],
  ] as const) {
    assert.equal(findConfigFile(null, there).name, name);
  }
  const empty = { ...only(user), env: { HOME: '/home/ada', SVC_CONFIG: '' } };
  assert.equal(findConfigFile(null, empty).path, user);
});

test('where there is none, every place that was looked at is named', () => {
  const looked = findConfigFile(null, only()).searched;
  assert.deepEqual(looked, [
    '/home/ada/router/svc.json',
    '/home/ada/.config/svc/svc.json',
    '/etc/svc/svc.json',
  ]);
  const windows = { ...only(), platform: 'win32', env: { APPDATA: '/appdata' } } as const;
  assert.deepEqual(findConfigFile(null, windows).searched, [
    '/home/ada/router/svc.json',
    '/appdata/svc/svc.json',
  ]);
});

test('the error of none names the places, and the way to a first one', async () => {
  await using place = await scratch();
  const path = join(place.path, 'svc.json');
  const file = { name: 'svc.json', path, by: 'none', searched: [path, '/a/svc.json'] } as const;
  const { validation } = await inspectConfigFile(file, { env: {} });
  const [problem] = validation.problems;
  const where = `${path} and /a/svc.json`;
  assert.equal(problem!.message, `there is no configuration; it was looked for at ${where}`);
  assert.match(problem!.remedy, /`svc init`.*--config.*`svc demo`/);
});

/** `XDG_CONFIG_HOME` leads to a folder of the test's. */
async function userPlace() {
  const place = await scratch();
  const [cwd, configStore] = [join(place.path, 'cwd'), join(place.path, 'config')];
  for (const path of [cwd, join(configStore, 'svc')]) mkdirSync(path, { recursive: true });
  const text = JSON.stringify(
    webhookConfig({
      port: await freePort(),
      adminPort: await freePort(),
      modelUrl: 'http://127.0.0.1:9',
      receiverUrl: 'http://127.0.0.1:9/',
    }),
  );
  const env = { XDG_CONFIG_HOME: configStore };
  return Object.assign(place, { cwd, env, text, users: join(configStore, 'svc', 'svc.json') });
}

test('commands go by the file that is found, and say which', async () => {
  await using place = await userPlace();
  const { cwd, env, text, users } = place;
  writeFileSync(users, text);
  const found = await runCommand(['config', 'check'], { cwd, env });
  assert.deepEqual([found.code, found.out], [0, `✓ ${users} is valid\n`]);
  for (const args of [['serve'], ['status'], ['send', 'Hello'], ['chat']]) {
    const { out } = await runCommand(args, { cwd, env, terminal: true, input: '/quit\n' });
    assert.ok(out.includes(`The configuration is ${users}.\n`), `${args.join()}: ${out}`);
  }
  writeFileSync(join(cwd, 'svc.json'), '{}');
  assert.match((await runCommand(['config', 'check'], { cwd, env })).out, /^✗ svc\.json/);
  const named = { cwd, env: { ...env, SVC_CONFIG: users } };
  assert.equal((await runCommand(['config', 'check'], named)).code, 0);
  const { out } = await runCommand(['status'], { ...named, terminal: true });
  assert.ok(out.startsWith(`The configuration is ${users} (SVC_CONFIG).\n`), out);
  const quiet = await runCommand(['status'], named);
  assert.doesNotMatch(quiet.err, /The configuration is/);
});

test('what SVC_CONFIG names and what is in the way are no reason to look further', async () => {
  await using place = await userPlace();
  const { cwd, env, text, users } = place;
  writeFileSync(users, text);
  const missing = { cwd, env: { ...env, SVC_CONFIG: 'gone.json' } };
  for (const args of [['serve'], ['status'], ['doctor'], ['config', 'check'], ['chat']]) {
    const { code, out, err } = await runCommand(args, missing);
    assert.equal(code, 78, args.join());
    assert.match(out + err, /there is no file .*gone\.json, which SVC_CONFIG names/);
  }
  symlinkSync('nowhere.json', join(cwd, 'svc.json'));
  const link = await runCommand(['config', 'check'], { cwd, env });
  assert.deepEqual(
    [link.code, /there is no file .*svc\.json/.test(link.out)],
    [78, true],
    link.out,
  );
});

test('no command has a default of its own', () => {
  const files = globSync('src/**/*.ts', { cwd: root });
  const own = files.filter((file) =>
    /\?\? 'svc\.json'|inspectConfig\(/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.deepEqual(
    own.filter((file) => file.startsWith('src/cli/')),
    ['src/cli/frame/config-file.ts'],
  );
});
