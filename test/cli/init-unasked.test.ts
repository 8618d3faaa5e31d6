/** `svc init --yes`: one file from flags, and nothing else. */
import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { runCommand } from '../support/in-process.ts';
import { scratch } from '../support/program.ts';
import { launcher, runProgram } from '../support/run-svc.ts';

type Model = Readonly<Record<string, unknown>>;
type Document = {
  readonly channels: readonly Readonly<Record<string, unknown>>[];
  readonly brains: readonly { readonly sensitivity: string; readonly models: readonly Model[] }[];
  readonly storage: unknown;
  readonly admin?: unknown;
};

/** Runs it in a new folder, without the variables of this process. */
async function init(folder: string, words: string, env: Record<string, string> = {}) {
  const args = ['init', ...words.split(' ').filter((word) => word !== '')];
  return runCommand(args, { cwd: folder, env: { HOME: folder, ...env } });
}

const usual = '--yes --channel webhook --provider ollama --model llama3.2';
const usualArgs = ['init', ...usual.split(' ')];

suite('what --yes writes', () => {
  const local = { provider: 'local_runtime', locality: 'local' };
  const hosted = { provider: 'hosted_runtime', locality: 'cloud' };
  const openai = 'OPENAI_API_KEY';
  const cases: readonly (readonly [flags: string, sensitivity: string, model: Model])[] = [
    ['--provider ollama --model m', 'private', { ...local, model_id: 'm' }],
    ['--provider local_runtime --model m', 'private', { ...local, model_id: 'm' }],
    [
      '--provider ollama --model m --base-url http://10.0.0.7:11434/',
      'private',
      { ...local, model_id: 'm', base_url: 'http://10.0.0.7:11434' },
    ],
    [
      '--provider ollama --model m --base-url https://ollama.com',
      'public',
      { ...local, model_id: 'm', locality: 'cloud', base_url: 'https://ollama.com' },
    ],
    [
      '--provider ollama --model m --base-url http://gpu.example.org:11434',
      'public',
      { ...local, model_id: 'm', locality: 'cloud', base_url: 'http://gpu.example.org:11434' },
    ],
    [
      '--provider ollama --model big:120b-cloud',
      'public',
      { ...local, model_id: 'big:120b-cloud', locality: 'cloud' },
    ],
    [
      '--provider openai --model gpt-6-luna',
      'public',
      { ...hosted, model_id: 'gpt-6-luna', api_key_env: openai },
    ],
    [
      '--provider hosted_runtime --model m --base-url https://api.groq.com/openai/v1',
      'public',
      {
        ...hosted,
        model_id: 'm',
        base_url: 'https://api.groq.com/openai/v1',
        api_key_env: 'GROQ_API_KEY',
      },
    ],
    [
      '--provider openai --model m --base-url https://llm.example.org/v1',
      'public',
      {
        ...hosted,
        model_id: 'm',
        base_url: 'https://llm.example.org/v1',
        api_key_env: 'MODEL_API_KEY',
      },
    ],
    [
      '--provider openai --model m --base-url http://127.0.0.1:1234/v1',
      'private',
      { ...hosted, model_id: 'm', locality: 'local', base_url: 'http://127.0.0.1:1234/v1' },
    ],
  ];
  for (const [flags, sensitivity, model] of cases) {
    test(`${flags}: ${sensitivity}`, async () => {
      await using folder = await scratch();
      const { code, err } = await init(folder.path, `--yes --channel webhook ${flags}`);
      assert.deepEqual([code, err], [0, '']);
      const text = await readFile(join(folder.path, 'svc.json'), 'utf8');
      assert.ok(text.endsWith('}\n'));
      const { brains, storage, admin } = JSON.parse(text) as Document;
      assert.equal(brains[0]!.sensitivity, sensitivity);
      assert.deepEqual(brains[0]!.models, [model]);
      assert.deepEqual([storage, admin], [{ path: 'svc.db' }, undefined]);
      const check = await runCommand(['config', 'check'], { cwd: folder.path });
      assert.equal(check.code, 0, check.out);
    });
  }

  for (const name of ['telegram', 'messenger_a', 'discord', 'messenger_b']) {
    test(`a messenger called ${name} lets in nobody but by a code`, async () => {
      await using folder = await scratch();
      const flags = `--yes --channel ${name} --provider ollama --model m`;
      const { code, out } = await init(folder.path, flags);
      assert.equal(code, 0);
      const { channels } = JSON.parse(
        await readFile(join(folder.path, 'svc.json'), 'utf8'),
      ) as Document;
      assert.deepEqual(channels[0]!['access'], { pairing: true });
      assert.match(out, /export (?:TELEGRAM|DISCORD)_TOKEN='…'\n.*svc serve/);
      assert.match(out, /svc pair/);
    });
  }

  test('a webhook answers to the usual address, and its secret is made by the line', async () => {
    await using folder = await scratch();
    const { out } = await init(folder.path, usual);
    const { channels } = JSON.parse(
      await readFile(join(folder.path, 'svc.json'), 'utf8'),
    ) as Document;
    const webhook = { outbound_url: 'http://127.0.0.1:8091/reply' };
    assert.deepEqual(channels, [{ type: 'webhook', token_env: 'WEBHOOK_SECRET', webhook }]);
    assert.match(out, /✓ svc\.json is valid\n/);
    assert.match(out, /export WEBHOOK_SECRET="\$\(openssl rand -hex 32\)"\n.*svc serve\n/);
    assert.deepEqual(await readdir(folder.path), ['svc.json']);
  });

  test('what is set already is not asked for; a token of the admin server is used', async () => {
    await using folder = await scratch();
    const env = { WEBHOOK_SECRET: 'a-secret-of-the-test', ADMIN_TOKEN: 'a-token-of-the-test' };
    const { out } = await init(folder.path, usual, env);
    const text = await readFile(join(folder.path, 'svc.json'), 'utf8');
    assert.deepEqual((JSON.parse(text) as Document).admin, { token_env: 'ADMIN_TOKEN' });
    assert.doesNotMatch(out, /export/);
    for (const value of Object.values(env)) assert.ok(!(out + text).includes(value));
  });

  test('a folder is made where it is missing, and the command names the file', async () => {
    await using folder = await scratch();
    const { code, out } = await init(folder.path, `${usual} --dir new/folder`);
    assert.equal(code, 0);
    assert.match(out, /svc serve --config new\/folder\/svc\.json\n/);
    assert.equal((await stat(join(folder.path, 'new/folder/svc.json'))).mode & 0o777, 0o600);
  });

  const named: readonly (readonly [dir: string, env: Record<string, string>, file: RegExp])[] = [
    [' --dir ~/there', {}, / serve --config \.\/~\/there\/svc\.json\n/],
    [' --dir=-there', {}, / serve --config \.\/-there\/svc\.json\n/],
    ['', { SVC_CONFIG: 'another.json' }, / serve --config svc\.json\n/],
  ];
  for (const [dir, env, file] of named) {
    test(`what starts it starts this file: "${dir}" ${Object.keys(env).join('')}`, async () => {
      await using folder = await scratch();
      const { code, out } = await init(folder.path, `${usual}${dir}`, env);
      assert.equal(code, 0);
      assert.match(out, file);
    });
  }
});

