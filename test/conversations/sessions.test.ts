/** Sessions and commands in the running program: the guide's transcript, and a cut. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, webhookConfig, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const linesOf = ({ body }: ModelCall): readonly string[] =>
  (body as { messages: { content: string }[] }).messages.map(({ content }) => content);

/** The messages, each with its reply. */
function transcriptIn(guide: string): readonly (readonly [string, string])[] {
  const [, text = ''] = /^## A transcript[^]*?\n```\n([^]*?)\n```/m.exec(guide) ?? [];
  const [, ...parts] = `\n${text}`.split('\n> ');
  return parts.map((part) => {
    const [said = '', ...reply] = part.split('\n');
    return [said, reply.join('\n')] as const;
  });
}

const repeat = (call: ModelCall): Step => ({ answer: linesOf(call).join(' | ') });

/** A service with these settings. By default its model repeats its whole context. */
async function startService(settings: object, script = repeat, brain: object = {}) {
  const own = new AsyncDisposableStack();
  const folder = own.use(await scratch());
  const receiver = own.use(await startReceiver());
  const model = own.use(await startFakeOllama(script));
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const config = webhookConfig(where);
  const brains = [{ ...config.brains[0], ...brain }];
  const file = await writeConfig(folder.path, { ...config, brains, ...settings });
  const program = own.use(await serveHere(file, port));
  let replies = 0;
  return {
    model,
    async say(text: string): Promise<Record<string, unknown>> {
      const answer = await post(program.url, { sender_id: 'ada', text });
      assert.equal(answer.status, 200);
      const received = await receiver.waitFor(++replies);
      return received[replies - 1]!.body;
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('the transcript of the guide is what happens', async () => {
  const transcript = transcriptIn(
    readFileSync(join(root, 'docs/how-it-works/conversations.md'), 'utf8'),
  );
  assert.ok(transcript.length >= 8);
  await using service = await startService({
    storage: { path: 'svc.db' },
    session: { recall_max: 5 },
  });
  for (const [said, reply] of transcript) {
    assert.equal((await service.say(said))['text'], reply, said);
  }
});

test('what is recalled stands in view as one quoted block', async () => {
  await using service = await startService({
    storage: { path: 'svc.db' },
    session: { recall_max: 5 },
  });
  await service.say('the key is under the mat');
  await service.say('/new');
  await service.say('/recall');
  const { text } = await service.say('where is it?');
  const [head, ...lines] = String(text).split('\n');
  assert.match(head!, /^Quoted from an earlier session/);
  const quoted = ['> Person: the key is under the mat', '> Reply: the key is under the mat'];
  assert.deepEqual(lines, [...quoted, '', 'where is it?']);
});

test('a command behind a trigger answers for the session that it begins', async () => {
  await using service = await startService({
    storage: { path: 'svc.db' },
    session: { recall_max: 5 },
  });
  await service.say('the key is under the mat');
  const { text } = await service.say('/new /recall');
  assert.equal(text, 'The last exchange of the session before is in view again.');
  assert.match(String((await service.say('where?'))['text']), /^Quoted[^]*under the mat[^]*where/);
});

test('a trigger with text cuts, although no model answers the text', async () => {
  const script = (call: ModelCall): Step =>
    linesOf(call).at(-1) === 'fail' ? { fail: '400' } : repeat(call);
  await using service = await startService({ storage: { path: 'svc.db' }, session: {} }, script);
  assert.equal((await service.say('one'))['text'], 'one');
  assert.match(String((await service.say('/new fail'))['text']), /^Sorry, I have no answer/);
  assert.equal((await service.say('two'))['text'], 'fail\n\ntwo', 'and nothing from before');
});

test('without the session block a trigger is ordinary text', async () => {
  await using service = await startService({ storage: { path: 'svc.db' } });
  assert.equal((await service.say('/new'))['text'], '/new');
  assert.equal((await service.say('/recall 3'))['text'], '/new | /new | /recall 3');
});

test('an empty block is on, with its defaults and without /recall', async () => {
  await using service = await startService({ storage: { path: 'svc.db' }, session: {} });
  await service.say('one');
  assert.equal((await service.say('/reset two'))['text'], 'two');
  assert.match(String((await service.say('/recall'))['text']), /^There is no \/recall here/);
});

test('a view without room for what is recalled has no /recall', async () => {
  for (const history of [{ turns: 0 }, { characters: 0 }, { characters: 100 }]) {
    const settings = { storage: { path: 'svc.db' }, session: { recall_max: 5 } };
    await using service = await startService(settings, repeat, { history });
    await service.say('one');
    const { text } = await service.say('/new /recall');
    assert.match(String(text), /^There is no \/recall here/, JSON.stringify(history));
  }
});
