/** An agent's notes and context, in the running program. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { ModelCall, Script } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';

const token = 'an-admin-token-of-the-tests';

async function stage(t: TestContext, agent: object, script: Script) {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const folder = stack.use(await scratch());
  const model = stack.use(await startFakeOllama(script));
  const receiver = stack.use(await startReceiver());
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  Object.assign(config.brains[0]!, { agent });
  const file = await writeConfig(folder.path, {
    ...config,
    storage: { path: 'svc.db' },
    session: {},
    admin: { token_env: 'TEST_ADMIN' },
  });
  let sent = 0;
  return {
    folder: folder.path,
    model,
    start: () => serveHere(file, port, { TEST_ADMIN: token }),
    async say(conversation: string, text: string): Promise<string> {
      const message = { sender_id: 'ada', conversation_id: conversation, text };
      await post(`http://127.0.0.1:${port}/webhook`, message);
      const replies = await receiver.waitFor(++sent);
      return String(replies[sent - 1]!.body['text']);
    },
    async read(path: string, method = 'GET', body: string | null = null): Promise<unknown> {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${adminPort}/api/v1/${path}`;
      const init = { method, headers, ...(body !== null && { body }) };
      return (await fetch(url, init)).json();
    },
  };
}

const linesOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

const promptOf = (call: ModelCall): string => linesOf(call).join('\n');

/** Stores the note that a message asks for; else answers. */
const noting: Script = ({ body }) => {
  const last = (body as { messages: { role: string; content: string }[] }).messages.at(-1)!;
  const wanted = /^Note: (.*)$/m.exec(last.content)?.[1];
  if (last.role !== 'user' || wanted === undefined) return { answer: 'Well.' };
  return { answer: '', calls: [{ name: 'memory_note', arguments: { note: wanted } }] };
};

test('what an agent noted is told to it in later sessions, also after a restart', async (t) => {
  const agent = { tools: ['memory_note'], memory: { max_notes: 2 } };
  const on = await stage(t, agent, noting);
  {
    await using program = await on.start();
    for (const what of ['likes tea', 'is in Graz', 'has a cat']) {
      assert.equal(await on.say('c', `Note: ${what}`), 'Well.');
    }
    await on.say('c', '/new');
    assert.equal(await on.say('c', '/notes'), 'Notes:\n1. is in Graz\n2. has a cat');
    assert.match(await on.say('c', '/tools'), /\nLast uses:\n(- .* memory_note: done\n?){3}$/);
    assert.equal(await program.stop(), 0);
  }
  await using _program = await on.start();
  await on.say('c', 'And?');
  const prompt = promptOf(on.model.calls.at(-1)!);
  assert.match(prompt, /- is in Graz\n- has a cat\n/);
  assert.doesNotMatch(prompt, /likes tea/);
  await on.say('other', 'And?');
  assert.doesNotMatch(promptOf(on.model.calls.at(-1)!), /Graz/);

  const { rows } = (await on.read('tool-uses')) as { rows: { key: string; tool: string }[] };
  assert.deepEqual(
    rows.map(({ tool }) => tool),
    ['memory_note', 'memory_note', 'memory_note'],
  );
  const use = (await on.read(`tool-uses/${rows[0]!.key}`)) as { arguments: string };
  assert.equal(use.arguments, '{"note":"has a cat"}');
  const notes = (await on.read('notes/webhook/c')) as { rows: { text: string }[] };
  assert.deepEqual(
    notes.rows.map(({ text }) => text),
    ['is in Graz', 'has a cat'],
  );
  assert.deepEqual(await on.read('notes/webhook/c', 'DELETE'), { deleted: 2 });
  assert.equal(await on.say('c', '/notes'), 'There are no notes.');
});

test('a note of a brain reaches every conversation, and only an operator clears it', async (t) => {
  const agent = { tools: ['memory_note'], memory: { scope: 'brain' } };
  const on = await stage(t, agent, noting);
  await using _program = await on.start();
  await on.say('c', 'Note: closed on Monday');
  await on.say('other', 'And?');
  assert.match(promptOf(on.model.calls.at(-1)!), /- closed on Monday\n/);
  for (const command of ['/notes', '/notes clear']) {
    const told = await on.say('other', command);
    assert.match(told, /only the person who runs this service sees and clears them/);
    assert.doesNotMatch(told, /Monday/);
  }
  assert.deepEqual(await on.read('brains/echo/notes', 'DELETE'), { deleted: 1 });
  await on.say('c', 'And?');
  assert.doesNotMatch(promptOf(on.model.calls.at(-1)!), /- closed on Monday/);
});

