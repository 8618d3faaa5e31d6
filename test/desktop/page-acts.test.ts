/** The effects of the shell page's buttons on the configuration, the secrets and the service. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApplicationState, Stuck } from '../../apps/desktop/desktop.ts';
import { createRepairs } from '../../apps/desktop/repairs/make-repairs.ts';
import { fakeKeychain } from '../fake/keychain.ts';
import { echoText, openPageStage, until, type PageStage } from '../fake/page-stage.ts';
import { scratch } from '../support/program.ts';

const serving = { at: 'serving', origin: 'http://127.0.0.1:2112', canWrite: true } as const;
const pages = 'http://127.0.0.1:2112/ui#code';
const canary = 'canary-7f3Qz91LmXc0';

const stuck = (why: Stuck): ApplicationState => ({ at: 'needs_you', why });

const missing = (keychain: Extract<Stuck, { of: 'secrets' }>['keychain']): ApplicationState =>
  stuck({
    of: 'secrets',
    missing: [
      { name: 'WEBHOOK_SECRET', usedAt: ['channels[0].token_env'], why: 'It is not set.' },
      { name: 'BOT_KEY', usedAt: ['brains[0].models[0].api_key_env'], why: 'It is not set.' },
    ],
    keychain,
    told: keychain === 'ready' ? null : 'It is as it is.',
  });

const textOf = ({ config }: PageStage): string => readFileSync(config, 'utf8');

/** The page's report after an action. */
async function toldBy(stage: PageStage, ...act: Parameters<PageStage['press']>): Promise<string> {
  const { text } = await stage.follow(await stage.press(...act));
  return /<p class="told [^>]*>([^<]*)<\/p>/.exec(text)?.[1]?.replaceAll('&#39;', "'") ?? '';
}

test('pasted secrets go to the keychain, and the service begins again', async () => {
  await using stage = await openPageStage();
  const { application, keychain, press, follow } = stage;
  application.state = missing('ready');
  const reply = await press('secrets', { 'value-0': ` ${canary} `, 'value-1': '' });
  assert.equal(reply.status, 303);
  assert.deepEqual(
    [...keychain.values].map(([name, { value }]) => [name, value]),
    [['WEBHOOK_SECRET', canary]],
  );
  assert.deepEqual(application.asked, ['restart']);
  const page = await follow(reply);
  assert.match(page.text, /It is in the keychain/);
  assert.ok(!`${page.text}${JSON.stringify(reply)}`.includes(canary));
});

test('a secret that cannot be kept is told of without its value', async () => {
  await using stage = await openPageStage();
  const { application, keychain } = stage;
  application.state = missing('ready');
  const broken = { 'value-0': canary, 'value-1': `${canary}\n${canary}` };
  const told = await toldBy(stage, 'secrets', broken);
  assert.match(told, /BOT_KEY: The value has more than one line.*Nothing was kept/);
  assert.ok(!told.includes(canary));
  assert.equal(keychain.values.size, 0);
  keychain.now = 'locked';
  const refused = await toldBy(stage, 'secrets', { 'value-0': canary });
  assert.match(refused, /WEBHOOK_SECRET was not kept\. It is locked\. Mend locked\./);
  assert.match(await toldBy(stage, 'secrets', {}), /Nothing was pasted/);
  assert.deepEqual(application.asked, []);
});

test('without a keychain the service keeps what was pasted in memory, and begins', async () => {
  await using stage = await openPageStage();
  const { application, keychain, inMemory } = stage;
  keychain.now = 'no_provider';
  application.state = missing('no_provider');
  assert.match((await stage.ask('./')).text, /asks for it again the next time/);
  assert.match(await toldBy(stage, 'secrets', { 'value-0': ` ${canary} ` }), /until it is quit/);
  assert.deepEqual([...inMemory], [['WEBHOOK_SECRET', canary]]);
  assert.deepEqual(application.asked, ['restart']);
});

test('only what is missing now is kept', async () => {
  await using stage = await openPageStage();
  const { application, keychain } = stage;
  application.state = missing('ready');
  await stage.press('secrets', { 'value-2': canary, WEBHOOK_SECRET: canary });
  application.state = serving;
  assert.match(await toldBy(stage, 'secrets', { 'value-0': canary }), /changed meanwhile/);
  assert.equal(keychain.values.size, 0);
});

test('a locked keychain is asked once, and then the service begins again', async () => {
  await using stage = await openPageStage();
  const { application, keychain } = stage;
  application.state = missing('locked');
  assert.match(await toldBy(stage, 'unlock'), /none of these/);
  assert.deepEqual(application.asked, []);
  keychain.values.set('BOT_KEY', { value: canary, setAt: 1 });
  keychain.now = 'locked';
  assert.match(await toldBy(stage, 'unlock'), /It is locked still\. Unlock it once more/);
  assert.deepEqual(application.asked, []);
  keychain.now = 'ready';
  assert.match(await toldBy(stage, 'unlock'), /is unlocked/);
  assert.deepEqual(application.asked, ['restart']);
  assert.equal(keychain.calls.filter((call) => call.startsWith('read')).length, 2);
});

