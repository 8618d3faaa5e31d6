/** The commands about messages without storage: they ask the running service. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { adminToken, startFakeAdmin } from '../fake/admin-api.ts';
import { type Outcome, runCommand } from '../support/in-process.ts';
import { freePort, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { letter, messageId, story, storyText, turn } from '../support/stories.ts';

/** A folder with a config without storage, and a server at its admin address. */
async function stage(t: TestContext, more: Record<string, unknown> = {}) {
  const folder = await scratch();
  const admin = await startFakeAdmin();
  t.after(async () => {
    await admin[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const nowhere = 'http://127.0.0.1:9';
  const document = webhookConfig({
    port: await freePort(),
    adminPort: admin.port,
    modelUrl: nowhere,
    receiverUrl: nowhere,
  });
  const config = { ...document, admin: { token_env: 'TEST_ADMIN' }, ...more };
  await writeConfig(folder.path, config);
  const svc = async (args: string, env: Record<string, string> = {}): Promise<Outcome> => {
    const surroundings = { NO_COLOR: '1', TZ: 'UTC', ...env };
    return runCommand(args.split(' '), { cwd: folder.path, env: surroundings });
  };
  const asOperator = (args: string): Promise<Outcome> => svc(args, { TEST_ADMIN: adminToken });
  return { admin, svc, asOperator };
}

test('trace asks the running service, without the bearer', async (t) => {
  const { admin, asOperator } = await stage(t);
  admin.rows.stories.push(story);
  const page = await asOperator(`trace ${messageId}`);
  assert.deepEqual([page.code, page.err], [0, '']);
  assert.match(page.out, /^message 01kaabcdefghjkmnpqrst0: answered by a \(Ollama\); delivered\n/);
  assert.match(page.out, /\n {2}118 {12}1 vote, dissenting: c \(Ollama\)\n/);
  assert.deepEqual(admin.asked, [`GET /api/v1/messages/${messageId}`]);
  const json = await asOperator(`trace ${messageId} --json`);
  assert.deepEqual(JSON.parse(json.out), story);
});

test('trace shows text only when asked, and asks for it with the bearer', async (t) => {
  const { admin, svc, asOperator } = await stage(t);
  admin.rows.stories.push(story);
  admin.rows.texts.set(messageId, storyText);
  assert.doesNotMatch((await asOperator(`trace ${messageId}`)).out, /hello/);
  const page = await asOperator(`trace ${messageId} --text`);
  assert.match(page.out, /\n {2}hello\]0;gotcha there\n/);
  assert.doesNotMatch(page.out, /[[\p{Cc}]--\n]/v);
  assert.equal(admin.asked.at(-1), `GET /api/v1/messages/${messageId}/text Bearer ${adminToken}`);
  const json = await asOperator(`trace ${messageId} --text --json`);
  assert.doesNotMatch(json.out, /[[\p{Cc}]--\n]/v);
  assert.deepEqual(JSON.parse(json.out), { ...story, text: storyText });
  const without = await svc(`trace ${messageId} --text`);
  assert.deepEqual([without.code, without.out], [1, '']);
  assert.match(
    without.err,
    /^Without storage only the running svc can tell this, .* set TEST_ADMIN here/,
  );
});

test('an unknown id is told as one', async (t) => {
  const { asOperator } = await stage(t);
  const unknown = { code: 1, out: '' };
  assert.deepEqual(await asOperator('trace nope'), {
    ...unknown,
    err: 'No message with this id is known here (the last 10,000 are kept).\n',
  });
  const shown = await asOperator('dead-letters show nope');
  assert.deepEqual(shown, { ...unknown, err: 'No dead letter with this id is known here.\n' });
  const moved = await asOperator('dead-letters replay nope');
  assert.deepEqual(moved, { ...unknown, err: 'nope is no dead letter that is known here.\n' });
});

test('dead letters are listed by reason, page by page', async (t) => {
  const { admin, svc } = await stage(t);
  assert.equal((await svc('dead-letters list')).out, 'There are no dead letters.\n');
  admin.rows.letters.push(letter(10), letter(11, 'rejected'), letter(12));
  const { code, out, err } = await svc('dead-letters list --limit 2');
  assert.deepEqual([code, err], [0, 'There is more: --after=WzJd\n']);
  assert.match(out, /^3 dead letters\n\ncount {2}box {2}reason {4}status {2}whose {5}what\n/);
  assert.match(out, /\n {4}2 {2}out {2}gone {9}410 {2}operator {2}the target is gone for good\n/);
  assert.match(
    out,
    /\n01kaabcdefghjkmnpqrs11 {2}out {2}webhook {2}2026-11-2[12] .* rejected {2}01ka/,
  );
  const rest = await svc('dead-letters list --limit 2 --after=WzJd --json');
  const json = JSON.parse(rest.out) as { reasons: unknown[]; rows: { id: string }[]; next: null };
  assert.deepEqual([json.reasons.length, json.rows.length, json.next], [2, 1, null]);
  assert.equal(json.rows[0]!.id, '01kaabcdefghjkmnpqrs12');
});

test('a dead letter is shown with its text and its tries, to the operator', async (t) => {
  const { admin, asOperator } = await stage(t);
  admin.rows.letters.push(letter(10));
  const { code, out } = await asOperator('dead-letters show 01kaabcdefghjkmnpqrs10');
  assert.equal(code, 0);
  assert.match(out, /^dead letter 01kaabcdefghjkmnpqrs10: a reply\nwebhook, conversation c\[2J1, /);
  assert.match(out, /\n2026-11-2[12] \S+ {6}10 {2}gone {8}410\n\n {2}what 31mnobody read\n$/);
});

test('dead letters are replayed and discarded one by one, and each is told', async (t) => {
  const { admin, asOperator } = await stage(t);
  admin.rows.letters.push(letter(10), letter(11), letter(12));
  const first = '01kaabcdefghjkmnpqrs10';
  const done = await asOperator(`dead-letters replay ${first} nope ${first}`);
  assert.deepEqual(done, {
    code: 1,
    out: `${first} will be tried again\n`,
    err: 'nope is no dead letter that is known here.\n',
  });
  assert.equal(admin.asked[0], `POST /api/v1/dead-letters/${first}/replay Bearer ${adminToken}`);
  const discarded = await asOperator('dead-letters discard 01kaabcdefghjkmnpqrs11');
  assert.deepEqual([discarded.code, discarded.out], [0, '01kaabcdefghjkmnpqrs11 is deleted\n']);
  assert.deepEqual(
    admin.rows.letters.map(({ id }) => id),
    ['01kaabcdefghjkmnpqrs12'],
  );
});

test('all dead letters of one reason are replayed, the oldest first', async (t) => {
  const { admin, asOperator } = await stage(t);
  for (let n = 0; n < 660; n++) {
    admin.rows.letters.push({ ...letter(0, n % 130 === 0 ? 'rejected' : 'gone'), id: `id${n}` });
  }
  const { code, out } = await asOperator('dead-letters replay --all --reason rejected');
  assert.equal(code, 0);
  assert.deepEqual(
    out.split('\n').slice(0, -1),
    [650, 520, 390, 260, 130, 0].map((n) => `id${n} will be tried again`),
  );
  assert.equal(admin.rows.letters.length, 654);
});

test('what cannot be moved is told once, and nothing more is tried', async (t) => {
  const { admin, asOperator } = await stage(t);
  admin.rows.letters.push(letter(10), letter(11));
  const ids = admin.rows.letters.map(({ id }) => id).join(' ');
  admin.rows.move.code = 409;
  const kept = await asOperator(`dead-letters replay ${ids}`);
  assert.match(kept.err, /^\S+ cannot be moved: without storage dead letters are told, and not/);
  admin.rows.move.code = 503;
  const failed = await asOperator(`dead-letters discard ${ids}`);
  assert.match(failed.err, /^\S+ could not be moved: the storage failed; the log of .*\n$/);
  assert.equal(failed.code, 1);
});

test('an export is complete and in order, and can drive no terminal', async (t) => {
  const { admin, asOperator } = await stage(t);
  for (let n = 0; n < 1_000; n++) admin.rows.turns.push(turn(n, 'c/1 ?'));
  admin.rows.turns.push({ ...turn(1_000, 'other'), text: 'a\u009B31m\u202Eb\u001B' });
  const run = await asOperator('conversations export webhook other');
  assert.equal(run.out.includes('a\\u009b31m\\u202eb\\u001b'), true);
  const whole = await asOperator('conversations export webhook --sender ada');
  assert.deepEqual([whole.code, whole.err], [0, '']);
  const lines = whole.out.split('\n').slice(0, -1);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line) as unknown),
    admin.rows.turns,
  );
  const none = await asOperator('conversations export webhook nobody');
  assert.deepEqual([none.code, none.out], [1, '']);
  admin.rows.turns.length = 0;
  const silent = await asOperator('conversations export completions --sender ada');
  assert.deepEqual([silent.code, silent.err], [1, 'No turn of this sender is kept here.\n']);
});