test('skills are told to an agent; their faults are in the log and the status', async (t) => {
  const agent = { tools: ['time'], skills_dir: 'skills' };
  const on = await stage(t, agent, () => ({ answer: 'Well.' }));
  for (const [name, text] of [
    ['hours', '---\nname: hours\ndescription: When we are open.\n---\nMon to Fri, 9 to 5.\n'],
    ['broken', 'no front matter'],
  ] as const) {
    await mkdir(join(on.folder, 'skills', name), { recursive: true });
    await writeFile(join(on.folder, 'skills', name, 'SKILL.md'), text);
  }
  await using program = await on.start();
  await on.say('c', 'When are you open?');
  const prompt = linesOf(on.model.calls[0]!)[0]!;
  assert.match(prompt, /\n- hours: When we are open\.\n\nSkill hours:\nMon to Fri, 9 to 5\.$/);
  assert.match(program.log(), /"skill_faulty".*skill \\"broken\\" is skipped: it does not begin/);
  const { warnings } = (await on.read('status')) as { warnings: { code: string; path: string }[] };
  const warning = warnings.find(({ code }) => code === 'skill_faulty');
  assert.equal(warning?.path, 'brains[0].agent.skills_dir');
});

test('check, doctor, the API and a start say the same of the skills', async (t) => {
  const agent = { tools: ['time'], skills_dir: 'skills', skills_body_budget: 20 };
  const on = await stage(t, agent, () => ({ answer: 'Well.' }));
  const said = ['skill "broken" is skipped', 'long: its text is left out'];
  for (const [name, text] of [
    ['hours', '---\nname: hours\ndescription: Use when: asked for hours.\n---\n9 to 5.\n'],
    ['long', `---\nname: long\ndescription: Long.\n---\n${'x'.repeat(30)}\n`],
    ['broken', '---\nname: broken\ndescription: [half\n---\n'],
  ] as const) {
    await mkdir(join(on.folder, 'skills', name), { recursive: true });
    await writeFile(join(on.folder, 'skills', name, 'SKILL.md'), text);
  }
  const env = { WEBHOOK_SECRET: 'x'.repeat(20), TEST_ADMIN: token, NO_COLOR: '1' };
  const told: Record<string, string> = {};
  for (const command of ['config check', 'doctor', 'doctor --json', 'config check --json']) {
    const ran = await runCommand(command.split(' '), { cwd: on.folder, env });
    told[command] = ran.out;
    if (command === 'config check') assert.equal(ran.code, 0, 'a warning is no problem');
    assert.match(ran.out, /brains\[0\]\.agent\.skills_dir/, command);
  }
  await using program = await on.start();
  await on.say('c', 'When are you open?');
  told['serve'] = program.log();
  told['status'] = JSON.stringify(await on.read('status'));
  const draft = await readFile(join(on.folder, 'svc.json'), 'utf8');
  for (const path of ['config/validate', 'config/preflight']) {
    told[path] = JSON.stringify(await on.read(path, 'POST', draft));
  }
  for (const [where, text] of Object.entries(told)) {
    const plain = text.replaceAll('\\', '');
    for (const sentence of said) assert.ok(plain.includes(sentence), `${where}: ${text}`);
    assert.doesNotMatch(plain, /hours: its|"hours" is skipped/);
  }
  assert.match(promptOf(on.model.calls[0]!), /- hours: Use when: asked for hours\.\n/);
});

test('the check names a folder of skills that cannot be read', async (t) => {
  const agent = { tools: ['time'], skills_dir: 'svc.json' };
  const on = await stage(t, agent, () => ({ answer: 'Well.' }));
  const { out } = await runCommand(['config', 'check'], { cwd: on.folder, env: {} });
  assert.equal(out.split('svc.json; serve will not start without it').length, 2, out);
});

test('without its folder of skills svc does not start, and says which; chat neither', async (t) => {
  const on = await stage(t, { tools: ['time'], skills_dir: 'none' }, () => ({ answer: 'Well.' }));
  for (const command of ['serve', 'chat']) {
    const env = { WEBHOOK_SECRET: 'x'.repeat(20), TEST_ADMIN: token, NO_COLOR: '1' };
    const { code, err } = await runCommand([command], { cwd: on.folder, env });
    assert.equal(code, 78, command);
    assert.ok(err.includes(join(on.folder, 'none')), err);
  }
});