test('a taken port is replaced by a free one near it, and nothing else is touched', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => new Promise((resolve) => void other.close(() => resolve(undefined))));
  const { port } = other.address() as { port: number };
  const address = `127.0.0.1:${port}`;
  const bind = `"webhook": { "bind": "${address}", "outbound_url"`;
  const before = echoText.replace('"webhook": { "outbound_url"', bind);
  await using stage = await openPageStage(before);
  const { application } = stage;
  const field = 'channels[0].webhook.bind';
  application.state = stuck({ of: 'address', field, address, message: 'it is taken' });
  const told = await toldBy(stage, 'other-port');
  const now = /svc listens at (127\.0\.0\.1:\d+) from now on/.exec(told)?.[1] ?? '';
  assert.notEqual(now, address);
  assert.equal(textOf(stage), before.replace(address, now));
  assert.deepEqual(application.asked, ['restart']);
  assert.match(await toldBy(stage, 'other-port'), /changed meanwhile/, 'it starts by now');
  application.state = stuck({ of: 'address', field, address, message: 'it is taken' });
  assert.match(await toldBy(stage, 'other-port'), /another address by now/);
  assert.equal(textOf(stage), before.replace(address, now));
});

test('a default address that is taken is written down with another port', async () => {
  await using stage = await openPageStage();
  const field = 'channels[0].webhook.bind';
  const address = '127.0.0.1:1';
  stage.application.state = stuck({ of: 'address', field, address, message: 'it is taken' });
  await stage.press('other-port');
  assert.match(textOf(stage), /"bind": "127\.0\.0\.1:\d{4,5}"/);
});

test('what a button told of is not run over by the pages that come', async () => {
  await using stage = await openPageStage();
  const { application, press, ask } = stage;
  const reply = await press('allow-changes');
  const starting = await stage.follow(reply);
  const [, next] = /content="0; url=(wait\?told=\d+)"/.exec(starting.text) ?? [];
  const waiting = ask(next ?? '');
  await until(() => application.waiting > 1);
  application.pagesAt = pages;
  application.state = serving;
  const page = await stage.follow(await waiting);
  assert.match(page.text, /svc is running/);
  assert.match(page.text, /The pages of svc may change things now/);
});

test('the admin block is added once, and a configuration that is none is left alone', async () => {
  await using stage = await openPageStage();
  const { application } = stage;
  application.state = { ...serving, canWrite: false };
  assert.match((await stage.ask('./')).text, /Let me change things here/);
  await stage.press('allow-changes');
  const text = textOf(stage);
  assert.deepEqual(JSON.parse(text), {
    ...(JSON.parse(echoText) as object),
    admin: { token_env: 'ADMIN_TOKEN' },
  });
  assert.ok(text.startsWith(echoText.trimEnd().slice(0, -2)), 'what was there stays');
  await stage.press('allow-changes');
  assert.equal(textOf(stage), text);
  writeFileSync(stage.config, '{ broken');
  assert.match(await toldBy(stage, 'allow-changes'), /no text that svc can read/);
  assert.equal(textOf(stage), '{ broken');
});

test('the configuration that worked is offered when a later one does not', async () => {
  await using stage = await openPageStage();
  const { application, config, ask } = stage;
  application.state = serving;
  const worked = join(stage.folder, 'svc.json.history', '.worked');
  await until(() => existsSync(worked));
  assert.match(readFileSync(worked, 'utf8'), /llama3\.2/);
  writeFileSync(config, '{ "channels": [] }');
  const problems = [{ path: 'channels', line: 1, message: 'is empty', remedy: 'List a channel.' }];
  application.state = stuck({ of: 'config', problems });
  const { text } = await ask('./');
  assert.match(text, /<strong>line 1, channels<\/strong>\s*: is empty\. List a channel\./);
  const [, revision = ''] = /name="revision" value="([0-9a-f]{12})"/.exec(text) ?? [];
  assert.match(await toldBy(stage, 'take-back', { revision }), /earlier configuration is back/);
  assert.equal(textOf(stage), echoText);
  assert.deepEqual(application.asked, ['restart']);
  assert.match(await toldBy(stage, 'take-back', { revision: '0'.repeat(12) }), /not kept any more/);
  assert.match(await toldBy(stage, 'take-back', { revision: '../../x' }), /not kept any more/);
});

test('a text is checked, saved whole, and the one before is kept', async () => {
  await using stage = await openPageStage(`${echoText}\n`);
  const { application, ask, press } = stage;
  const { text: page } = await ask('configuration');
  const [, revision = ''] = /name="revision" value="([0-9a-f]{12})"/.exec(page) ?? [];
  const wrong = '{ "channels": [] }</textarea><script>';
  const refused = await press('configuration', { text: wrong, revision });
  assert.equal(refused.status, 422);
  assert.match(refused.text, /Nothing was saved/);
  assert.ok(refused.text.includes('&lt;/textarea&gt;&lt;script&gt;'), 'what was typed is there');
  assert.deepEqual(application.asked, []);
  const changed = echoText
    .replace('"echo"', '"other"')
    .replace('"brain": "echo"', '"brain": "other"');
  const sent = changed.replaceAll('\n', '\r\n');
  const told = await toldBy(stage, 'configuration', { text: sent, revision });
  assert.match(told, /It is saved/);
  assert.equal(textOf(stage), changed, 'with the line ends that it had');
  assert.deepEqual(application.asked, ['restart']);
  assert.equal((await stage.repairs.earlier()).length, 1);
  const late = await press('configuration', { text: sent, revision });
  assert.equal(late.status, 422);
  assert.match(late.text, /changed by somebody else meanwhile/);
});