test('deleting needs --yes where there is no terminal, and tells how much went', async (t) => {
  const { admin, asOperator } = await stage(t);
  admin.rows.turns.push(turn(1), turn(2), turn(3, 'c2'));
  const unasked = await asOperator('conversations delete webhook c1');
  assert.deepEqual([unasked.code, unasked.out], [2, '']);
  assert.match(unasked.err, /no terminal to ask at: say --yes/);
  assert.deepEqual(admin.asked, []);
  const { code, out } = await asOperator('conversations delete webhook c1 --yes');
  assert.deepEqual([code, out], [0, '2 messages, replies and turns deleted\n']);
  const again = await asOperator('conversations delete webhook c1 --yes');
  assert.deepEqual(again.err, 'No conversation with this id is known here.\n');
  assert.equal(again.code, 1);
});

test('what keeps the service from answering is told in a sentence, with 1', async (t) => {
  const { admin, svc, asOperator } = await stage(t);
  const wrong = await svc('conversations list', { TEST_ADMIN: 'another-token-altogether' });
  assert.match(wrong.err, /^The running svc does not accept the value of TEST_ADMIN: set it here/);
  admin.instead = { status: 500, body: '<html>' };
  assert.match(
    (await asOperator('trace x')).err,
    /is no svc of this version: it answered 500\.\n$/,
  );
  admin.instead = { status: 200, body: '{"id":1}' };
  assert.match((await asOperator('trace x')).err, /no svc of this version: id is not a text\.\n$/);
  admin.instead = { status: 403, body: '{"code":"read_only","detail":"It is\\u001b read-only."}' };
  const refused = await asOperator('dead-letters discard x');
  assert.deepEqual(refused, {
    code: 1,
    out: '',
    err: 'The running svc refused: It is read-only.\n',
  });
});

