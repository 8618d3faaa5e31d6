/**
 * Third-party MCP servers, over stdio and HTTP: svc pins and lists their tools, and an agent calls
 * one tool of each, because a fake model asks for it.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asks, bodyOf, inTurn, toolsOf } from '../agents/stage.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { freePort, secret } from '../support/program.ts';
import { launcher } from '../support/run-svc.ts';
import { until } from '../support/waiting.ts';
import { operatorToken, type Counterpart, type World } from './world.ts';

type Server = {
  readonly name: string;
  readonly reach: object;
  /** One of its tools, the arguments of the call, and the expected result. */
  readonly tool: string;
  readonly given: object;
  readonly gives: RegExp;
};

const page =
  '<html><body><h1>Opening hours</h1><p>From nine to five, says the page.</p></body></html>';

export const mcp: Counterpart = {
  name: 'mcp',
  of: 'servers of npm and PyPI',
  async run(world) {
    const modules = await world.npm('mcp');
    const bins = [await world.python('mcp'), await world.python('mcpOlder')] as const;
    const folder = await world.folder();
    const servers = [
      ...ofNpm(modules, folder),
      ...(await overHttp(world, modules)),
      ...(await ofPyPI(world, bins, folder)),
    ];
    const model = world.use(await startFakeOpenai());
    const env = { MEMORY_FILE: join(folder, 'memory.jsonl') };
    const agent = {
      tools: servers.map(({ name, tool }) => `mcp.${name}.${tool}`),
      mcp: servers.map(({ name, reach }) => ({ name, ...reach })),
    };
    const provided = { base_url: model.url, provider: 'hosted_runtime', model_id: 'gpt-test' };
    const svc = await world.svc(provided, {
      brain: { agent },
      env,
      before: (file) => pinned(world, servers, file, env),
    });
    await until('every server is up', async () => {
      const status = (await (await fetch(`${svc.admin}/api/v1/status`)).json()) as Status;
      return status.mcp.every(({ state }) => state === 'up' || state === 'down');
    });
    for (const { name, tool, given, gives } of servers) {
      const asked = `mcp_${name}_${tool}`.replaceAll(/[^\w-]/g, '_');
      await model.script(inTurn(asks(asked, given), { answer: `${name} has answered.` }));
      const before = model.calls.length;
      world.equal(`${name}: the reply`, await svc.say('Do it.'), `${name} has answered.`);
      const [first, second] = model.calls.slice(before);
      world.check(
        `${name}: ${tool} is announced`,
        toolsOf(first!).includes(asked),
        toolsOf(first!),
      );
      const lines = second === undefined ? [] : bodyOf(second).messages;
      const result = lines.findLast(({ role }) => role === 'tool')?.content ?? '';
      world.check(`${name}: what ${tool} gives`, gives.test(result), result);
    }
  },
};

type Status = { readonly mcp: readonly { readonly name: string; readonly state: string }[] };

/** `svc mcp pin --yes`, and then `svc mcp list`. */
async function pinned(
  world: World,
  servers: readonly Server[],
  file: string,
  more: Readonly<Record<string, string>>,
): Promise<void> {
  const env = { WEBHOOK_SECRET: secret, ADMIN_TOKEN: operatorToken, ...more };
  const svc = (...args: readonly string[]) =>
    world.outcome(process.execPath, [launcher, ...args, '--config', file], { env });
  const pin = await svc('mcp', 'pin', '--yes');
  world.equal('svc mcp pin: its exit code', pin.code, 0);
  if (pin.code !== 0) world.check('svc mcp pin: what it says', false, pin.out + pin.err);
  const list = await svc('mcp', 'list');
  world.equal('svc mcp list: its exit code', list.code, 0);
  for (const { name, tool } of servers) {
    const line = list.out.split('\n').find((one) => one.startsWith(`mcp.${name}.${tool} `)) ?? '';
    world.check(`svc mcp list: ${name} is pinned`, / pinned/.test(line), line || list.out);
  }
}

