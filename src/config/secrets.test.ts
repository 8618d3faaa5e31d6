import assert from 'node:assert/strict';
import { test } from 'node:test';
import { several } from '../../test/config/cases-routes.ts';
import type { Config } from './config.ts';
import type { EnvName } from './secret-value.ts';
import type { SecretLookupResult, SecretLookupResults } from './found-secret.ts';
import { howToSet, problemsOf, resolveSecrets, describeMissing } from './secrets.ts';
import { validateText } from './validate.ts';

const long = 'x'.repeat(16);

const names = ['HOOK', 'OUT', 'BOT', 'KEY', 'DATABASE', 'ADMIN'];

/** The results of a look-up in nothing but an environment. */
function inEnv(env: Record<string, string>, more: readonly string[] = []): SecretLookupResults {
  return new Map(
    [...names, ...more].map((name): [string, SecretLookupResult] => {
      const value = env[name] ?? '';
      if (value.trim() !== '') {
        return [name, { kind: 'value', value, source: 'environment', unused: [] }];
      }
      const text = `${name} in the environment`;
      const place = { source: 'environment', text, empty: name in env } as const;
      return [name, { kind: 'missing', looked: [place] }];
    }),
  );
}

function configOf(): Config {
  const hosted = { provider: 'openai', locality: 'cloud', api_key_env: 'KEY' };
  const validation = validateText(
    JSON.stringify({
      channels: [
        {
          type: 'webhook',
          token_env: 'HOOK',
          webhook: { outbound_url: 'http://127.0.0.1:9/x', outbound_token_env: 'OUT' },
        },
        { type: 'telegram', mode: 'polling', token_env: 'BOT' },
      ],
      brains: [
        {
          name: 'main',
          sensitivity: 'public',
          policy: { kind: 'priority' },
          models: [
            { ...hosted, model_id: 'a' },
            { ...hosted, model_id: 'b' },
          ],
        },
      ],
      routes: [{ channel: 'webhook', brain: 'main' }],
      storage: { url_env: 'DATABASE' },
      admin: { token_env: 'ADMIN' },
    }),
  );
  assert.ok(validation.kind === 'valid');
  return validation.config;
}

test('every secret that a config names is looked up, and every missing one is named', () => {
  const { secrets, missing, warnings } = resolveSecrets(configOf(), inEnv({ OUT: '', BOT: ' \n' }));
  assert.equal(secrets.size, 0);
  assert.deepEqual(
    missing.map((one) => [describeMissing(one), one.usedAt]),
    [
      ['HOOK is not set', ['channels[0].token_env']],
      ['OUT is set, but empty', ['channels[0].webhook.outbound_token_env']],
      ['BOT is set, but empty', ['channels[1].token_env']],
      ['KEY is not set', ['brains[0].models[0].api_key_env', 'brains[0].models[1].api_key_env']],
      ['DATABASE is not set', ['storage.url_env']],
    ],
  );
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [['admin_token_unset', 'admin.token_env']],
  );
  assert.match(warnings[0]!.message, /ADMIN/);
});

test('a value that is no URL of a server is unfit, and nothing of it is told', () => {
  const rest = { HOOK: long, OUT: 'o', BOT: 'b', KEY: 'k', ADMIN: long };
  for (const url of ['canary', 'mysql://canary', 'https://u:canary@h/d', ' postgresql:canary']) {
    const { unfit } = resolveSecrets(configOf(), inEnv({ ...rest, DATABASE: url }));
    assert.deepEqual(
      unfit.map(({ code, path }) => [code, path]),
      [['secret_unfit', 'storage.url_env']],
      url,
    );
    assert.match(unfit[0]!.message, /DATABASE is no URL of a PostgreSQL server$/);
    assert.doesNotMatch(JSON.stringify(unfit), /canary/);
  }
  for (const url of ['postgres://u:p@h/d', 'postgresql://h1,h2:5433/d?sslmode=require\n']) {
    assert.deepEqual(resolveSecrets(configOf(), inEnv({ ...rest, DATABASE: url })).unfit, [], url);
  }
});

test('a complete environment gives every value and no warning', () => {
  const env = { HOOK: long, OUT: 'o', BOT: 'b', KEY: 'k', DATABASE: 'postgres://d', ADMIN: long };
  const { secrets, missing, warnings } = resolveSecrets(configOf(), inEnv(env));
  assert.deepEqual(Object.fromEntries(secrets), env);
  assert.deepEqual([missing, warnings], [[], []]);
});

