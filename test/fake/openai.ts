/**
 * A fake of a hosted runtime.
 * Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat.
 */
import { startModelServer } from './model-server.ts';
import type { FakeModel, FakeWire, ModelCall, Script, ScriptedCall } from './model-server.ts';

/** @param options `models` null: it has no list of models; `base` is where it stands */
export function startFakeOpenai(
  script: Script = { answer: 'hello' },
  options: {
    readonly models?: readonly string[] | null;
    /** What a router says that each model reads; absent: nothing. */
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

function choiceOf(text: string, calls: readonly ScriptedCall[]): object {
  if (calls.length === 0) {
    return { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
  }
  const content = text === '' ? null : text;
  const message = { role: 'assistant', content, tool_calls: calls.map(callOf) };
  return { index: 0, message, finish_reason: 'tool_calls' };
}

/** Its arguments are a JSON text. */
const callOf = ({ name, arguments: given, id }: ScriptedCall, at: number): object => ({
  id: id ?? `call_${at}`,
  type: 'function',
  function: { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) },
});

const modelOf = ({ body }: ModelCall): unknown => (body as { model?: unknown } | null)?.model;
