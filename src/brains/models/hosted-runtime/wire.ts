/**
 * The JSON of a hosted runtime. Format: OpenAI chat completions,
 * platform.openai.com/docs/api-reference/chat. Many other providers use it; they differ most in
 * their errors.
 */
import {
  endedBy,
  errorWords,
  limitTooLarge,
  ownLineFields,
  wantsThinkingBack,
  ownCallFields,
  ownFunctionFields,
  type EndedBy,
} from '../../../domain/model-habits.ts';
import { madeCallId, type ToolCall } from '../../../domain/outcome.ts';
import { errorIn, failureOf } from '../errors.ts';
import { listOf, parseJson, recordOf, textOf } from '../../../lib/json.ts';
import {
  answerOf,
  base64Of,
  callsOf,
  chosenTools,
  contentOf,
  extraOf,
  failed,
  messagesOf,
  modelNamesOf,
  toolsOf,
  usageOf,
  type CallWire,
  type Parsed,
} from '../parsing.ts';
import { outputLimitOf, type ModelRequest } from '../model.ts';
import type { ToolChoice, ToolNotice } from '../../../domain/completion.ts';
import { wholeOf, type StreamEnd } from '../streaming.ts';

/**
 * The parts of a request that a provider accepts, as far as its refusals have shown. Each field
 * begins with the most common value, and changes at most once.
 */
export type Accepts = {
  /** The field for the answer limit: most providers know the first, some models only the second. */
  readonly limitField: 'max_tokens' | 'max_completion_tokens';
  /** The largest accepted limit of an answer, in tokens. */
  readonly limitMax: number;
  /** A stream may contain its usage (`stream_options`). */
  readonly usage: boolean;
  /** The provider's own fields of a line go back with it. */
  readonly extra: boolean;
  /** Every line of the model has a field for thinking, even an empty one. */
  readonly thinking: boolean;
  /** A system line is accepted; otherwise its text becomes the first user line. */
  readonly system: boolean;
  /** The content of a line with calls and no text. */
  readonly noText: null | '';
  /** The model's own ids of calls are accepted; otherwise svc makes ids. */
  readonly ids: boolean;
  /** `tool_choice: none` is accepted; otherwise a request without calls names no tools. */
  readonly toolChoice: boolean;
  /** A request may force a call; otherwise the model decides, or sees only the one tool. */
  readonly forcesCalls: boolean;
  /** The model may think in a request with tools; otherwise such a request forbids it. */
  readonly thinksWithTools: boolean;
};

export const acceptsAll: Accepts = {
  limitField: 'max_tokens',
  limitMax: Infinity,
  usage: true,
  extra: true,
  thinking: false,
  system: true,
  noText: null,
  ids: true,
  toolChoice: true,
  forcesCalls: true,
  thinksWithTools: true,
};

/**
 * The body of `POST /chat/completions`.
 * @param outputTokensMax as configured; null: the provider's own limit
 * @param cacheKey `prompt_cache_key`; null: not sent
 */
export function toWire(
  modelId: string,
  original: ModelRequest,
  outputTokensMax: number | null,
  accepts = acceptsAll,
  cacheKey: string | null = null,
): string {
  const withIds = accepts.ids ? original : withOwnIds(original);
  const request = accepts.system ? withIds : withoutSystem(withIds);
  const messages = messagesOf(request, {
    ...callWire,
    noText: accepts.noText,
    sendsExtra: accepts.extra,
  });
  const limit = outputLimitOf(request, outputTokensMax);
  const limitField =
    limit === null ? {} : { [accepts.limitField]: Math.min(limit, accepts.limitMax) };
  return JSON.stringify({
    model: modelId,
    messages: accepts.thinking ? messages.map(withThinking) : messages,
    ...toolFields(request, accepts),
    ...limitField,
    ...streamFields(request, accepts.usage),
    ...(cacheKey !== null && { prompt_cache_key: cacheKey }),
  });
}