test('without an admin block, or the admin server, a sentence says what to add', async (t) => {
  const { svc } = await stage(t, { admin: undefined });
  const { code, err } = await svc('dead-letters replay x');
  assert.equal(code, 1);
  assert.match(err, /^Without storage only the running svc can do this, and only for who/);
  assert.match(err, /: add "admin": \{"token_env": ".*"\} to svc\.json/);
  const off = await stage(t, { observability: { enabled: false } });
  assert.match((await off.svc('trace x')).err, /its admin server is switched off: .*svc\.json/);
  const nobody = await stage(t, { observability: { addr: '127.0.0.1:9' } });
  assert.match((await nobody.svc('trace x')).err, /^No running svc answers at 127\.0\.0\.1:9, /);
});

test('wrong usage is told, with 2, before anything is read', async (t) => {
  const { admin, svc } = await stage(t);
  const wrong: Readonly<Record<string, RegExp>> = {
    trace: /its id is missing/,
    'trace a b': /"b" is one argument too many/,
    'trace a --txt': /Did you mean --text\?/,
    'dead-letters': /say which one: "svc dead-letters list", .* or "svc dead-letters discard"/,
    'dead-letters list --limit 501': /--limit is a number from 1 to 500; "501" is none/,
    'dead-letters show': /The id is missing/,
    'dead-letters replay': /Say which ones: their ids, or --all/,
    'dead-letters replay a --all': /exclude each other/,
    'dead-letters replay a --reason gone': /--reason goes with --all/,
    'dead-letters replay --all --reason gon': /no reason "gon"\. Did you mean gone\?/,
    'dead-letters discard': /Say which ones/,
    'conversations show webhook': /Say which conversation, or whose: --sender/,
    'conversations export': /Say which channel/,
    'conversations delete webhook c --sender s': /exclude each other/,
    'notes list webhook': /which conversation, or which brain: --brain/,
    'notes list webhook c --brain main': /exclude each other/,
    'notes clear --brain main': /say --yes/,
  };
  for (const [args, pattern] of Object.entries(wrong)) {
    const { code, out, err } = await svc(args);
    assert.deepEqual([code, out], [2, ''], args);
    assert.match(err, pattern);
  }
  assert.deepEqual(admin.asked, []);
  assert.equal((await svc('trace x --config none.json')).code, 78);
});