suite('what --yes refuses', () => {
  const wrong: readonly (readonly [flags: string, why: RegExp])[] = [
    ['--yes', /--channel, --provider, --model/],
    ['--yes --channel webhook --model m', /--provider/],
    ['--yes --channel pigeon --provider ollama --model m', /webhook, telegram, discord/],
    ['--yes --channel webhook --provider magic --model m', /ollama or openai/],
    [`${usual} --base-url ftp://there`, /--base-url/],
    [`${usual} --channel-url there`, /--channel-url/],
    [`${usual} --model`, /--model needs a value/],
    ['--channel webhook', /goes with --yes/],
    ['', /no terminal to ask at/],
    [`${usual} more`, /one argument too many/],
  ];
  for (const [flags, why] of wrong) {
    test(`"svc init ${flags}" is wrong usage`, async () => {
      await using folder = await scratch();
      const { code, out, err } = await init(folder.path, flags);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, why);
      assert.deepEqual(await readdir(folder.path), []);
    });
  }

  test('a file, a folder or a link that is there already stays', async () => {
    await using folder = await scratch();
    await writeFile(join(folder.path, 'svc.json'), 'mine');
    await mkdir(join(folder.path, 'other/svc.json'), { recursive: true });
    for (const dir of ['', ' --dir other']) {
      const { code, out, err } = await init(folder.path, `${usual}${dir}`);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /svc\.json already exists; nothing was written\./);
    }
    assert.equal(await readFile(join(folder.path, 'svc.json'), 'utf8'), 'mine');
  });

  test('a folder that cannot be written to is told', async () => {
    await using folder = await scratch();
    await writeFile(join(folder.path, 'file'), '');
    const { code, err } = await init(folder.path, `${usual} --dir file`);
    assert.equal(code, 1);
    assert.match(err, /file\/svc\.json cannot be written: a file stands where its folder is to be/);
  });

  const noLimit = process.platform === 'win32' && 'there is no limit for files';
  test('a disk that is full leaves nothing in the way', { skip: noLimit }, async () => {
    await using folder = await scratch();
    // No file may get a byte, as on a full disk.
    const line = `ulimit -f 0; exec "$@"`;
    const run = runProgram(
      '/bin/sh',
      ['-c', line, 'sh', process.execPath, launcher, ...usualArgs],
      {
        cwd: folder.path,
        env: { HOME: folder.path, NODE_COMPILE_CACHE: undefined, NODE_DISABLE_COMPILE_CACHE: '1' },
      },
    );
    assert.equal((await run.ended).code, 1, run.err());
    assert.match(run.err(), /svc\.json cannot be written/);
    assert.ok(!(await readdir(folder.path)).includes('svc.json'));
  });

  test('a blank name of a model', async () => {
    await using folder = await scratch();
    const args = ['--yes', '--channel', 'webhook', '--provider', 'ollama', '--model', ' '];
    const { code, err } = await runCommand(['init', ...args], { cwd: folder.path });
    assert.equal(code, 2);
    assert.match(err, /--model is the name of a model/);
  });
});