test('line ends around a value go without a word, other white space with a warning', () => {
  const rest = { OUT: 'o', BOT: 'b', DATABASE: 'postgres://d' };
  const env = { ...rest, HOOK: `${long}\r\n`, KEY: ' k ', ADMIN: long };
  const { secrets, warnings } = resolveSecrets(configOf(), inEnv(env));
  assert.deepEqual([...secrets.values()], [long, 'o', 'b', 'k', 'postgres://d', long]);
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [['secret_trimmed', 'brains[0].models[0].api_key_env']],
  );
});

test('a short token that guards the service is a warning, and is not repeated', () => {
  const env = {
    HOOK: 'shorty',
    OUT: 'o',
    BOT: 'b',
    KEY: 'k',
    DATABASE: 'postgres://d',
    ADMIN: 'x'.repeat(15),
  };
  const { warnings, missing } = resolveSecrets(configOf(), inEnv(env));
  assert.deepEqual(missing, []);
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [
      ['short_token', 'channels[0].token_env'],
      ['short_token', 'admin.token_env'],
    ],
  );
  assert.ok(!JSON.stringify(warnings).includes('shorty'));
});

test('a value that cannot sign is an error at its field, told without the value', () => {
  const config = configOf();
  const [hook, ...others] = config.channels;
  const signing = { ...hook, outboundSigningEnv: 'SIGN' } as (typeof config.channels)[0];
  const resolve = (env: Record<string, string>) =>
    resolveSecrets({ ...config, channels: [signing, ...others] }, inEnv(env, ['SIGN']));
  assert.ok(resolve({}).missing.some(({ name }) => name === 'SIGN'));
  assert.deepEqual(resolve({ SIGN: `whsec_${'A'.repeat(32)}\n` }).unfit, []);
  const { unfit } = resolve({ SIGN: `whsec_${'A'.repeat(28)}` });
  assert.deepEqual(
    unfit.map(({ severity, code, path }) => [severity, code, path]),
    [['error', 'secret_unfit', 'channels[0].webhook.outbound_signing_env']],
  );
  assert.match(unfit[0]!.message, /^the value of SIGN is no signing key/);
  assert.ok(!JSON.stringify(unfit).includes('AAAA'));
});

test('a value of more than one line is an error; of the administrator’s token a warning', () => {
  const two = `${long}\nof-a-second-line`;
  const env = {
    HOOK: `\n${long}\n`,
    OUT: two,
    BOT: `b\0b`,
    KEY: 'k\tk',
    DATABASE: 'postgres://d',
    ADMIN: two,
  };
  const { secrets, missing, unfit, warnings } = resolveSecrets(configOf(), inEnv(env));
  assert.deepEqual(missing, []);
  assert.deepEqual(
    unfit.map(({ code, path, message }) => [code, path, message]),
    [
      [
        'secret_unfit',
        'channels[0].webhook.outbound_token_env',
        'the value of OUT has more than one line, or a control character',
      ],
      [
        'secret_unfit',
        'channels[1].token_env',
        'the value of BOT has more than one line, or a control character',
      ],
    ],
  );
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [['admin_token_unset', 'admin.token_env']],
  );
  assert.ok(!secrets.has('ADMIN' as EnvName), 'the service is read-only');
  assert.ok(!JSON.stringify([unfit, warnings]).includes('second'));
});

test('a place that cannot be read is an error, but of the administrator’s token a warning', () => {
  const unreadable = (name: string): [string, SecretLookupResult] => {
    const message = `${name}_FILE names a folder`;
    return [name, { kind: 'unreadable', source: 'file', message, remedy: 'Mend it.' }];
  };
  const env = inEnv({ OUT: 'o', BOT: 'b', KEY: 'k', DATABASE: 'postgres://d' });
  const found = new Map([...env, unreadable('HOOK'), unreadable('ADMIN')]);
  const { missing, warnings } = resolveSecrets(configOf(), found);
  assert.deepEqual(missing.map(describeMissing), ['HOOK_FILE names a folder']);
  assert.deepEqual(howToSet(missing[0]!), ['Mend it.']);
  assert.deepEqual(
    problemsOf(missing).map(({ code, path, message }) => [code, path, message]),
    [['secret_unreadable', 'channels[0].token_env', 'HOOK_FILE names a folder']],
  );
  assert.deepEqual(
    warnings.map(({ code, message, remedy }) => [code, message, remedy]),
    [['admin_token_unset', 'ADMIN_FILE names a folder, so the service is read-only', 'Mend it.']],
  );
});