function ofNpm(modules: string, folder: string): readonly Server[] {
  const program = (path: string, ...more: readonly string[]): readonly string[] => [
    process.execPath,
    join(modules, path),
    ...more,
  ];
  const own = '@modelcontextprotocol';
  return [
    {
      name: 'everything',
      reach: { command: program(`${own}/server-everything/dist/index.js`, 'stdio') },
      tool: 'echo',
      given: { message: 'hello' },
      gives: /Echo: hello/,
    },
    {
      name: 'files',
      reach: { command: program(`${own}/server-filesystem/dist/index.js`, folder) },
      tool: 'write_file',
      given: { path: join(folder, 'note.txt'), content: 'what stands there' },
      gives: /Successfully wrote/,
    },
    {
      name: 'memory',
      reach: {
        command: program(`${own}/server-memory/dist/index.js`),
        env: { MEMORY_FILE_PATH: 'MEMORY_FILE' },
      },
      tool: 'create_entities',
      given: { entities: [{ name: 'Ada', entityType: 'person', observations: ['likes tea'] }] },
      gives: /likes tea/,
    },
    {
      name: 'thinking',
      reach: { command: program(`${own}/server-sequential-thinking/dist/index.js`) },
      tool: 'sequentialthinking',
      given: { thought: 'One.', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      gives: /"totalThoughts": ?1/,
    },
  ];
}

/** The second one needs a service on the internet, so it gets arguments that it refuses itself. */
async function overHttp(world: World, modules: string): Promise<readonly Server[]> {
  const [everything, context7] = [String(await freePort()), String(await freePort())];
  const path = (file: string): string => join(modules, file);
  const first = path('@modelcontextprotocol/server-everything/dist/index.js');
  world.start(process.execPath, [first, 'streamableHttp'], { env: { PORT: everything } });
  const second = path('@upstash/context7-mcp/dist/index.js');
  world.start(process.execPath, [second, '--transport', 'http', '--port', context7]);
  for (const port of [everything, context7]) {
    await until(`the server on port ${port}`, async () => {
      return (await fetch(`http://127.0.0.1:${port}/mcp`).catch(() => null)) !== null;
    });
  }
  return [
    {
      name: 'everything-http',
      reach: { url: `http://127.0.0.1:${everything}/mcp` },
      tool: 'get-sum',
      given: { a: 7, b: 8 },
      gives: /15/,
    },
    {
      name: 'context7-http',
      reach: { url: `http://127.0.0.1:${context7}/mcp` },
      tool: 'resolve-library-id',
      given: { libraryName: 1, query: 1 },
      gives: /The server says that it failed: .*libraryName/s,
    },
  ];
}

async function ofPyPI(
  world: World,
  [newer, older]: readonly [string, string],
  folder: string,
): Promise<readonly Server[]> {
  const web = await world.server((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
  });
  const repository = join(folder, 'repository');
  await world.outcome('git', ['init', '--quiet', repository]);
  await writeFile(join(repository, 'new.txt'), 'new');
  const program = (bin: string, name: string, ...more: readonly string[]): object => {
    return { command: [join(bin, name), ...more] };
  };
  return [
    {
      name: 'time',
      reach: program(newer, 'mcp-server-time', '--local-timezone', 'UTC'),
      tool: 'convert_time',
      given: { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' },
      gives: /21:00/,
    },
    {
      name: 'git',
      reach: program(newer, 'mcp-server-git', '--repository', repository),
      tool: 'git_status',
      given: { repo_path: repository },
      gives: /new\.txt/,
    },
    {
      name: 'fetch',
      reach: program(newer, 'mcp-server-fetch', '--ignore-robots-txt', '--allow-private-ips'),
      tool: 'fetch',
      given: { url: web.url },
      gives: /From nine to five/,
    },
    {
      name: 'sqlite',
      reach: program(older, 'mcp-server-sqlite', '--db-path', join(folder, 'some.db')),
      tool: 'read_query',
      given: { query: 'SELECT 7 + 8 AS sum' },
      gives: /15/,
    },
    {
      name: 'calculator',
      reach: program(older, 'mcp-server-calculator'),
      tool: 'calculate',
      given: { expression: '7 + 8' },
      gives: /15/,
    },
  ];
}
