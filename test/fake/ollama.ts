/**
 * A fake of the local runtime.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
import {
  startModelServer,
  wordsOf,
  type FakeModel,
  type FakeWire,
  type ModelCall,
  type Script,
  type ScriptedCall,
} from './model-server.ts';

/** The models that tests use without a list of their own. */
const pulled = 'llama3 llama3.2 gemma3 qwen3 m a b c first second near model-0 model-1'
  .split(' ')
  .map((name) => `${name}:latest`);

/**
 * @param options `models` are its tags, read anew each time; `remoteHosts` gives some of them the
 * host to which they are forwarded
 */
export function startFakeOllama(
  script: Script = { answer: 'hello' },
  options: {
    readonly models?: readonly string[];
    readonly remoteHosts?: Readonly<Record<string, string>>;
    /** The capabilities of each model; absent: a version that does not report them. */
    readonly capabilities?: readonly string[];
    readonly context?: FakeContext;
    readonly host?: string;
    readonly port?: number;
  } = {},
): Promise<FakeModel> {
  const { models = pulled, remoteHosts = {}, capabilities, context = {}, host, port } = options;
  const { byDefault = 4_096, ofFile, most } = context;
  const loaded = new Map<string, number>();
  const tagOf = (name: string): object => {
    const away = remoteHosts[name];
    return { name, model: name, size: 4_661_224_676, ...(away && { remote_host: away }) };
  };
  const wire: FakeWire = {
    host,
    port,
    base: '',
    chatPath: '/api/chat',
    heard(call) {
      // A request with another context loads the model again: server/sched.go, needsReload.
      const body = call.body as { options?: { num_ctx?: number } } | null;
      const asked = body?.options?.num_ctx ?? ofFile ?? byDefault;
      loaded.set(withTag(modelOf(call)), Math.min(asked, most ?? Infinity));
    },
    answer: (text, call, calls) => ({
      model: modelOf(call),
      created_at: '2026-11-20T20:00:00.000000Z',
      message: {
        role: 'assistant',
        content: text,
        ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
      },
      done: true,
      done_reason: 'stop',
      total_duration: 4_883_583_458,
      prompt_eval_count: 26,
      eval_count: text === '' && calls.length === 0 ? 0 : 29,
    }),
    streamed: (whole) => ({ type: 'application/x-ndjson', pieces: piecesOf(whole as Whole) }),
    error: (_status, words) => ({ error: words }),
    overflow: (words) => ({
      status: 400,
      body: { error: `the input length exceeds the context length: ${words}` },
    }),
    showPath: '/api/show',
    look(path) {
      if (path === '/api/show') return { details: {}, capabilities, ...shownOf(context) };
      if (path === '/api/ps') {
        const running = [...loaded].map(([name, tokens]) => {
          return { name, model: name, context_length: tokens };
        });
        return { models: running };
      }
      if (path === '/api/tags') return { models: models.map(tagOf) };
      return path === '/api/version' ? { version: '0.12.6' } : null;
    },
  };
  return startModelServer(wire, script);
}

/** The tokens that it reads in one call; it does not report absent fields. */
export type FakeContext = {
  readonly byDefault?: number;
  /** `PARAMETER num_ctx` of the model file. */
  readonly ofFile?: number;
  /** The context length for which the model was made. */
  readonly most?: number;
};

/** Parameters are one text: a name, spaces and a value in each line. */
const shownOf = ({ ofFile, most }: FakeContext): object => ({
  ...(ofFile !== undefined && { parameters: `stop    "<|eot|>"\nnum_ctx    ${ofFile}` }),
  ...(most !== undefined && {
    model_info: { 'general.architecture': 'llama', 'llama.context_length': most },
  }),
});

const withTag = (name: unknown): string => {
  const text = String(name);
  return text.includes(':') ? text : `${text}:latest`;
};

type Whole = {
  readonly model: unknown;
  readonly created_at: string;
  readonly message: { readonly content: string; readonly tool_calls?: readonly object[] };
};

/** A line for each word, then the calls, then a last one without a word. */
function piecesOf({ message, ...whole }: Whole): readonly string[] {
  const { content, tool_calls: calls } = message;
  const { model, created_at } = whole;
  const lines = wordsOf(content).map((word) => {
    return { model, created_at, message: { role: 'assistant', content: word }, done: false };
  });
  const asked = {
    model,
    created_at,
    message: { role: 'assistant', content: '', tool_calls: calls },
  };
  const last = { ...whole, message: { role: 'assistant', content: '' } };
  const all = [...lines, ...(calls === undefined ? [] : [{ ...asked, done: false }]), last];
  return all.map((line) => `${JSON.stringify(line)}\n`);
}

/** The arguments are an object, and only later versions send an id. */
const callOf = ({ name, arguments: given, id }: ScriptedCall): object => ({
  ...(id !== undefined && { id }),
  function: { name, arguments: given },
});

const modelOf = ({ body }: ModelCall): unknown => (body as { model?: unknown } | null)?.model;
