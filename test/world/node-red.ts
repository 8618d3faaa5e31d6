/** Node-RED with examples/node-red/flow.json: its flow asks svc, and takes the signed reply. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { signatureOf, signingKeyBytes } from '../../src/lib/webhook-signature.ts';
import { freePort, secret } from '../support/program.ts';
import { root, type Run } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import type { Counterpart, World } from './world.ts';

const key = `whsec_${Buffer.from('a-key-of-the-world-0123456789').toString('base64')}`;
const question = 'Say "hello".\nThen: {"a": \'b\'} \\ 😀';

export const nodeRed: Counterpart = {
  name: 'node-red',
  of: "npm's node-red",
  async run(world) {
    const modules = await world.npm('nodeRed');
    const port = await freePort();
    const replies = `http://127.0.0.1:${port}/svc/replies`;
    const model = world.use(await startFakeOllama({ answer: 'Hello from the model.' }));
    const brain = { sensitivity: 'public' };
    const svc = await world.svc(
      { base_url: model.url },
      { brain, receiverUrl: replies, env: { REPLY_SIGNING_KEY: key }, webhook: signed },
    );
    const red = await startRed(world, modules, port, svc.url);
    await press(port);
    await red.run.until(/debug:The reply\][^[]*Hello from the model\./, 'out');
    const heard = lastOf(model.calls[0]!).content;
    world.check('the model reads the question unchanged', heard.includes(question), heard);
    world.check('the flow learns that svc has it', /accepted/.test(red.run.out()), red.run.out());
    world.equal('a reply that nobody signed', await statusOf(replies, {}), 401);
    const late = Math.floor(Date.now() / 1_000) - 301;
    world.equal('an old one', await statusOf(replies, signedHeaders('old', late)), 401);
    await twice(world, red.run, replies);
    await askAgain(world, modules);
  },
};

const signed = { outbound_signing_env: 'REPLY_SIGNING_KEY' };
const body = JSON.stringify({ conversation_id: 'kitchen', text: 'Said once.' });

function signedHeaders(id: string, at: number): Record<string, string> {
  const timestamp = String(at);
  const signature = signatureOf({ id, timestamp, body }, signingKeyBytes(key));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,AAAA ${signature}`,
  };
}

async function statusOf(url: string, more: Record<string, string>): Promise<number> {
  const headers = { 'content-type': 'application/json', ...more };
  return (await fetch(url, { method: 'POST', headers, body })).status;
}

/** A reply that svc sends twice is confirmed twice and shown once. */
async function twice(world: World, run: Run, replies: string): Promise<void> {
  for (const id of ['same', 'same', 'other']) {
    const headers = signedHeaders(id, Math.floor(Date.now() / 1_000));
    world.equal(`the reply ${id}`, await statusOf(replies, headers), 200);
  }
  const shown = (): number => run.out().match(/Said once\./g)?.length ?? 0;
  await until('the other reply is shown', () => shown() >= 2);
  world.equal('how often they are shown', shown(), 2);
}

/** Where svc is full or down the flow asks again, with the same key. */
async function askAgain(world: World, modules: string): Promise<void> {
  const keys: unknown[] = [];
  const full = await world.server((request, response) => {
    keys.push(request.headers['idempotency-key']);
    if (keys.length === 1) response.socket!.destroy();
    else response.writeHead(keys.length === 2 ? 503 : 200).end('{"status": "accepted"}');
  });
  const port = await freePort();
  const red = await startRed(world, modules, port, full.url);
  await press(port);
  await red.run.until(/accepted/, 'out');
  world.equal('how often the flow asks', keys.length, 3);
  world.equal('with how many keys', new Set(keys).size, 1);
}

/** Node-RED with the flow of the example, whose outputs go to its log. */
async function startRed(world: World, modules: string, port: number, svc: string) {
  const folder = await world.folder();
  const flow = JSON.parse(
    await readFile(join(root, 'examples/node-red/flow.json'), 'utf8'),
  ) as Record<string, unknown>[];
  for (const node of flow) {
    if (node['type'] === 'debug') node['console'] = true;
    if (node['type'] === 'http request') node['url'] = svc;
    if (node['type'] === 'inject') node['payload'] = question;
  }
  await writeFile(join(folder, 'flows.json'), JSON.stringify(flow));
  const settings = { uiHost: '127.0.0.1', uiPort: port, flowFile: 'flows.json' };
  const quiet = { telemetry: { enabled: false, updateNotification: false } };
  const text = `module.exports = ${JSON.stringify({ ...settings, ...quiet })};`;
  await writeFile(join(folder, 'settings.js'), text);
  const program = join(modules, 'node-red', 'red.js');
  const env = { WEBHOOK_SECRET: secret, REPLY_SIGNING_KEY: key };
  const run = world.start(process.execPath, [program, '--userDir', folder], { env });
  await run.until(/Started flows/, 'out');
  return { run };
}

/** Presses the button of the node that asks. */
async function press(port: number): Promise<void> {
  await fetch(`http://127.0.0.1:${port}/inject/svc-ask`, { method: 'POST' });
}
