/**
 * The local runtime's JSON.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
import { endedBy, errorWords, ownLineFields } from '../../../domain/model-habits.ts';
import { errorIn, failureOf } from '../errors.ts';
import { listOf, parseJson, recordOf, textOf } from '../../../lib/json.ts';
import {
  answerOf,
  base64Of,
  callable,
  callsOf,
  chosenTools,
  extraOf,
  failed,
  messagesOf,
  modelNamesOf,
  toolsOf,
  usageOf,
  type CallWire,
  type Parsed,
} from '../parsing.ts';
import { outputLimitOf, type ContextSizes, type ModelRequest } from '../model.ts';
import type { ToolNotice } from '../../../domain/completion.ts';
import { wholeOf, type AnswerStream, type StreamEnd } from '../streaming.ts';

/**
 * The body of `POST /api/chat`. Without the field `stream` the runtime would stream. Without
 * `truncate` and `shift` as false it would silently drop the oldest lines of a long conversation.
 * @param outputTokensMax as configured; null: the runtime's default
 * @param sendsThink whether to send `think: false`; some models refuse the field
 * @param contextTokens null: the runtime's default. Every request has it, because a request with
 *   another `num_ctx`, or without it, makes Ollama load the model again (ollama#11409).
 */
export function toWire(
  modelId: string,
  request: ModelRequest,
  outputTokensMax: number | null,
  sendsThink = true,
  contextTokens: number | null = null,
): string {
  const outputLimit = outputLimitOf(request, outputTokensMax);
  const options = {
    ...(outputLimit !== null && { num_predict: outputLimit }),
    ...(contextTokens !== null && { num_ctx: contextTokens }),
  };
  return JSON.stringify({
    model: modelId,
    messages: messagesOf(request, callWire),
    // The format cannot name tools that the model may not call, or a tool that it has to call:
    // ollama#11171, and ollama-python#671 about Ollama 0.32.
    ...toolsOf({ tools: callable({ ...request, tools: chosenTools(request) }) }),
    stream: request.onText !== undefined,
    ...(sendsThink && { think: false }),
    truncate: false,
    shift: false,
    ...(Object.keys(options).length > 0 && { options }),
  });
}

/** Arguments are an object, and a result has the name of its tool. */
const callWire: CallWire = {
  call: ({ name, arguments: args, extra }) => ({
    ...extra?.call,
    function: { ...extra?.function, name, arguments: argumentsOf(args) },
  }),
  result: ({ name }) => ({ tool_name: name }),
  withPictures: (content, pictures) => ({ content, images: pictures.map(base64Of) }),
  noText: '',
  sendsExtra: true,
};

function argumentsOf(args: unknown): object {
  return recordOf(typeof args === 'string' ? parseJson(args) : args) ?? {};
}

/** Whether the runtime refused the request for its field `think`. */
export function refusesThink(status: number, body: string): boolean {
  return status === 400 && errorWords.noThinking.test(errorIn(body).words);
}

/** The parsed answer, and whether it names a vendor to which the runtime relayed the request. */
export type ChatAnswer = { readonly parsed: Parsed; readonly namesVendor: boolean };

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
): ChatAnswer {
  const root = recordOf(parseJson(body) ?? (status === 200 ? unaskedStream(body) : undefined));
  const parsed = parsedOf(root, { status, body, retryAfterMs, tools });
  return { parsed, namesVendor: namesVendor(root) };
}

/** Some stream without a request for it. */
function unaskedStream(body: string): unknown {
  const stream = new LocalStream();
  stream.push(body);
  const end = stream.end();
  return end.kind === 'whole' ? parseJson(end.body) : undefined;
}

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly retryAfterMs: number | null;
  readonly tools: readonly ToolNotice[];
};

function parsedOf(
  root: Readonly<Record<string, unknown>> | null,
  { status, body, retryAfterMs, tools }: Answer,
): Parsed {
  const usage = usageOf(root, root?.['prompt_eval_count'], root?.['eval_count']);
  if (status !== 200 || root?.['error']) {
    const { words } = errorIn(status === 200 ? JSON.stringify(root) : body);
    const real = status === 200 ? 500 : status;
    return { kind: 'failed', failure: failureOf(real, words, retryAfterMs), usage };
  }
  if (root === null) return failed('malformed_answer', { status });
  const message = recordOf(root['message']);
  if (message === null || root['done'] === false) return failed('malformed_answer', { status });
  return answerOf(textOf(message['content']), {
    calls: callsOf(message['tool_calls']),
    tools,
    usage,
    endedBy: endedBy(textOf(root['done_reason'])),
    extra: extraOf(message, ownLineFields),
  });
}

/** `others`: if the runtime lacks this model, the names of those that it has. */
export type FoundTag = {
  readonly hasModel: boolean;
  readonly namesVendor: boolean;
  readonly others: readonly string[];
};

/** The entry of one model in `GET /api/tags`; null: it is no list of models. */
export function findTag(body: string, modelId: string): FoundTag | null {
  const models = recordOf(parseJson(body))?.['models'];
  if (!Array.isArray(models)) return null;
  const wanted = plainName(modelId);
  const all = listOf(models).map(recordOf);
  const found = all.filter((model) => {
    return [model?.['name'], model?.['model']].some((name) => plainName(textOf(name)) === wanted);
  });
  const hasModel = found.length > 0;
  const others = hasModel ? [] : modelNamesOf(all.map((model) => model?.['name']));
  return { hasModel, namesVendor: found.some(namesVendor), others };
}