test('a file that is not used is one warning, however often its name is used', () => {
  const env = inEnv({ HOOK: long, OUT: 'o', BOT: 'b', DATABASE: 'postgres://d', ADMIN: long });
  const key = { kind: 'value', value: 'k', source: 'environment', unused: ['file'] } as const;
  const { warnings } = resolveSecrets(configOf(), new Map([...env, ['KEY', key]]));
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [['secret_file_unused', 'brains[0].models[0].api_key_env']],
  );
  assert.match(warnings[0]!.message, /KEY_FILE/);
});

test('a name that was not looked for is judged by nobody', () => {
  const { secrets, missing, warnings } = resolveSecrets(configOf(), new Map());
  assert.deepEqual([secrets.size, missing, warnings], [0, [], []]);
});

test('what to do names every place that was asked, and the keychain where it was one', () => {
  const place = (text: string) => ({ source: 'environment', text, empty: false }) as const;
  const looked = [place('A'), place('B'), { ...place('C'), empty: true }];
  const linesFor = (more: object[]) =>
    howToSet({
      name: 'X' as EnvName,
      found: { kind: 'missing', looked: [...looked, ...more] as never },
    });
  const set = 'Set it in the environment: export X=…';
  assert.deepEqual(linesFor([]), ['svc looked for A, B and C (empty).', set]);
  assert.deepEqual(linesFor([{ ...place('D'), source: 'keychain' }]), [
    'svc looked for A, B, C (empty) and D.',
    set,
    'Or store it in the keychain: svc secrets set X',
  ]);
});

test('a service of systemd is told of its credentials, not of a shell or a keychain', () => {
  const place = (source: 'environment' | 'credential' | 'keychain') =>
    ({ source, text: source, empty: false }) as const;
  const looked = [place('environment'), place('credential'), place('keychain')];
  const missing = {
    name: 'X' as EnvName,
    usedAt: ['a'],
    found: { kind: 'missing', looked },
  } as const;
  const lines = [
    'svc looked for environment, credential and keychain.',
    'Write it into the folder of LoadCredential= (/etc/credstore/svc/X), and restart svc.',
  ];
  assert.deepEqual(howToSet(missing), lines);
  assert.equal(problemsOf([missing])[0]!.remedy, lines.join(' '));
});

test('what is missing is a problem at each place that wants it', () => {
  const env = { HOOK: long, OUT: long, BOT: long, DATABASE: 'postgres://d' };
  const { missing } = resolveSecrets(configOf(), inEnv(env));
  assert.deepEqual(
    problemsOf(missing).map(({ severity, code, path }) => [severity, code, path]),
    [
      ['error', 'secret_missing', 'brains[0].models[0].api_key_env'],
      ['error', 'secret_missing', 'brains[0].models[1].api_key_env'],
    ],
  );
  const kept = { source: 'keychain', text: 'KEY in the keychain', empty: false } as const;
  const found = { kind: 'missing', looked: [kept] } as const;
  const [problem] = problemsOf(missing.map((one) => ({ ...one, found })));
  assert.match(problem!.remedy, /set KEY\.$/, 'another sentence may follow');
});

test('one token behind two names is an error that names both variables, and no value', () => {
  const token = `4711:${'x'.repeat(40)}`;
  const validation = validateText(several);
  assert.ok(validation.kind === 'valid');
  const env = { BOT_A: token, BOT_B: `${token}\n`, HOOK: token };
  const { unfit } = resolveSecrets(validation.config, inEnv(env, ['BOT_A', 'BOT_B']));
  assert.deepEqual(
    unfit.map(({ code, path, message }) => [code, path, message]),
    [
      [
        'token_shared',
        'channels[1].token_env',
        'BOT_A and BOT_B have one token, and each bot needs its own',
      ],
    ],
  );
  assert.ok(!JSON.stringify(unfit).includes(token));
  const apart = inEnv({ ...env, BOT_B: `4712:${'x'.repeat(40)}` }, ['BOT_A', 'BOT_B']);
  assert.deepEqual(resolveSecrets(validation.config, apart).unfit, []);
});
