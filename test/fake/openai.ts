/**
 * A fake of a hosted runtime.
 * Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat.
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

/** @param options `models` null: it has no list of models; `base` is its base path */
export function startFakeOpenai(
  script: Script = { answer: 'hello' },
  options: {
    readonly models?: readonly string[] | null;
    /** The inputs of each model as a router reports them; absent: none reported. */
    readonly inputs?: readonly string[];
    readonly base?: string;
    readonly host?: string;
  } = {},
): Promise<FakeModel> {
  const { models = ['gpt-test'], base = '/v1', inputs, host } = options;
  const architecture = inputs && { input_modalities: inputs };
  const list = models?.map((id) => ({ id, object: 'model', owned_by: 'someone', architecture }));
  const wire: FakeWire = {
    host,
    base,
    chatPath: '/chat/completions',
    answer: (text, call, calls) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1_795_000_000,
      model: modelOf(call),
      choices: [choiceOf(text, calls)],
      usage: { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 },
    }),
    streamed: (whole) => ({ type: 'text/event-stream', pieces: piecesOf(whole as Whole) }),
    // As Gemini does (picoclaw#790); svc sends it to api.openai.com alone.
    refuses: (body) => {
      if (!Object.hasOwn(body ?? {}, 'prompt_cache_key')) return null;
      const message =
        'Invalid JSON payload received. Unknown name "prompt_cache_key": Cannot find field.';
      return { status: 400, body: { error: { code: 400, message, status: 'INVALID_ARGUMENT' } } };
    },
    error: (status, words) => ({ error: { message: words, type: 'error', code: status } }),
    overflow: (words) => ({
      status: 400,
      body: {
        error: {
          message: words,
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      },
    }),
    look: (path) => (path === '/models' && list ? { object: 'list', data: list } : null),
  };
  return startModelServer(wire, script);
}

type Whole = {
  readonly choices: readonly [
    { readonly message: { content: string | null; tool_calls?: readonly FullCall[] } },
  ];
  readonly usage?: object;
};
type FullCall = { readonly id: string; readonly function: { name: string; arguments: string } };

/** An event for each word, two for each call, the usage in one without a choice, and `[DONE]`. */
function piecesOf({ choices: [{ message }], usage, ...rest }: Whole): readonly string[] {
  const { content, tool_calls: calls = [] } = message;
  const base = { ...rest, object: 'chat.completion.chunk' };
  const chunk = (delta: object, finish_reason: string | null = null): object => {
    return { ...base, choices: [{ index: 0, delta, finish_reason }] };
  };
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...wordsOf(content ?? '').map((word) => chunk({ content: word })),
    ...calls.flatMap(({ id, function: { name, arguments: given } }, index) => {
      const half = Math.floor(given.length / 2);
      const first = { index, id, type: 'function', function: { name, arguments: '' } };
      const pieces = [given.slice(0, half), given.slice(half)].map((part) => {
        return { index, function: { arguments: part } };
      });
      return [first, ...pieces].map((one) => chunk({ tool_calls: [one] }));
    }),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    { ...base, choices: [], usage },
  ];
  const lines = events.map((event) => `data: ${JSON.stringify(event)}\n\n`);
  return [': a comment\n\n', ...lines, 'data: [DONE]\n\n'];
}

function choiceOf(text: string, calls: readonly ScriptedCall[]): object {
  if (calls.length === 0) {
    return { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
  }
  const content = text === '' ? null : text;
  const message = { role: 'assistant', content, tool_calls: calls.map(callOf) };
  return { index: 0, message, finish_reason: 'tool_calls' };
}

/** The arguments are a JSON text. */
const callOf = ({ name, arguments: given, id }: ScriptedCall, at: number): object => ({
  id: id ?? `call_${at}`,
  type: 'function',
  function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
});

const modelOf = ({ body }: ModelCall): unknown => (body as { model?: unknown } | null)?.model;