/**
 * Whether `POST /api/show` names a vendor to which the runtime relays (`remote_host`,
 * `remote_model`: docs/api.md of github.com/ollama/ollama); null: the body is no JSON object.
 */
export function vendorShownBy(body: string): boolean | null {
  const root = recordOf(parseJson(body));
  return root === null ? null : namesVendor(root);
}

/** Whether a model has vision by `POST /api/show`; null: the answer does not show it. */
export function seesBy(body: string): boolean | null {
  const capabilities = recordOf(parseJson(body))?.['capabilities'];
  return Array.isArray(capabilities) ? capabilities.includes('vision') : null;
}

/**
 * The context of a model by `POST /api/show` and `GET /api/ps`. The first has the model's largest
 * context in `model_info`, and the default of its file in `parameters`, a text of lines. Since
 * Ollama 0.10, the second has the `context_length` of each loaded model (ollama#11331).
 * @param shown the body of `/api/show`; null: no answer
 * @param running the body of `/api/ps`; null: no answer
 * @returns null if neither shows anything, or if a vendor runs the model
 */
export function contextBy(
  shown: string | null,
  running: string | null,
  modelId: string,
): ContextSizes | null {
  const model = recordOf(parseJson(shown ?? ''));
  const list = recordOf(parseJson(running ?? ''))?.['models'];
  if (namesVendor(model) || (model === null && !Array.isArray(list))) return null;
  const info = recordOf(model?.['model_info']);
  const largest = info?.[`${textOf(info['general.architecture'])}.context_length`];
  const set = /^num_ctx[ \t]+(\d{1,9})\b/m.exec(textOf(model?.['parameters']))?.[1];
  const loaded = listOf(list)
    .map(recordOf)
    .find((one) => plainName(textOf(one?.['name'])) === plainName(modelId));
  return {
    isLoaded: loaded !== undefined,
    loaded: tokensOf(loaded?.['context_length']),
    set: tokensOf(Number(set)),
    most: tokensOf(largest),
  };
}

const tokensOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;

/** The runtime omits both fields if it runs the model itself, so one of them is enough. */
export function namesVendor(record: Readonly<Record<string, unknown>> | null): boolean {
  return record !== null && ('remote_host' in record || 'remote_model' in record);
}

/**
 * The name in the runtime's normal form. Case, the default registry and its library do not matter.
 * A name without a tag means the tag `latest`. A colon before the last slash belongs to no tag.
 */
function plainName(name: string): string {
  const [bare = ''] = name.toLowerCase().split('@');
  const short = bare.trim().replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/, '');
  return short.slice(short.lastIndexOf('/') + 1).includes(':') ? short : `${short}:latest`;
}

/**
 * Collects a streamed answer of the local runtime: a JSON object in each line, the last with
 * `done`. Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
export class LocalStream implements AnswerStream {
  text = '';
  /** The server sends the model's thinking in a field of its own. */
  hasOwnThinking = false;
  #thinking = '';
  #extra: object = {};
  #line = '';
  #last: Readonly<Record<string, unknown>> = {};
  readonly #calls: unknown[] = [];
  #isDone = false;
  #error: unknown;

  /** The fields of the lines so far; the last value of each counts. */
  get fields(): Readonly<Record<string, unknown>> {
    return this.#last;
  }

  push(text: string): void {
    const [first = '', ...lines] = text.split('\n');
    this.#line += first;
    for (const line of lines) {
      this.#take(this.#line);
      this.#line = line;
    }
  }

  end(): StreamEnd {
    this.#take(this.#line);
    this.#line = '';
    if (this.#error !== undefined) return wholeOf({ ...this.#last, error: this.#error });
    if (!this.#isDone) return { kind: Object.keys(this.#last).length === 0 ? 'plain' : 'cut' };
    const message = {
      ...this.#extra,
      ...(this.hasOwnThinking && { thinking: this.#thinking }),
      role: 'assistant',
      content: this.text,
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
    return wholeOf({ ...this.#last, message });
  }

  #take(line: string): void {
    const root = recordOf(parseJson(line.replace(/^data:/, '')));
    if (root === null) return;
    // A vendor that any line names stays in the fields.
    this.#last = { ...this.#last, ...root };
    // For a call that the runtime cannot parse, the words of the error are the key (ollama#11781).
    const errorEntry = Object.entries(root).find(([key]) => key.startsWith('error '));
    if (root['error'] || errorEntry) this.#error = root['error'] ?? errorEntry!.join(': ');
    if (root['done'] === true) this.#isDone = true;
    const message = recordOf(root['message']);
    this.text += textOf(message?.['content']);
    this.#extra = { ...this.#extra, ...extraOf(message, ownLineFields) };
    const thinking = textOf(message?.['thinking']);
    this.#thinking += thinking;
    this.hasOwnThinking ||= thinking !== '';
    // One by one, because a spread has a limit on the number of arguments.
    for (const call of listOf(message?.['tool_calls'])) this.#calls.push(call);
  }
}
