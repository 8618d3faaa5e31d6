/**
 * Clients of npm and PyPI ask svc over the completions API: models, an answer, a stream,
 * a tool, a picture, every error, and a hang-up. llm-comply reads the answers by the API's schema.
 */
import { join } from 'node:path';
import type { ModelCall, Script, Step } from '../fake/model-server.ts';
import { startFakeOpenai } from '../fake/openai.ts';
import { pngOf } from '../fake/pictures.ts';
import { freePort } from '../support/program.ts';
import type { Counterpart, World } from './world.ts';

const key = 'sk-of-the-world-0123456789';
const hello = 'Hello there, my friend.';
const png = Buffer.from(pngOf(8, 8, [200, 30, 30, 255]));
const picture = `data:image/png;base64,${png.toString('base64')}`;

type Told = { readonly text: string; readonly end: string; readonly tokens: number };
/** The client's name for the error, the HTTP status, and how often the client asked. */
type Refusal = readonly [name: string, status: number, attempts: number];
type Said = {
  readonly models: readonly string[] | null;
  readonly answer: Told;
  readonly streamed: Told & { readonly pieces: number };
  readonly tool: string;
  readonly picture: string;
  readonly refused: Readonly<Record<keyof typeof statuses, Refusal>>;
  readonly hungUp: string;
};
const statuses = { key: 401, model: 404, field: 400, budget: 429, failed: 503 } as const;
/** LangChain's client of npm tries twice more, since it does not read `x-should-retry`. */
const attemptsMax = { key: 1, model: 1, field: 1, budget: 1, failed: 3 } as const;

/** How the clients of OpenAI call the errors. */
const classes = {
  key: 'AuthenticationError',
  model: 'NotFoundError',
  field: 'BadRequestError',
  budget: 'RateLimitError',
  failed: 'InternalServerError',
} as const;

export const completions: Counterpart = {
  name: 'completions',
  of: 'openai, ai, @langchain/openai of npm, openai, langchain-openai, llm-comply of PyPI',
  async run(world) {
    const bin = await world.python('completions');
    const modules = await world.npm('completions');
    const door = await openDoor(world);
    for (const client of ['openai', 'ai', '@ai-sdk/openai', '@langchain/openai']) {
      await askByNpm(world, door, client, modules);
    }
    for (const client of ['openai', 'langchain-openai']) {
      const args = [join(import.meta.dirname, 'completions.py'), client, door, key, picture];
      await talk(world, `PyPI's ${client}`, join(bin, 'python'), args);
    }
    await comply(world, join(bin, 'llm-comply'), door);
  },
};

/** Asks by a package that is in the folder `modules`. */
export async function askByNpm(world: World, door: string, client: string, modules: string) {
  const file = join(import.meta.dirname, 'completions.mjs');
  const args = [file, client, modules, door, key, picture];
  await talk(world, `npm's ${client}`, process.execPath, args);
}

/** Starts svc with a model. @returns the base URL of its API */
export async function openDoor(world: World): Promise<string> {
  const model = world.use(await startFakeOpenai(script()));
  const port = await freePort();
  const cloud = {
    provider: 'hosted_runtime',
    model_id: 'gpt-test',
    base_url: model.url,
    locality: 'cloud',
    api_key_env: 'PROVIDER_KEY',
    max_output_tokens: 100,
  };
  const poor = {
    name: 'poor',
    sensitivity: 'public',
    policy: { kind: 'priority' },
    models: [cloud],
    budget: { tokens_per_day: 1 },
  };
  await world.svc(
    { base_url: model.url, provider: 'hosted_runtime', model_id: 'gpt-test', vision: true },
    {
      brain: { sensitivity: 'public' },
      brains: [poor],
      whole: { completions: { bind: `127.0.0.1:${port}`, token_env: 'COMPLETIONS_TOKEN' } },
      env: { COMPLETIONS_TOKEN: key, PROVIDER_KEY: 'sk-of-the-provider-0123456789' },
    },
  );
  return `http://127.0.0.1:${port}/v1`;
}

type Part = { readonly type: string; readonly text?: string };
type Line = { readonly role: string; readonly content: string | readonly Part[] | null };