function withoutSystem({ system, ...request }: ModelRequest): ModelRequest {
  const first = system === null ? [] : [{ role: 'user', text: system } as const];
  return { ...request, system: null, lines: [...first, ...request.lines] };
}

function withOwnIds(request: ModelRequest): ModelRequest {
  const ownIds = new Map<string, string>();
  let count = 0;
  const renamed = (call: ToolCall): ToolCall => {
    const id = madeCallId(++count);
    ownIds.set(call.id, id);
    return { ...call, id };
  };
  const lines = request.lines.map((line) => {
    // Ids of a client may come again in a later line of calls.
    if (line.role === 'calls') return { ...line, calls: line.calls.map(renamed) };
    if (line.role !== 'result') return line;
    const id = ownIds.get(line.call.id);
    return { ...line, call: id === undefined ? renamed(line.call) : { ...line.call, id } };
  });
  return { ...request, lines };
}

/** Bedrock and LiteLLM need the tools in every request that contains a result of a tool. */
function toolFields(request: ModelRequest, accepts: Accepts): object {
  const { mayCall = true, toolChoice } = request;
  if (request.tools.length === 0) return toolsOf(request);
  if (!mayCall && !accepts.toolChoice) return {};
  const forced = mayCall && accepts.forcesCalls ? toolChoice : undefined;
  return {
    ...toolsOf(accepts.forcesCalls ? request : { tools: chosenTools(request) }),
    ...(!mayCall && { tool_choice: 'none' }),
    ...(forced !== undefined && { tool_choice: choiceOf(forced) }),
    ...(!accepts.thinksWithTools && { reasoning_effort: 'none' }),
  };
}

function choiceOf(choice: ToolChoice): unknown {
  return choice === 'required' ? choice : { type: 'function', function: { name: choice.name } };
}

function withThinking(message: object): object {
  const { role } = message as { role?: unknown };
  if (role !== 'assistant' || 'reasoning_content' in message) return message;
  return { ...message, reasoning_content: '' };
}

function streamFields({ onText }: ModelRequest, hasUsage: boolean): object {
  if (onText === undefined) return { stream: false };
  return { stream: true, ...(hasUsage && { stream_options: { include_usage: true } }) };
}

/** Arguments are a JSON text, and a result has the id of its call. */
const callWire: CallWire = {
  call: ({ id, name, arguments: args, extra }, sendsExtra) => {
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
    const ownFields = sendsExtra ? extra : undefined;
    const calledFunction = { ...ownFields?.function, name, arguments: text };
    return { ...ownFields?.call, id, type: 'function', function: calledFunction };
  },
  result: ({ id }) => ({ tool_call_id: id }),
  withPictures: (text, pictures) => ({
    content: [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...pictures.map((one) => {
        const url = `data:${one.type};base64,${base64Of(one)}`;
        return { type: 'image_url', image_url: { url } };
      }),
    ],
  }),
  noText: null,
  sendsExtra: true,
};

/**
 * Parses an answer.
 * @param retryAfterMs the wait that the answer requests; null: none
 * @param tools the tools that the model could call
 */
export function fromWire(
  status: number,
  body: string,
  retryAfterMs: number | null,
  tools: readonly ToolNotice[],
): Parsed {
  const read = parseJson(body) ?? (status === 200 ? unaskedStream(body) : undefined);
  const root = recordOf(Array.isArray(read) ? (read as unknown[])[0] : read);
  const reported = recordOf(root?.['usage']);
  const { prompt_tokens: input, completion_tokens: output, total_tokens: all } = reported ?? {};
  const usage = usageOf(root, input, output, all);
  const choice = recordOf(listOf(root?.['choices'])[0]);
  const error = root?.['error'] || choice?.['error'];
  const message = recordOf(choice?.['message']);
  if (status !== 200 || error || message === null) {
    const { words, code } = errorIn(choice?.['error'] ? JSON.stringify(choice) : body);
    const isError = status !== 200 || Boolean(error) || (root !== null && words !== '');
    if (!isError) return failed('malformed_answer', { status });
    // Some answer 200, with the real status in the error's code.
    const real = status !== 200 ? status : (code ?? 500);
    return { kind: 'failed', failure: failureOf(real, words, retryAfterMs), usage };
  }
  return answerOf(contentOf(message['content']) || textOf(message['refusal']), {
    calls: callsOf(callsIn(message)),
    tools,
    usage,
    endedBy: endReason(choice),
    extra: extraOf(message, ownLineFields),
  });
}