test('a file that is gone or no file is told of', async () => {
  await using stage = await openPageStage();
  stage.application.facts = { ...stage.application.facts, config: stage.folder };
  const { text, status } = await stage.ask('configuration');
  assert.equal(status, 200);
  assert.match(text, /The configuration cannot be read/);
  assert.doesNotMatch(text, /<textarea/);
});

test('the log is shown in words, and what it holds is text alone', async () => {
  await using stage = await openPageStage();
  assert.match((await stage.ask('log')).text, /Nothing was written yet/);
  const line = { time: '2026-11-23T03:04:05.678Z', level: 'warn', code: 'model_slow' };
  const lines = [
    'cut',
    JSON.stringify({ ...line, message: 'It <b>is</b> slow.', model: 'llama3.2' }),
    'no json \u202E at all',
  ];
  writeFileSync(join(stage.logs, 'svc.log'), `${'x'.repeat(70_000)}${lines.join('\n')}\n`);
  writeFileSync(join(stage.logs, 'desktop.log'), 'of the window\n');
  const { text } = await stage.ask('log');
  assert.match(text, /warn {2}It &lt;b&gt;is&lt;\/b&gt; slow\. \(model=&quot;llama3\.2&quot;\)/);
  assert.match(text, /no json \\u\{202e\} at all/);
  assert.doesNotMatch(text, /xxx/);
  assert.match((await stage.ask('log?of=application')).text, /of the window/);
});

test('closing is asked about, and the answers are handed on', async () => {
  await using stage = await openPageStage();
  const { ask, press, application } = stage;
  assert.match((await ask('close')).text, /Keep answering in the background\?/);
  assert.equal((await press('keep-answering')).headers.location, 'wait');
  assert.match((await press('close-and-quit')).text, /You can close this window/);
  assert.match((await press('quit')).text, /You can close this window/);
  await until(() => application.asked.length === 3);
  assert.deepEqual(application.asked, ['closing: keep', 'closing: quit', 'quit']);
});

test('settings are kept, and what the system refuses is told', async () => {
  await using stage = await openPageStage();
  const { application } = stage;
  assert.match(await toldBy(stage, 'on-close', { choice: 'keep' }), /It is saved/);
  assert.match((await stage.ask('settings')).text, /value="keep"\s+checked/);
  await stage.press('on-close', { choice: 'burn' });
  assert.match(await toldBy(stage, 'autostart', { on: 'yes' }), /starts by itself from now on/);
  assert.match(await toldBy(stage, 'autostart', { on: 'no' }), /any more/);
  application.autostartFault = 'The folder cannot be written.';
  assert.match(await toldBy(stage, 'autostart', { on: 'yes' }), /cannot be written/);
  application.facts = { ...application.facts, autostart: null };
  assert.doesNotMatch((await stage.ask('settings')).text, /When you log in/);
  assert.deepEqual(application.asked, [
    'on close: keep',
    'autostart: true',
    'autostart: false',
    'autostart: true',
  ]);
});

test('without a program for folders the place is told', async () => {
  await using stage = await openPageStage();
  assert.match(await toldBy(stage, 'open-folder'), new RegExp(RegExp.escape(stage.folder)));
  assert.match(await toldBy(stage, 'open-logs'), new RegExp(RegExp.escape(stage.logs)));
});

test('the pages are opened, or it is told that there are none', async () => {
  await using stage = await openPageStage();
  assert.match(await toldBy(stage, 'pages'), /does not show its pages/);
  stage.application.pagesAt = pages;
  assert.equal((await stage.press('pages')).headers.location, pages);
});

test('what shows a folder gets no secret of the environment', async () => {
  await using folder = await scratch();
  const seen = join(folder.path, 'seen');
  const opener = `#!/bin/sh\nprintf '%s|%s' "$1" "$A_TOKEN" > '${seen}'\n`;
  await writeFile(join(folder.path, 'xdg-open'), opener, { mode: 0o755 });
  const repairs = createRepairs({
    facts: () => ({ config: join(folder.path, 'svc.json'), logFile: '' }),
    env: { PATH: `${folder.path}:/bin:/usr/bin`, DISPLAY: ':9', A_TOKEN: 'a secret' },
    keychain: async () => fakeKeychain(),
    lend: () => {},
    platform: 'linux',
  });
  assert.equal((await repairs.openInSystem('folder')).kind, 'done');
  assert.equal(await readFile(seen, 'utf8'), `${folder.path}|`);
});
