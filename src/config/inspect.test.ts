import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { mountsBelow } from './agent-folders.ts';
import { defaultStoragePath, inspectConfig, inspectText, revisionOf } from './inspect.ts';

suite('the inspection of a file', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-inspect-'));
  });
  after(() => rm(folder, { recursive: true }));

  const config = {
    channels: [
      { type: 'webhook', token_env: 'HOOK', webhook: { outbound_url: 'http://127.0.0.1:9/x' } },
    ],
    brains: [
      {
        name: 'main',
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [{ provider: 'local_runtime', model_id: 'm', locality: 'local' }],
        agent: { tools: ['read_file'], read_file: { root: 'files' }, skills_dir: './skills' },
      },
    ],
    routes: [{ channel: 'webhook', brain: 'main' }],
    storage: { path: 'data/svc.db' },
  };

  async function inspect(content: string | Uint8Array, mode = 0o600, env = {}) {
    const file = join(folder, 'svc.json');
    await writeFile(file, content);
    await chmod(file, mode);
    const inspection = await inspectConfig(file, env);
    const codes = inspection.validation.problems.map(({ code }) => code);
    return { ...inspection, codes };
  }

  async function problemsOf(path: string): Promise<readonly string[]> {
    const { validation, text } = await inspectConfig(path, {});
    assert.equal(text, '');
    return validation.problems.map(({ code, line, path: at }) => `${code} ${line} ${at}`);
  }

  test('relative paths are taken from the folder of the file', async () => {
    const text = JSON.stringify(config);
    const { validation, storage, text: read, folder: found } = await inspect(text);
    assert.ok(validation.kind === 'valid');
    assert.equal(found, folder);
    const path = join(folder, 'data/svc.db');
    assert.deepEqual(storage, { kind: 'file', path });
    assert.equal(validation.config.storage?.path, path);
    assert.equal(validation.config.brains[0]?.agent?.readFile?.root, join(folder, 'files'));
    assert.equal(validation.config.brains[0].agent.skillsDir, join(folder, 'skills'));
    assert.equal(read, text);
    assert.match(revisionOf(read), /^[0-9a-f]{12}$/);
  });

  test('a text is inspected as if it stood in the file, without its byte order mark', async () => {
    const text = JSON.stringify(config);
    const read = await inspect(text);
    const given = await inspectText(`\uFEFF${text}`, join(folder, 'svc.json'), {});
    const { codes: _codes, ...same } = read;
    assert.deepEqual(given, same);
  });

  test('a folder of an agent that is not there is a warning at its place', async () => {
    const missing = await inspect(JSON.stringify(config, null, 2));
    assert.deepEqual(missing.codes, ['read_root_missing', 'skills_missing']);
    const warning = missing.validation.problems.find(({ code }) => code === 'skills_missing');
    assert.equal(missing.text.split('\n')[warning!.line - 1]!.trim(), '"skills_dir": "./skills"');
    await mkdir(join(folder, 'skills'));
    await mkdir(join(folder, 'files'));
    assert.deepEqual((await inspect(JSON.stringify(config))).codes, []);
  });

  test('a root that holds what is precious is a warning, however it is written', async () => {
    await mkdir(join(folder, 'home/inner'), { recursive: true });
    await symlink('/', join(folder, 'top'));
    const env = { HOME: join(folder, 'home') };
    for (const [root, isWide] of [
      ['.', true],
      ['..', true],
      ['/', true],
      ['/etc', true],
      ['top/etc/', true],
      ['top', true],
      ['home', true],
      ['home/inner/..', true],
      ['home/inner', false],
    ] as const) {
      const agent = { tools: ['read_file'], read_file: { root } };
      const text = JSON.stringify({ ...config, brains: [{ ...config.brains[0], agent }] });
      const { codes } = await inspect(text, 0o600, env);
      assert.equal(codes.includes('read_root_wide'), isWide, root);
    }
  });

  test('a mount below a root is a warning, the root itself is none', async () => {
    const table = [
      '22 1 8:1 / / rw - ext4 /dev/sda rw',
      '30 22 8:2 / /srv rw - ext4 /dev/sdb rw',
      '31 30 8:3 / /srv/a\\040b rw shared:1 - ext4 /dev/sdc rw',
      '32 30 8:3 / /srv/a\\040b rw - ext4 /dev/sdc rw',
      '33 22 8:4 / /srv2 rw - ext4 /dev/sdd rw',
    ].join('\n');
    assert.deepEqual(mountsBelow('/srv', table), ['/srv/a b']);
    assert.deepEqual(mountsBelow('/srv/a b', table), []);
    assert.deepEqual(mountsBelow('/', table), ['/srv', '/srv/a b', '/srv2']);
    if (process.platform !== 'linux') return;
    const agent = { tools: ['read_file'], read_file: { root: '/' } };
    const text = JSON.stringify({ ...config, brains: [{ ...config.brains[0], agent }] });
    const { validation } = await inspect(text);
    const found = validation.problems.find(({ code }) => code === 'read_root_mount');
    assert.match(found!.message, /\/proc|and \d+ more/);
  });

  test('a database server is a place of its own, and no file is looked for', async () => {
    const text = JSON.stringify({ ...config, storage: { url_env: 'DATABASE_URL' } });
    const { storage, validation } = await inspect(text);
    assert.equal(validation.kind, 'valid');
    assert.deepEqual(storage, { kind: 'server', urlEnv: 'DATABASE_URL' });
  });

  test('without a path the database is in the configuration folder of the user', async () => {
    const text = JSON.stringify({ ...config, storage: {} });
    const { storage, validation } = await inspect(text, 0o600, { XDG_CONFIG_HOME: '/xdg' });
    assert.ok(validation.kind === 'valid');
    assert.equal(validation.config.storage?.path, null);
    const usual = defaultStoragePath({ XDG_CONFIG_HOME: '/xdg' });
    assert.deepEqual(storage, { kind: 'file', path: usual });
    const cases = [
      [{ XDG_CONFIG_HOME: '/xdg', HOME: '/home/a' }, 'linux', '/xdg/svc/svc.db'],
      [{ XDG_CONFIG_HOME: 'relative', HOME: '/home/a' }, 'linux', '/home/a/.config/svc/svc.db'],
      [{ HOME: '/home/a' }, 'linux', '/home/a/.config/svc/svc.db'],
      [{ HOME: '/Users/a' }, 'darwin', '/Users/a/Library/Application Support/svc/svc.db'],
      [{ APPDATA: '/AppData' }, 'win32', '/AppData/svc/svc.db'],
    ] as const;
    for (const [env, platform, path] of cases)
      assert.equal(defaultStoragePath(env, platform), path);
  });

  test('a file that cannot be used is one clear problem', async () => {
    assert.deepEqual(await problemsOf(join(folder, 'none.json')), ['file_missing 0 ']);
    assert.deepEqual(await problemsOf(join(folder, 'none/none.json')), ['file_missing 0 ']);
    assert.deepEqual(await problemsOf(folder), ['file_unreadable 0 ']);
    assert.deepEqual((await inspect(Buffer.from([0x7b, 0xff, 0x7d]))).codes, ['file_not_utf8']);
    assert.deepEqual((await inspect('')).codes, ['syntax']);
  });

  test('one byte over 1 MiB is too much', async () => {
    const text = JSON.stringify({ ...config, _pad: '' });
    const padded = (bytes: number): string => text.replace('""', `"${'x'.repeat(bytes)}"`);
    const room = 1_048_576 - text.length;
    assert.equal((await inspect(padded(room))).validation.kind, 'valid');
    assert.deepEqual((await inspect(padded(room + 1))).codes, ['file_too_large']);
  });

  test('a file that others can change, or a database they can read, is a warning', async () => {
    const brains = config.brains.map(({ agent: _agent, ...brain }) => brain);
    const text = JSON.stringify({ ...config, brains, storage: { path: 'an open.db' } });
    const database = join(folder, 'an open.db');
    await writeFile(database, '');
    await chmod(database, 0o644);
    const { codes, validation } = await inspect(text, 0o646);
    assert.deepEqual(codes, ['file_writable_by_others', 'database_readable_by_others']);
    assert.equal(validation.kind, 'valid');
    const remedy = validation.problems.find(({ code }) => /database/.test(code))?.remedy;
    assert.equal(remedy, `Run chmod 600 '${database}'`, 'it can be pasted into a shell');
    await chmod(database, 0o640);
    assert.deepEqual((await inspect(text, 0o644)).codes, [], 'the file holds no secrets');
  });
});
