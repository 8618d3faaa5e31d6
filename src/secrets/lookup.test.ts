import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { SecretLookupResult, SecretLookupResults } from '../config/found-secret.ts';
import { Lookup, secretFileBytesMax } from './lookup.ts';
import { AskedKeychain, locked } from '../../test/fake/asked-keychain.ts';

suite('the look-up of secrets', () => {
  let cwd = '';
  before(() => {
    cwd = mkdtempSync(join(tmpdir(), 'svc-lookup-'));
    writeFileSync(join(cwd, 'value'), 'of-the-file\n');
    mkdirSync(join(cwd, 'credentials'));
    writeFileSync(join(cwd, 'credentials', 'TOKEN'), 'of-systemd');
  });
  after(() => rmSync(cwd, { recursive: true, force: true }));

  const lookIn = (env: Record<string, string>, keychain: AskedKeychain | null = null): Lookup =>
    new Lookup({ env, cwd, keychain: keychain?.open ?? null, now: () => 7 });

  const one = (found: SecretLookupResults, name = 'TOKEN'): SecretLookupResult => found.get(name)!;

  async function find(
    env: Record<string, string>,
    keychain?: AskedKeychain,
  ): Promise<SecretLookupResult> {
    return one(await lookIn(env, keychain).find(['TOKEN']));
  }

  const told = (found: SecretLookupResult): string =>
    found.kind === 'value' ? `${found.source}: ${found.value}` : found.kind;

  test('the first place with a value wins: variable, file, credential, keychain', async () => {
    const keychain = new AskedKeychain();
    keychain.values = { TOKEN: 'of-the-keychain' };
    const env: Record<string, string> = {
      TOKEN: 'of-the-environment',
      TOKEN_FILE: 'value',
      CREDENTIALS_DIRECTORY: 'credentials',
    };
    const wins: string[] = [];
    for (const gone of ['TOKEN', 'TOKEN_FILE', 'CREDENTIALS_DIRECTORY']) {
      wins.push(told(await find(env, keychain)));
      // Blank counts as not set.
      env[gone] = ' \n';
    }
    wins.push(told(await find(env, keychain)));
    assert.deepEqual(wins, [
      'environment: of-the-environment',
      'file: of-the-file\n',
      'credential: of-systemd',
      'keychain: of-the-keychain',
    ]);
    assert.deepEqual([keychain.opened, keychain.asked], [1, [['TOKEN']]], 'no sooner than needed');
  });

  test('a file beside a variable that is set is told as not used, and is not read', async () => {
    const found = await find({ TOKEN: 'x', TOKEN_FILE: 'nowhere' });
    assert.deepEqual(found, {
      kind: 'value',
      value: 'x',
      source: 'environment',
      unused: ['file'],
    });
    const alone = await find({ TOKEN: 'x', TOKEN_FILE: ' ' });
    assert.deepEqual(alone.kind === 'value' && alone.unused, []);
  });

  test('what is missing names every place that was asked, in order', async () => {
    const places = async (env: Record<string, string>, keychain?: AskedKeychain) => {
      const found = await find(env, keychain);
      assert.ok(found.kind === 'missing', found.kind);
      return found.looked.map(({ text, empty }) => (empty ? `${text}, empty` : text));
    };
    assert.deepEqual(await places({}), [
      'TOKEN in the environment',
      'TOKEN_FILE in the environment',
    ]);
    writeFileSync(join(cwd, 'credentials', 'BLANK'), '\n');
    const env = { TOKEN: '', CREDENTIALS_DIRECTORY: join(cwd, 'nowhere') };
    assert.deepEqual(await places(env, new AskedKeychain()), [
      'TOKEN in the environment, empty',
      'TOKEN_FILE in the environment',
      'TOKEN in $CREDENTIALS_DIRECTORY',
      'TOKEN in the keychain',
    ]);
    const blank = await lookIn({ CREDENTIALS_DIRECTORY: 'credentials' }).find(['BLANK']);
    const found = one(blank, 'BLANK');
    assert.equal(found.kind === 'missing' && found.looked.at(-1)?.empty, true);
    const inherited = await lookIn({}).find(['toString', '__proto__']);
    assert.deepEqual([...inherited.values()].map(told), ['missing', 'missing']);
  });

  const hidden = join('no', 'canary-in-the-place-of-a-path');
  for (const [what, path, message, make] of [
    ['that is not there', hidden, 'a file that does not exist', null],
    ['that is empty', 'empty', 'a file that is empty', (at) => writeFileSync(at, ' \n')],
    ['that is a folder', 'credentials', 'a folder', null],
    ['that is a pipe', 'pipe', 'a pipe or a device', (at) => execFileSync('mkfifo', [at])],
    ['that is a device', '/dev/zero', 'a pipe or a device', null],
    ['that is too large', 'large', 'a file that has more than 64 KiB', large(1)],
    ['that is no text', 'bytes', 'a file that is not UTF-8 text', bytes],
  ] as const satisfies readonly [string, string, string, ((at: string) => void) | null][]) {
    const skip = /pipe|device/.test(what) && process.platform === 'win32';
    test(`a file ${what} is unreadable, and no later place is asked`, { skip }, async () => {
      make?.(join(cwd, path));
      const keychain = new AskedKeychain();
      const env = { TOKEN_FILE: path, CREDENTIALS_DIRECTORY: 'credentials' };
      const found = await find(env, keychain);
      assert.ok(found.kind === 'unreadable', found.kind);
      assert.deepEqual([found.source, found.message], ['file', `TOKEN_FILE names ${message}`]);
      assert.match(found.remedy, /or set TOKEN itself/);
      assert.ok(!JSON.stringify(found).includes('canary'), 'the path may be the secret itself');
      assert.equal(keychain.opened, 0);
    });
  }

  test('a file that the system does not open is unreadable, and its error is named', async () => {
    symlinkSync('round', join(cwd, 'round'));
    const found = await find({ TOKEN_FILE: 'round' });
    assert.ok(found.kind === 'unreadable');
    assert.equal(found.message, 'TOKEN_FILE names a file that cannot be read (ELOOP)');
  });

  test('64 KiB are read whole, through a link, and without a byte order mark', async () => {
    large(0)(join(cwd, 'whole'));
    symlinkSync('whole', join(cwd, 'link'));
    const found = await find({ TOKEN_FILE: join(cwd, 'link') });
    assert.equal(found.kind === 'value' && found.value.length, secretFileBytesMax);
    writeFileSync(join(cwd, 'marked'), '\uFEFFvalue');
    assert.equal(told(await find({ TOKEN_FILE: 'marked' })), 'file: value');
  });

  test('a credential that cannot be read ends the look-up as well', async () => {
    mkdirSync(join(cwd, 'credentials', 'FOLDER'));
    const lookup = lookIn({ CREDENTIALS_DIRECTORY: 'credentials' }, new AskedKeychain());
    const found = one(await lookup.find(['FOLDER']), 'FOLDER');
    assert.ok(found.kind === 'unreadable');
    assert.equal(found.message, 'FOLDER in $CREDENTIALS_DIRECTORY is a folder');
  });

  test('a credential may come from a folder that systemd loads whole as "svc"', async () => {
    const folder = join(cwd, 'loaded-whole');
    mkdirSync(folder);
    writeFileSync(join(folder, 'svc_TOKEN'), 'of-the-folder\n');
    const env = { CREDENTIALS_DIRECTORY: folder };
    assert.equal(told(await find(env)), 'credential: of-the-folder\n');
    writeFileSync(join(folder, 'TOKEN'), ' \n');
    assert.equal(told(await find(env)), 'credential: of-the-folder\n', 'blank is no value');
    writeFileSync(join(folder, 'TOKEN'), 'of-its-own');
    assert.equal(told(await find(env)), 'credential: of-its-own');
    mkdirSync(join(folder, 'svc_FOLDER'));
    const found = one(await lookIn(env).find(['FOLDER']), 'FOLDER');
    assert.equal(
      found.kind === 'unreadable' && found.message,
      'svc_FOLDER in $CREDENTIALS_DIRECTORY is a folder',
    );
  });

  test('credentials that are kept are found when they may be read no more', async () => {
    const folder = join(cwd, 'of-root');
    mkdirSync(folder);
    writeFileSync(join(folder, 'TOKEN'), 'of-root\n');
    mkdirSync(join(folder, 'FOLDER'));
    const lookup = lookIn({ CREDENTIALS_DIRECTORY: folder });
    lookup.keepCredentials();
    rmSync(folder, { recursive: true });
    const found = await lookup.find(['TOKEN', 'FOLDER', 'NOWHERE']);
    assert.equal(told(one(found, 'TOKEN')), 'credential: of-root\n');
    const kinds = ['FOLDER', 'NOWHERE'].map((name) => one(found, name).kind);
    assert.deepEqual(kinds, ['unreadable', 'missing']);
  });

  test('the keychain is asked for names of its index alone', async () => {
    const keychain = new AskedKeychain();
    keychain.values = { KEPT: 'kept', OTHER: 'never asked for' };
    const lookup = lookIn({ SET: 'set' }, keychain);
    const found = await lookup.find(['SET', 'KEPT', 'NOWHERE']);
    assert.deepEqual(
      [...found].map(([name, value]) => [name, told(value)]),
      [
        ['SET', 'environment: set'],
        ['KEPT', 'keychain: kept'],
        ['NOWHERE', 'missing'],
      ],
    );
    assert.deepEqual(keychain.asked, [['KEPT']]);
    await lookup.find(['SET', 'NOWHERE']);
    assert.equal(keychain.asked.length, 1);
  });

  test('what the keychain has lost is missing', async () => {
    const keychain = new AskedKeychain();
    keychain.stored = { kind: 'stored', secrets: [{ name: 'TOKEN', setAt: 0 }] };
    assert.equal(told(await find({}, keychain)), 'missing');
  });

  test('a keychain that does not answer is told for its names, and for no other', async () => {
    const keychain = new AskedKeychain();
    keychain.values = { TOKEN: 'kept' };
    keychain.fault = locked;
    const found = await lookIn({}, keychain).find(['TOKEN', 'OTHER']);
    assert.deepEqual(one(found), {
      kind: 'unreadable',
      source: 'keychain',
      message: 'TOKEN is kept in the keychain, which is locked',
      remedy: 'Unlock it.',
    });
    assert.equal(one(found, 'OTHER').kind, 'missing');
  });

  test('an index that cannot be read, and a keychain that throws, leave it open', async () => {
    const keychain = new AskedKeychain();
    keychain.stored = locked;
    const broken = new AskedKeychain();
    broken.values = { TOKEN: 'kept' };
    broken.until = Promise.reject(new Error('canary'));
    broken.until.catch(() => {});
    for (const each of [keychain, broken]) {
      const found = await find({}, each);
      assert.ok(found.kind === 'unreadable');
      assert.match(
        found.message,
        /^TOKEN is set nowhere else, and may be in the keychain[,.] (?:which|The) /,
      );
      assert.doesNotMatch(JSON.stringify(found), /canary/);
    }
    assert.equal(told(await find({ TOKEN: 'x' }, keychain)), 'environment: x');
  });

  test('two who ask at once are no two prompts, and a stop ends the wait', async () => {
    const keychain = new AskedKeychain();
    keychain.values = { TOKEN: 'kept' };
    const { promise, resolve } = Promise.withResolvers<void>();
    keychain.until = promise;
    const lookup = lookIn({}, keychain);
    const stopping = new AbortController();
    const [first, second] = [lookup.find(['TOKEN']), lookup.find(['TOKEN'])];
    const stopped = lookup.find(['TOKEN'], stopping.signal);
    stopping.abort();
    assert.equal(told(one(await stopped)), 'missing');
    assert.equal(told(one(await lookup.find(['TOKEN'], stopping.signal))), 'missing');
    resolve();
    const both = await Promise.all([first, second]);
    assert.deepEqual(
      both.map((found) => told(one(found))),
      ['keychain: kept', 'keychain: kept'],
    );
    assert.equal(keychain.readingMost, 1);
  });

  test('what is held stays as it is, missing or not; all else is looked for again', async () => {
    const keychain = new AskedKeychain();
    const lookup = lookIn({ TOKEN_FILE: 'changing' }, keychain);
    writeFileSync(join(cwd, 'changing'), 'first');
    lookup.hold(await lookup.find(['TOKEN', 'LATE']));
    writeFileSync(join(cwd, 'changing'), 'second');
    keychain.values = { LATE: 'came later', OTHER: 'one' };
    const then = async () =>
      [...(await lookup.find(['TOKEN', 'LATE', 'OTHER'])).values()].map(told);
    assert.deepEqual(await then(), ['file: first', 'missing', 'keychain: one']);
    keychain.values['OTHER'] = 'two';
    assert.deepEqual(await then(), ['file: first', 'missing', 'keychain: two']);
    assert.deepEqual(
      ['TOKEN', 'LATE', 'OTHER'].map((name) => lookup.foundAt(name)),
      [7, null, null],
    );
    lookup.hold(await lookup.find(['LATE']));
    assert.deepEqual(await then(), ['file: second', 'missing', 'keychain: two']);
    lookup.hold(new Map());
    assert.deepEqual(await then(), ['file: second', 'keychain: came later', 'keychain: two']);
  });

  test('places tell how each stands now, and no value', async () => {
    const keychain = new AskedKeychain();
    keychain.values = { TOKEN: 'canary' };
    const env = { TOKEN: ' ', TOKEN_FILE: 'nowhere', CREDENTIALS_DIRECTORY: 'credentials' };
    const places = await lookIn(env, keychain).places('TOKEN');
    assert.deepEqual(
      places.map(({ source, state }) => [source, state]),
      [
        ['environment', 'empty'],
        ['file', 'unreadable'],
        ['credential', 'value'],
        ['keychain', 'value'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(places), /canary|of-systemd/);
    assert.deepEqual(keychain.asked, []);
  });
});

function large(over: number): (at: string) => void {
  return (at) => writeFileSync(at, 'x'.repeat(secretFileBytesMax + over));
}

function bytes(at: string): void {
  writeFileSync(at, Buffer.from([0x74, 0xff, 0xfe]));
}
