/**
 * The JSON of a hosted runtime.
 * Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat, as spoken by
 * many others, who differ most in their errors.
 */
import { answerOf, callsOf, failed, failureOf, listOf } from '../parsing.ts';
import { base64Of, messagesOf, parseJson, recordOf, textOf, toolsOf, usageOf } from '../parsing.ts';
import type { CallWire, Parsed } from '../parsing.ts';
import type { ModelRequest } from '../model.ts';

/** The field that bounds an answer: most providers know the first, some models only the other. */
export type LimitField = 'max_tokens' | 'max_completion_tokens';

/**
 * The body of `POST /chat/completions`.
 * @param limit null: an answer is as long as the provider lets it be
 * @param tellsUsage of an answer in pieces: whether it may be asked for its usage
 */
export function toWire(
  modelId: string,
  request: ModelRequest,
  limit: { readonly field: LimitField; readonly tokens: number } | null,
  tellsUsage = true,
): string {
  const messages = messagesOf(request, callWire);
  const bounded = limit === null ? {} : { [limit.field]: limit.tokens };
  return JSON.stringify({
    model: modelId,
    messages,
    ...toolsOf(request),
    ...bounded,
    ...streamOf(request, tellsUsage),
  });
}

function streamOf({ onText }: ModelRequest, tellsUsage: boolean): object {
  if (onText === undefined) return { stream: false };
  return { stream: true, ...(tellsUsage && { stream_options: { include_usage: true } }) };
}

/** Arguments go as a JSON text, and a result names its call. */
const callWire: CallWire = {
  call: ({ id, name, arguments: given }) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given ?? {});
    return { id, type: 'function', function: { name, arguments: text } };
  },
  result: ({ id }) => ({ tool_call_id: id }),
  shown: (text, pictures) => ({
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...pictures.map((one) => {
        const url = `data:${one.type};base64,${base64Of(one)}`;
        return { type: 'image_url', image_url: { url } };
      }),
    ],
  }),
};

/** @param retryAfterMs what the answer's header asks us to wait */
export function fromWire(
  status: number,
  body: string,
  retryAfterMs: number | null,
  offered: boolean,
): Parsed {
  const root = recordOf(parseJson(body));
  const told = recordOf(root?.['usage']);
  const { prompt_tokens: input, completion_tokens: output, total_tokens: all } = told ?? {};
  const usage = usageOf(input, output, all);
  if (status !== 200 || root?.['error']) {
    const error = recordOf(root?.['error']);
    const words = error === null ? textOf(root?.['error']) : wordsOf(error);
    // Some answer 200 and hold the real status in the error's code.
    const code = Number(error?.['code']);
    const real = status !== 200 ? status : code >= 400 && code < 600 ? code : 500;
    return { kind: 'failed', failure: failureOf(real, words, retryAfterMs), usage };
  }
  const message = recordOf(recordOf(listOf(root?.['choices'])[0])?.['message']);
  if (message === null) return failed('malformed_answer', { status });
  return answerOf(contentOf(message['content']), {
    calls: callsOf(message['tool_calls']),
    offered,
    usage,
  });
}

/**
 * Whether the model takes its limit in the other field alone. Format: OpenAI says
 * `unsupported_parameter` with `param`, others say it in the message alone.
 */
export function wantsOtherLimit(status: number, body: string): boolean {
  if (status !== 400) return false;
  const error = recordOf(recordOf(parseJson(body))?.['error']);
  const isNamed = error?.['code'] === 'unsupported_parameter' && error['param'] === 'max_tokens';
  return isNamed || /max_tokens.+max_completion_tokens/s.test(textOf(error?.['message']));
}

/** Whether the provider refuses to be asked for the usage of a stream, which not all know. */
export function refusesUsage(status: number, body: string): boolean {
  return (status === 400 || status === 422) && /stream_options|include_usage/.test(body);
}

/**
 * Whether the provider refuses to stream, for this model or for whoever asks. It is looked at only
 * where a stream was asked for.
 */
export function refusesStream(status: number, body: string): boolean {
  if (status !== 400 && status !== 422 && status !== 501) return false;
  const error = recordOf(recordOf(parseJson(body))?.['error']);
  return error?.['param'] === 'stream' || /\bstream(?:ing|ed)?\b/i.test(body.slice(0, 4_000));
}

/** Whether the list of `GET /models` has this model; null when it is no list. */
export function findModel(body: string, modelId: string): boolean | null {
  const data = recordOf(parseJson(body))?.['data'];
  if (!Array.isArray(data)) return null;
  return data.some((item) => {
    const id = textOf(recordOf(item)?.['id']);
    return id === modelId || id === `models/${modelId}`;
  });
}

/**
 * What the list of `GET /models` says of a model's sight; null: it does not say. Routers tell
 * `architecture.input_modalities`, others `modalities` or a capability.
 */
export function seesBy(body: string, modelId: string): boolean | null {
  const data = listOf(recordOf(parseJson(body))?.['data']).map(recordOf);
  const model = data.find((one) => one?.['id'] === modelId || one?.['id'] === `models/${modelId}`);
  if (model == null) return null;
  const inputs = [recordOf(model['architecture'])?.['input_modalities'], model['input_modalities']];
  const told = inputs.find((one) => Array.isArray(one));
  if (told !== undefined) return (told as unknown[]).includes('image');
  const capabilities = model['capabilities'];
  if (Array.isArray(capabilities)) {
    return capabilities.some((one) => one === 'vision' || one === 'multimodal');
  }
  const vision = recordOf(capabilities)?.['vision'];
  return typeof vision === 'boolean' ? vision : null;
}

/** A text, or a list of parts of which those of type `text` are the answer. */
export function contentOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map(recordOf)
    .map((part) => (part?.['type'] === 'text' ? textOf(part['text']) : ''))
    .join('');
}

/** A code may be a text or a number. */
function wordsOf(error: Readonly<Record<string, unknown>>): string {
  return [error['code'], error['type'], error['message']].map(textOf).join(' ');
}
