/**
 * n8n with examples/n8n/workflow.json: the workflow asks svc, and takes the reply. It keeps its
 * data on a PostgreSQL server, since its library for SQLite needs an install script.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { lastOf } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { postgresPrograms, PostgresServer } from '../fake/postgres/server.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, secret } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { NotTried, type Counterpart, type World } from './world.ts';

const replySecret = 'a-secret-of-the-replies-0123456789';
const question = 'Say "hello".\nThen: {"a": \'b\'} \\ 😀 {{ 1 + 1 }}';

export const n8n: Counterpart = {
  name: 'n8n',
  of: "npm's n8n",
  async run(world) {
    if (postgresPrograms() === null) throw new NotTried('it needs the programs of PostgreSQL');
    const program = join(await world.npm('n8n'), 'n8n', 'bin', 'n8n');
    const port = await freePort();
    const replies = `http://127.0.0.1:${port}/webhook/svc-replies`;
    const model = world.use(await startFakeOllama({ answer: 'Hello from the model.' }));
    const svc = await world.svc(
      { base_url: model.url },
      {
        brain: { sensitivity: 'public' },
        receiverUrl: replies,
        env: { REPLY_SECRET: replySecret },
        webhook: { outbound_token_env: 'REPLY_SECRET' },
      },
    );
    const passed = world.use(await startReceiver());
    const flow = await imported(world, program, port, { svc: svc.url, passed: passed.url });
    await flow.run('publish:workflow', '--id', flow.id);
    const own = { ...flow.env, N8N_RUNNERS_BROKER_PORT: String(await freePort()) };
    world.start(process.execPath, [program, 'start'], { env: own });
    // Without the header it answers 403 as soon as it listens, and 404 or nothing before.
    await until('n8n takes replies', async () => (await statusOf(replies, 'none')) === 403);
    await flow.run('execute', '--id', flow.id);
    const [first] = await passed.waitFor(1);
    const heard = lastOf(model.calls[0]!).content;
    world.check('the model reads the question unchanged', heard.includes(question), heard);
    const { in_reply_to: repliesTo, ...fields } = first!.body;
    world.equal('the reply', fields, { conversation: 'orders', text: 'Hello from the model.' });
    world.check('the message that it replies to', String(repliesTo).startsWith('01'), repliesTo);
    await twice(world, replies, passed);
    const gone = `http://127.0.0.1:${port}/webhook/nobody-published-this`;
    world.equal('a workflow that is switched off', await statusOf(gone, 'none'), 404);
  },
};

/** A reply that svc sends twice is confirmed twice and passed on once. */
async function twice(world: World, replies: string, passed: Receiver): Promise<void> {
  for (const id of ['same', 'same', 'other']) {
    world.equal(`the reply ${id}`, await statusOf(replies, id, replySecret), 200);
    // The next one is compared with those whose execution is over.
    if (id === 'same') await passed.waitFor(2);
  }
  const all = await passed.waitFor(3);
  const texts = all.slice(1).map(({ body }) => body['text']);
  world.equal('the replies that are passed on', texts, ['same', 'other']);
}

async function statusOf(url: string, id: string, token = 'wrong'): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    'webhook-id': id,
  };
  const body = JSON.stringify({ conversation_id: 'orders', text: id, in_reply_to: 'one' });
  const response = await fetch(url, { method: 'POST', headers, body }).catch(() => null);
  await response?.arrayBuffer();
  return response?.status ?? 0;
}

type Node = { id: string; name: string; credentials?: object; parameters: Record<string, unknown> };
type Workflow = {
  readonly id: string;
  readonly nodes: Node[];
  readonly connections: Record<string, object>;
};

/** n8n's commands, with the workflow of the example and the two credentials in its database. */
async function imported(
  world: World,
  program: string,
  port: number,
  to: { readonly svc: string; readonly passed: string },
) {
  const folder = await world.folder();
  const env = environmentOf(folder, port, world.use(await PostgresServer.start()));
  const run = async (...args: readonly string[]): Promise<void> => {
    // Each process has a server for its runners of tasks.
    const own = { ...env, N8N_RUNNERS_BROKER_PORT: String(await freePort()) };
    const all = [program, ...args];
    const { code, out, err } = await world.outcome(process.execPath, all, { env: own });
    if (code !== 0)
      throw new Error(`n8n ${args[0]} ended with ${code}: ${(err + out).slice(-500)}`);
  };
  const header = { name: 'Authorization', value: `Bearer ${replySecret}` };
  const credentials = [
    { id: 'toSvc', name: 'svc', type: 'httpBearerAuth', data: { token: secret } },
    { id: 'ofSvc', name: 'Replies', type: 'httpHeaderAuth', data: header },
  ];
  await writeFile(join(folder, 'credentials.json'), JSON.stringify(credentials));
  await run('import:credentials', '--input', join(folder, 'credentials.json'));
  const file = join(root, 'examples/n8n/workflow.json');
  const workflow = JSON.parse(await readFile(file, 'utf8')) as Workflow;
  connect(workflow, to);
  await writeFile(join(folder, 'workflow.json'), JSON.stringify(workflow));
  await run('import:workflow', '--input', join(folder, 'workflow.json'));
  return { id: workflow.id, env, run };
}

/** Chooses the credentials, as a reader does, and lets the test see what is passed on. */
function connect(workflow: Workflow, to: { readonly svc: string; readonly passed: string }): void {
  const node = (name: string): Node => workflow.nodes.find((one) => one.name === name)!;
  const ask = node('POST to svc');
  ask.parameters['url'] = to.svc;
  ask.credentials = { httpBearerAuth: { id: 'toSvc', name: 'svc' } };
  node('Replies of svc').credentials = { httpHeaderAuth: { id: 'ofSvc', name: 'Replies' } };
  const { assignments } = node('Question').parameters['assignments'] as {
    readonly assignments: { name: string; value: string }[];
  };
  assignments.find(({ name }) => name === 'text')!.value = question;
  workflow.nodes.push({
    ...structuredClone(ask),
    id: 'pass-on',
    name: 'Pass on',
    credentials: {},
    parameters: {
      method: 'POST',
      url: to.passed,
      sendBody: true,
      contentType: 'json',
      specifyBody: 'json',
      jsonBody: '={{ JSON.stringify($json) }}',
    },
  });
  const next = [{ node: 'Pass on', type: 'main', index: 0 }];
  workflow.connections['The reply'] = { main: [next] };
}

/** It asks nothing of the network and reports nothing to it. */
function environmentOf(
  folder: string,
  port: number,
  server: PostgresServer,
): Record<string, string> {
  return {
    N8N_USER_FOLDER: folder,
    N8N_LISTEN_ADDRESS: '127.0.0.1',
    N8N_PORT: String(port),
    N8N_ENCRYPTION_KEY: 'an-encryption-key-of-the-world',
    N8N_DIAGNOSTICS_ENABLED: 'false',
    N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
    N8N_TEMPLATES_ENABLED: 'false',
    N8N_PERSONALIZATION_ENABLED: 'false',
    DB_TYPE: 'postgresdb',
    DB_POSTGRESDB_HOST: '127.0.0.1',
    DB_POSTGRESDB_PORT: String(server.port),
    DB_POSTGRESDB_DATABASE: 'postgres',
    DB_POSTGRESDB_USER: 'svc',
    DB_POSTGRESDB_PASSWORD: 'none',
  };
}
