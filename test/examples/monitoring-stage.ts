/**
 * A running svc. The brain of its webhook is an agent that needs approvals, which a person gives on
 * a messenger. The brain of the messenger has a price and a budget, and its replies grow.
 */
import { writeFile } from 'node:fs/promises';
import { asks, lastOf } from '../agents/stage.ts';
import type { ModelCall, Step } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver } from '../fake/receiver.ts';
import { startFakeTelegram } from '../fake/telegram.ts';
import { freePort, post, scratch, serve, webhookConfig, writeConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const answering = (call: ModelCall): Step => {
  const { role, content } = lastOf(call);
  if (content === 'fail') return { fail: '404' };
  if (role === 'user' && content === 'pay') return asks('calc', { expression: '6*7' });
  return { answer: 'hello, and a few more words' };
};

const adminToken = 'the-admin-token-of-the-monitoring-test';

export async function startMonitored() {
  const own = new AsyncDisposableStack();
  const { path } = own.use(await scratch());
  const telegram = own.use(await startFakeTelegram({ secondMs: 20 }));
  const model = own.use(await startFakeOllama(answering));
  const receiver = own.use(await startReceiver());
  const ann = telegram.person('Ann');
  const [port, adminPort] = [await freePort(), await freePort()];
  const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
  const document = webhookConfig(where);
  document.channels.push({
    type: 'telegram',
    mode: 'polling',
    token_env: 'TELEGRAM_TOKEN',
    base_url: telegram.url,
    access: { allow: [`${ann.id}`] },
  });
  document.brains[0]!['agent'] = {
    tools: ['calc'],
    governance: [{ tool: 'calc', mode: 'ask' }],
    approvers: [`telegram:${ann.id}`],
  };
  document['admin'] = { token_env: 'ADMIN_TOKEN' };
  document.brains.push(pricedBrain(model.url));
  document.routes.push({ channel: 'telegram', brain: 'helper' });
  const file = await writeConfig(path, document);
  const svc = own.use(
    await serve(file, port, { TELEGRAM_TOKEN: telegram.token, ADMIN_TOKEN: adminToken }),
  );
  const page = async (): Promise<string> =>
    (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const shows = (series: string): Promise<void> =>
    until(series, async () => (await page()).includes(`\n${series}`));
  const say = (text: string, id: string, headers = {}) =>
    post(svc.url, { sender_id: 'ada', text }, { 'webhook-id': id, ...headers });
  /** A reply to Ann grows and costs, the next one does not fit the budget. */
  const costs = async (): Promise<void> => {
    const chat = telegram.privateChat(ann);
    telegram.say(chat, 'hello');
    await shows('svc_first_word_seconds_count{channel="messenger_a"} 1');
    telegram.say(chat, 'much '.repeat(1_600));
    await shows('svc_budget_refusals_total{brain="helper",limit="tokens_per_day"} 1');
    telegram.post(chat, { voice: { file_id: 'v', file_unique_id: 'u', duration: 3 } });
    await shows('svc_attachments_unread_total{channel="messenger_a"');
  };
  /** An operator asks for an approval that is not there. */
  const writes = async (): Promise<void> => {
    const url = `http://127.0.0.1:${adminPort}/api/v1/approvals/none/approve`;
    await fetch(url, { method: 'POST', headers: { authorization: `Bearer ${adminToken}` } });
    await shows('svc_admin_writes_total');
  };
  /** Ann approves a call, and another one waits for her. */
  const approves = async (): Promise<void> => {
    await say('pay', 'first payment');
    const question = await telegram.until(
      () => telegram.sent.find(({ text }) => text.includes('a yes for: calc')),
      'a question',
    );
    telegram.press(ann, question.message, 'Approve');
    await shows('svc_approvals_total{verdict="approved"} 1');
    await say('pay', 'second payment');
    await shows('svc_approvals_waiting 1');
  };
  return {
    path,
    adminPort,
    page,
    /** One of each: answered, duplicate, refused, unanswered, dead, turned away, waiting. */
    async happens() {
      await say('hello', 'a');
      await say('hello', 'a');
      await say('hello', 'b', { authorization: 'Bearer wrong' });
      await receiver.waitFor(1);
      await say('fail', 'c');
      await receiver.waitFor(2);
      receiver.script.push(500, 410);
      await say('gone', 'd');
      telegram.say(telegram.privateChat(telegram.person('Eve')), 'let me in');
      await shows('svc_messages_turned_away_total{channel="messenger_a"');
      await shows('svc_dead_letters_total{channel="webhook",box="out"} 1');
      await costs();
      await approves();
      await writes();
      receiver.script.push('hang');
      await say('waits', 'e');
      await shows('svc_backlog_oldest_seconds{channel="webhook"}');
      await writeFile(file, JSON.stringify(document).replace('llama3.2', 'qwen3'));
      svc.child.kill('SIGHUP');
      await shows('svc_config_reloads_total{result="applied"} 1');
      await writeFile(file, '{');
      svc.child.kill('SIGHUP');
      await shows('svc_config_reloads_total{result="config_invalid"} 1');
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

const pricedBrain = (baseUrl: string) => ({
  name: 'helper',
  sensitivity: 'public',
  policy: { kind: 'priority' },
  models: [
    {
      provider: 'local_runtime',
      model_id: 'llama3',
      locality: 'local',
      base_url: baseUrl,
      max_output_tokens: 500,
      price: { input: 1000, output: 2000 },
    },
  ],
  budget: { tokens_per_day: 4000, cost_per_day: 10, tokens_per_turn: 100_000 },
});