/** A model that never ends two answers, and knows when their readers have gone. */
function script(): Script {
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
  let silent = { asked, isAsked, over: [] as Promise<'answered' | 'gone'>[] };
  const never = new Promise<never>(() => {});
  return (call: ModelCall): Step => {
    const { messages, tools } = call.body as { messages: readonly Line[]; tools?: unknown };
    const { role, content } = messages.at(-1)!;
    const text = textOf(content);
    if (role === 'tool') return { answer: `The answer is ${text}.` };
    if (tools !== undefined) {
      return { answer: '', calls: [{ name: 'get_weather', arguments: { city: 'Paris' } }] };
    }
    if (Array.isArray(content) && content.some(({ type }) => type === 'image_url')) {
      return { answer: 'A picture.' };
    }
    switch (text) {
      case 'Fail.':
        return { fail: '500' };
      case 'Be silent.':
        silent.over.push(call.over);
        silent.isAsked();
        return { answer: '', after: never };
      case 'Are you asked?':
        return { answer: 'Yes.', after: silent.asked };
      case 'Speak for ever.':
        silent.over.push(call.over);
        return { answer: hello, between: (piece) => (piece < 3 ? undefined : never) };
      case 'Are you free?': {
        const after = allOver(silent.over);
        const next = Promise.withResolvers<void>();
        silent = { asked: next.promise, isAsked: next.resolve, over: [] };
        return { answer: 'Yes.', after };
      }
      default:
        return { answer: hello };
    }
  };
}

async function allOver(over: readonly Promise<unknown>[]): Promise<void> {
  await Promise.all(over);
}

const textOf = (content: Line['content']): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('');

async function talk(world: World, client: string, program: string, args: readonly string[]) {
  const ran = await world.outcome(program, args, { cwd: import.meta.dirname });
  world.equal(`${client}: it ends well`, ran.code, 0);
  if (ran.code !== 0) return world.check(`${client}: what it says`, false, ran.err.slice(-500));
  const said = JSON.parse(ran.out.slice(ran.out.lastIndexOf('\n{') + 1)) as Said;
  if (said.models) world.equal(`${client}: the models`, said.models, ['echo', 'poor']);
  const expected = { text: hello, end: 'stop', tokens: 29 };
  world.equal(`${client}: an answer`, said.answer, expected);
  const { text, end, tokens, pieces } = said.streamed;
  world.equal(`${client}: a stream`, { text, end, tokens }, expected);
  world.check(`${client}: a stream grows`, pieces > 1, pieces);
  world.equal(`${client}: a tool`, said.tool, 'The answer is sun in Paris.');
  world.equal(`${client}: a picture`, said.picture, 'A picture.');
  world.equal(`${client}: a hang-up`, said.hungUp, 'Yes.');
  for (const [what, [name, status, attempts]] of Object.entries(said.refused)) {
    const known = what as keyof typeof statuses;
    world.equal(`${client}: refused for ${what}`, status, statuses[known]);
    world.check(`${client}: tries for ${what}`, attempts <= attemptsMax[known], attempts);
    if (client.endsWith(' openai')) {
      world.equal(`${client}: the class for ${what}`, name, classes[known]);
    }
  }
}

type Report = {
  readonly results: readonly {
    readonly name: string;
    readonly status: string;
    readonly errors?: readonly string[];
    readonly warnings?: readonly string[];
  }[];
};

/** Every test of the format, but one for models that show their reasoning. */
async function comply(world: World, program: string, door: string): Promise<void> {
  const args = ['run', '--format', 'openai-chat', '-u', door, '-k', key, '-m', 'echo', '--json'];
  const { out, err } = await world.outcome(program, args);
  const { results } = JSON.parse(out) as Report;
  world.check('llm-comply: it has tests', results.length > 7, `${out} ${err}`);
  for (const { name, status, errors, warnings } of results) {
    const isReasoning = status === 'skipped' && name === 'Reasoning Summary';
    const isWell = isReasoning || (status === 'passed' && warnings === undefined);
    world.check(`llm-comply: ${name}`, isWell, { status, errors, warnings });
  }
}