/** OpenRouter reports the model's own reason beside the finish reason `error`. */
function endReason(choice: Readonly<Record<string, unknown>> | null): EndedBy | null {
  const end = endedBy(textOf(choice?.['finish_reason']));
  if (end !== 'failed') return end;
  return endedBy(textOf(choice?.['native_finish_reason'])) ?? end;
}

/** Some servers still send the older `function_call`, which has one call, and not `tool_calls`. */
function callsIn(message: Readonly<Record<string, unknown>>): unknown {
  const { tool_calls: calls, function_call: older } = message;
  if (listOf(calls).length > 0 || recordOf(older) === null) return calls;
  return [{ function: older }];
}

/** Some stream without a request for it: as events, or as a JSON object in each line. */
function unaskedStream(body: string): unknown {
  const chunks = new Chunks();
  let event: string | undefined;
  for (const line of body.split(/\r?\n|\r/)) {
    if (line.startsWith('event:')) event = line.slice('event:'.length).trim();
    const data = /^(?:data:\s*|(?=\{))(.+)$/.exec(line)?.[1];
    if (data === undefined) continue;
    chunks.take(data, event);
    event = undefined;
  }
  const end = chunks.end();
  return end.kind === 'whole' ? parseJson(end.body) : undefined;
}

/** The accepted parts after this refusal of a request; null: the refusal teaches nothing. */
export function adapted(
  accepts: Accepts,
  request: ModelRequest,
  answer: { readonly status: number; readonly body: string },
): Accepts | null {
  const { status, body } = answer;
  const { words } = errorIn(body);
  const namesTools = request.mayCall === false && request.tools.length > 0;
  // OpenRouter answers 404: no endpoint accepts it.
  if (accepts.toolChoice && namesTools && words.includes('tool_choice')) {
    return { ...accepts, toolChoice: false };
  }
  // Models that think take no forced call: DashScope and DeepSeek (eino#994).
  const isForced = request.tools.length > 0 && !namesTools && request.toolChoice !== undefined;
  if (accepts.forcesCalls && isForced && /tool[_ ]choice/i.test(words)) {
    return { ...accepts, forcesCalls: false };
  }
  // llama.cpp and others answer 500 when a chat template refuses a line.
  if (status !== 400 && status !== 422 && status !== 500) return null;
  if (accepts.system && request.system !== null && errorWords.noSystem.test(words)) {
    return { ...accepts, system: false };
  }
  if (accepts.ids && errorWords.badId.test(words) && hasCalls(request)) {
    return { ...accepts, ids: false };
  }
  if (status === 500) return null;
  if (accepts.noText === null && errorWords.noNull.test(words) && hasCalls(request)) {
    return { ...accepts, noText: '' };
  }
  if (accepts.limitField === 'max_tokens' && wantsOtherLimit(status, body)) {
    return { ...accepts, limitField: 'max_completion_tokens' };
  }
  const largestLimit = Number(limitTooLarge.exec(words)?.[1] ?? 0);
  if (accepts.limitMax === Infinity && largestLimit > 0)
    return { ...accepts, limitMax: largestLimit };
  if (accepts.usage && request.onText !== undefined && namesUsage.test(words)) {
    return { ...accepts, usage: false };
  }
  if (accepts.thinksWithTools && request.tools.length > 0 && noThinkingWithTools.test(words)) {
    return { ...accepts, thinksWithTools: false };
  }
  const hasLines = request.lines.some(({ role }) => role === 'assistant' || role === 'calls');
  if (!accepts.thinking && hasLines && wantsThinkingBack.test(words)) {
    return { ...accepts, thinking: true };
  }
  if (accepts.extra && extraKeys(request).some((key) => words.includes(key))) {
    return { ...accepts, extra: false };
  }
  return null;
}

function hasCalls({ lines }: ModelRequest): boolean {
  return lines.some(({ role }) => role === 'calls');
}

const namesUsage = /stream_options|include_usage/;
/** OpenAI's words for GPT-5.6 and GPT-6, which think unless a request says not to. */
const noThinkingWithTools = /tools with reasoning_effort/i;

function extraKeys({ lines }: ModelRequest): readonly string[] {
  return lines.flatMap((line) => {
    if (line.role !== 'calls') return [];
    const ofCalls = line.calls.flatMap(({ extra }) =>
      extra === undefined ? [] : [...Object.keys(extra.call), ...Object.keys(extra.function)],
    );
    return [...Object.keys(line.extra ?? {}), ...ofCalls];
  });
}

/**
 * Whether the model accepts its limit only in the second field. Format: OpenAI sends
 * `unsupported_parameter` with `param`; others write it only in the message.
 */
function wantsOtherLimit(status: number, body: string): boolean {
  if (status !== 400) return false;
  const error = recordOf(recordOf(parseJson(body))?.['error']);
  const isNamed = error?.['code'] === 'unsupported_parameter' && error['param'] === 'max_tokens';
  return isNamed || /max_tokens.+max_completion_tokens/s.test(errorIn(body).words);
}

/**
 * Whether the provider refuses to stream, for this model or for this account. Only for answers to a
 * request with a stream.
 */
export function refusesStream(status: number, body: string): boolean {
  if (status !== 400 && status !== 422 && status !== 501) return false;
  const error = recordOf(recordOf(parseJson(body))?.['error']);
  return error?.['param'] === 'stream' || /\bstream(?:ing|ed)?\b/i.test(body.slice(0, 4_000));
}

/** Whether the provider answers only with a stream. */
export function wantsStream(status: number, body: string): boolean {
  return status === 400 && errorWords.onlyStreams.test(errorIn(body).words);
}

/**
 * Looks for a model in the list of `GET /models`; null: it is no list. `others`: if the model is
 * missing, the names of those that are there. Gemini writes `models/` before each name.
 */
export function findModel(
  body: string,
  modelId: string,
): { readonly hasModel: boolean; readonly others: readonly string[] } | null {
  const data = recordOf(parseJson(body))?.['data'];
  if (!Array.isArray(data)) return null;
  const ids = data.map((item) => textOf(recordOf(item)?.['id']));
  const hasModel = ids.some((id) => id === modelId || id === `models/${modelId}`);
  const others = hasModel ? [] : modelNamesOf(ids.map((id) => id.replace(/^models\//, '')));
  return { hasModel, others };
}

/**
 * Whether a model has vision by the list of `GET /models`; null: the list does not show it. Routers
 * have `architecture.input_modalities`, others `modalities` or a capability.
 */
export function seesBy(body: string, modelId: string): boolean | null {
  const data = listOf(recordOf(parseJson(body))?.['data']).map(recordOf);
  const model = data.find((one) => one?.['id'] === modelId || one?.['id'] === `models/${modelId}`);
  if (model == null) return null;
  const inputs = [recordOf(model['architecture'])?.['input_modalities'], model['input_modalities']];
  const modalities = inputs.find((one) => Array.isArray(one));
  if (modalities !== undefined) return (modalities as unknown[]).includes('image');
  const capabilities = model['capabilities'];
  if (Array.isArray(capabilities)) {
    return capabilities.some((one) => one === 'vision' || one === 'multimodal');
  }
  const vision = recordOf(capabilities)?.['vision'];
  return typeof vision === 'boolean' ? vision : null;
}

type Fields = Readonly<Record<string, unknown>>;
type Call = {
  id: string;
  name: string;
  arguments: string;
  extra: Fields;
  functionExtra: Fields;
};

/**
 * Collects the chunks of a streamed answer into the form without streaming.
 * Format: OpenAI chat completions, platform.openai.com/docs/api-reference/chat-streaming.
 */
export class Chunks {
  text = '';
  /** The server sends the model's thinking in a field of its own. */
  hasOwnThinking = false;
  #refusal = '';
  readonly #calls: Call[] = [];
  /** The newest call of each index. */
  readonly #atIndex = new Map<number, Call>();
  #count = 0;
  #isDone = false;
  #reason = '';
  #nativeReason: unknown;
  #extra: Fields = {};
  #usage: Fields | undefined;
  #timings: unknown;
  #error: unknown;

  /**
   * Adds one event.
   * @param event the event's name; absent: it has none
   */
  take(data: string, event?: string): void {
    this.#count++;
    if (data.trim() === '[DONE]') {
      this.#isDone = true;
      return;
    }
    const read = parseJson(data);
    const root = recordOf(read);
    if (root === null) {
      if (event === 'error' || /^\s*error\b/i.test(data)) this.#error = data;
      return;
    }
    if (root['error'] || event === 'error') this.#error = root['error'] ?? root;
    const choice = recordOf(listOf(root['choices'])[0]);
    // Kimi sends the usage in the choice (pi#2017).
    const usage = recordOf(root['usage']) ?? recordOf(choice?.['usage']);
    if (usage !== null) this.#usage = mergedUsage(this.#usage, usage);
    this.#timings = root['timings'] ?? this.#timings;
    if (choice === null) return this.#takeWithoutChoice(root);
    if (choice['error']) this.#error = choice['error'];
    const reason = textOf(choice['finish_reason']);
    if (reason !== '') [this.#isDone, this.#reason] = [true, reason];
    this.#nativeReason ??= choice['native_finish_reason'];
    const delta = recordOf(choice['delta']) ?? recordOf(choice['message']);
    this.text += contentOf(delta?.['content']);
    this.#refusal += textOf(delta?.['refusal']);
    const extra = extraOf(delta, ownLineFields);
    if (extra !== undefined) {
      this.hasOwnThinking ||= Object.keys(extra).some((key) => /reason|think/i.test(key));
      this.#extra = merged(this.#extra, extra as Fields);
    }
    for (const one of listOf(delta?.['tool_calls'])) this.#takeCall(one);
    const older = recordOf(delta?.['function_call']);
    if (older !== null) this.#takeCall({ function: older });
  }

  end(): StreamEnd {
    if (this.#error !== undefined) return wholeOf({ error: this.#error, usage: this.#usage });
    if (this.#count === 0) return { kind: 'plain' };
    if (!this.#isDone) return { kind: 'cut' };
    const calls = this.#calls.map((call) => {
      const { id, name, arguments: args, extra, functionExtra } = call;
      return {
        ...extra,
        id,
        type: 'function',
        function: { ...functionExtra, name, arguments: args },
      };
    });
    const message = {
      ...this.#extra,
      role: 'assistant',
      content: this.text,
      refusal: this.#refusal,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
    const reasons = { finish_reason: this.#reason, native_finish_reason: this.#nativeReason };
    return wholeOf({
      choices: [{ message, ...reasons }],
      usage: this.#usage,
      timings: this.#timings,
    });
  }

  /** Some send an error as an ordinary event: `{"object": "error", "message": …}`. */
  #takeWithoutChoice(root: Fields): void {
    if (root['object'] === 'error' || 'detail' in root) this.#error = root;
  }

  /**
   * Adds a part of a call, because its arguments come in parts. `index` is the number of the call.
   * Some servers leave it out, or use one number for all calls. Some give the arguments a number of
   * their own (dirac#215).
   */
  #takeCall(one: unknown): void {
    const fields = recordOf(one);
    const calledFunction = recordOf(fields?.['function']);
    const part = {
      id: textOf(fields?.['id']),
      name: textOf(calledFunction?.['name']),
      arguments: argumentsOf(calledFunction?.['arguments']),
    };
    const index = fields?.['index'];
    const last = this.#calls.at(-1);
    const isNamed = part.name !== '' || part.id !== '';
    const known = typeof index === 'number' ? this.#atIndex.get(index) : last;
    let call = known ?? (isNamed ? undefined : last);
    if (call === undefined || beginsAnother(call, part)) {
      call = { id: '', name: '', arguments: '', extra: {}, functionExtra: {} };
      this.#calls.push(call);
    }
    if (typeof index === 'number') this.#atIndex.set(index, call);
    call.id ||= part.id;
    call.name ||= part.name;
    call.arguments += part.arguments;
    call.extra = merged(call.extra, extraOf(fields, ownCallFields) as Fields);
    call.functionExtra = merged(
      call.functionExtra,
      extraOf(calledFunction, ownFunctionFields) as Fields,
    );
  }
}

/**
 * Whether a part belongs to another call than the one under its index (ollama#15457, dynamo#4723).
 * Some servers repeat id and name in each part (SillyTavern#5948), or change only the id (pool#9).
 */
function beginsAnother(call: Call, part: Pick<Call, 'id' | 'name' | 'arguments'>): boolean {
  if (call.name === '' || part.name === '') return false;
  if (call.id !== '' && part.id !== '') return call.id !== part.id;
  if (call.name !== part.name) return true;
  return part.arguments.startsWith('{') && recordOf(parseJson(call.arguments)) !== null;
}

/**
 * Merges reported usage. Some servers repeat it in every chunk, and the last one is the total.
 * Others send some of its fields in each chunk (Portkey, for Anthropic's models on Vertex), or 0 at
 * the end (llmio#71).
 */
function mergedUsage(before: Fields | undefined, more: Fields): Fields {
  if (before === undefined) return more;
  const reported = Object.entries(more).filter(([key, value]) => value || !(key in before));
  return { ...before, ...Object.fromEntries(reported) };
}

/** Some servers send the arguments as one object. */
function argumentsOf(args: unknown): string {
  return typeof args === 'object' && args !== null ? JSON.stringify(args) : textOf(args);
}

/** Joins texts and lists; for other values the last one counts. */
function merged(before: Fields, more: Fields | undefined): Fields {
  if (more === undefined) return before;
  const all: Record<string, unknown> = { ...before };
  for (const [key, value] of Object.entries(more)) {
    const known = before[key];
    if (typeof known === 'string' && typeof value === 'string') all[key] = known + value;
    else if (Array.isArray(known) && Array.isArray(value)) all[key] = joinedLists(known, value);
    else all[key] = value;
  }
  return all;
}

/**
 * Joins the parts of one thought into one entry. Format: `reasoning_details`,
 * openrouter.ai/docs/use-cases/reasoning-tokens.
 */
function joinedLists(known: readonly unknown[], more: readonly unknown[]): readonly unknown[] {
  const all = [...known];
  for (const one of more) {
    const last = recordOf(all.at(-1));
    const next = recordOf(one);
    const isSame =
      last !== null &&
      next !== null &&
      last['type'] === next['type'] &&
      last['index'] === next['index'] &&
      next['index'] !== undefined;
    if (!isSame) all.push(one);
    else {
      const joined = { ...last, ...next };
      for (const key of ['text', 'summary', 'data']) {
        if (key in next || key in last) joined[key] = textOf(last[key]) + textOf(next[key]);
      }
      all[all.length - 1] = joined;
    }
  }
  return all;
}
