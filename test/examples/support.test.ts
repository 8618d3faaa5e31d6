/** `examples/support.json` runs as written, except for addresses, with a real server for files. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { McpHealth } from '../../src/domain/tool-use.ts';
import { blocksOf, textOf } from '../documents/blocks.ts';
import { asks, lastOf, toolsOf } from '../agents/stage.ts';
import type { ModelCall, Script, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { startWeb } from '../fake/web.ts';
import { runCommand, serveHere } from '../support/in-process.ts';
import { freePort, post, scratch, writeConfig } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';

type Address = { base_url?: string };
type Example = {
  channels: (Address & { webhook?: Record<string, string> })[];
  brains: {
    models: Address[];
    agent: { webhook_call: { allow_hosts: string[] }; mcp: { command: string[] }[] };
  }[];
  observability?: object;
};

const filesServer = 'node_modules/@modelcontextprotocol/server-filesystem/dist/index.js';
const approvers = [111_111_111, 222_222_222, 333_333_333];
const fine: Step = { answer: 'Is there anything else?' };

/** The support bot, between fakes of all that its configuration names. */
async function open(script: Script = fine) {
  await using made = new AsyncDisposableStack();
  const { path: folder } = made.use(await scratch());
  const handbook = join(folder, 'handbook');
  await mkdir(handbook);
  await writeFile(join(handbook, 'returns.md'), 'Shoes: 30 days, unworn.\n');
  const local = made.use(await startFakeOllama(script));
  const paid = made.use(await startFakeOpenai({ answer: 'from the cloud' }));
  const receiver = made.use(await startReceiver());
  const telegram = made.use(await startFakeTelegram({ secondMs: 20 }));
  const shop = made.use(await startWeb({ '/refunds': { body: 'refunded' } }));
  const [port, adminPort] = [await freePort(), await freePort()];
  const text = await readFile(join(root, 'examples/support.json'), 'utf8');
  const example = JSON.parse(text) as Example;
  const [onTelegram, onWebhook] = example.channels;
  const { models, agent } = example.brains[0]!;
  onTelegram!.base_url = telegram.url;
  Object.assign(onWebhook!.webhook!, {
    bind: `127.0.0.1:${port}`,
    outbound_url: receiver.url,
  });
  models[0]!.base_url = local.url;
  models[1]!.base_url = paid.url;
  agent.webhook_call.allow_hosts = [`127.0.0.1:${shop.port}`];
  agent.mcp[0]!.command = [process.execPath, join(root, filesServer), handbook];
  example.observability = { addr: `127.0.0.1:${adminPort}` };
  const file = await writeConfig(folder, example);
  const env = {
    TELEGRAM_TOKEN: telegram.token,
    OPENAI_API_KEY: 'sk-of-the-tests',
    ADMIN_TOKEN: 'an-admin-token-of-the-tests',
  };
  const svc = (...args: readonly string[]) => runCommand([...args, '--config', file], { env });
  const pinned = await svc('mcp', 'pin', '--yes');
  assert.equal(pinned.code, 0, pinned.err);
  const program = made.use(await serveHere(file, port, env));
  await program.saw('messenger_a is up');
  await until('the tools are announced', async () => {
    const answer = await fetch(`http://127.0.0.1:${adminPort}/api/v1/status`);
    const { mcp } = (await answer.json()) as { mcp: McpHealth[] };
    return mcp[0]!.tools.length > 0 && mcp[0]!.tools.every(({ state }) => state === 'announced');
  });
  const own = made.move();
  return {
    handbook,
    local,
    paid,
    receiver,
    telegram,
    shop,
    program,
    svc,
    /** A customer writes on the website; resolves with the text of reply number `n`, from 1. */
    async say(words: string, n: number, sender = 'ada') {
      await post(program.url, { sender_id: sender, text: words });
      const replies = await receiver.waitFor(n);
      return String(replies[n - 1]!.body['text']);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

test('the local model answers first, from a file that the MCP server reads', async () => {
  await using it = await open((call) => {
    const { content } = lastOf(call);
    const read = /Shoes: .*/.exec(content)?.[0];
    if (read !== undefined) return { answer: read };
    return asks('mcp_files_read_text_file', { path: 'returns.md' });
  });
  assert.equal(await it.say('May I return shoes?', 1), 'Shoes: 30 days, unworn.');
  const { body } = it.local.calls[0]!;
  assert.equal((body as { options?: { num_ctx?: number } }).options?.num_ctx, 16_384);
  assert.deepEqual(toolsOf(it.local.calls[0]!), [
    'mcp_files_list_directory',
    'mcp_files_read_text_file',
    'mcp_files_write_file',
    'webhook_call',
  ]);
  assert.equal(it.paid.connections, 0, 'the paid model is not contacted');
});

test('the paid model is asked second, up to two dollars a day; the local one goes on', async () => {
  await using it = await open();
  await it.local.script({ fail: '404' });
  // 0.125 a million in and 0.5 a million out: 1.999 in all.
  const usage = { prompt_tokens: 13_992_000, completion_tokens: 500_000, total_tokens: 14_492_000 };
  await it.paid.script({ answer: 'from the cloud', more: { usage } });
  assert.equal(await it.say('hello', 1), 'from the cloud');
  assert.equal(it.paid.calls[0]!.headers.authorization, 'Bearer sk-of-the-tests');
  assert.match((await it.svc('spend')).out, /1\.999/);

  const over = await it.say('hello', 2, 'bob');
  assert.match(over, /^I have used what I may use for one day\. .* tomorrow at 00:00\.$/);
  assert.equal(it.paid.calls.length, 1, 'the paid model is not asked again that day');
  assert.match(it.program.log(), /budget_used_up/);

  await it.local.script(fine);
  assert.equal(await it.say('hello again', 3, 'bob'), 'Is there anything else?');
  assert.equal(it.paid.calls.length, 1);
});

test('a risky call asks, and each of the three approvers can say yes', async () => {
  let shopOrigin = '';
  const script = (call: ModelCall): Step => {
    const { role, content } = lastOf(call);
    const result = /refunded|Successfully wrote/.exec(content)?.[0];
    if (result !== undefined) return { answer: `Done: ${result}` };
    if (role === 'user' && content.startsWith('refund')) {
      return asks('webhook_call', { url: `${shopOrigin}/refunds`, body: { order: content } });
    }
    if (role === 'user' && content.startsWith('write')) {
      return asks('mcp_files_write_file', { path: 'gifts.md', content: 'Yes, for free.' });
    }
    return fine;
  };
  await using it = await open(script);
  shopOrigin = it.shop.origin;
  const { telegram } = it;
  const people = approvers.map((id, at) => telegram.person(`Approver ${at}`, { id }));
  const chats = people.map((person) => telegram.privateChat(person));
  /** The n-th message to that approver, from 1, of those that begin so. */
  const sentTo = (at: number, n: number, start = '') =>
    telegram.until(
      () =>
        telegram.sent.filter(({ chatId, text }) => {
          return chatId === approvers[at] && text.startsWith(start);
        })[n - 1],
      `message ${n} to approver ${at}`,
    );
  for (const [at, chat] of chats.entries()) {
    telegram.say(chat, '/help');
    await sentTo(at, 1);
  }
  telegram.say(telegram.privateChat(telegram.person('Eve')), 'Let me in.');

  const wishes = ['refund 17', 'write it down', 'refund 18'];
  let n = 0;
  for (const [at, wish] of wishes.entries()) {
    const asked = await it.say(wish, ++n, `customer-${at}`);
    assert.match(asked, /^I need a yes for: (?:webhook_call|mcp\.files\.write_file) \{/);
    assert.doesNotMatch(asked, /\/approve/, 'customers get no code');
    // Each approver gets each question, and each time another one decides.
    const questions = await Promise.all(
      people.map((_person, one) => sentTo(one, at + 1, 'support needs a yes for: ')),
    );
    assert.equal(it.shop.visits.length, [0, 1, 1][at], 'nothing runs before a yes');
    telegram.press(people[at]!, questions[at]!.message, 'Approve');
    await it.receiver.waitFor(++n);
    const told = String(it.receiver.received[n - 1]!.body['text']);
    assert.match(told, /^Done: (?:refunded|Successfully wrote)$/);
  }
  assert.deepEqual(
    it.shop.visits.map(({ body }) => body),
    ['{"order":"refund 17"}', '{"order":"refund 18"}'],
  );
  assert.equal(await readFile(join(it.handbook, 'gifts.md'), 'utf8'), 'Yes, for free.');
  const { out } = await it.svc('approvals', 'list', '--json');
  assert.doesNotMatch(out, /"waiting"/, out);
  const toEve = telegram.sent.filter(({ chatId }) => !approvers.includes(chatId));
  assert.deepEqual(toEve, [], 'a stranger on Telegram is not answered');
});

test('the recipe shows this whole configuration', async () => {
  const text = await readFile(join(root, 'examples/support.json'), 'utf8');
  const shown = blocksOf(textOf('docs/recipes/support-bot.md')).map((block) => block.text);
  assert.ok(shown.includes(text));
});
