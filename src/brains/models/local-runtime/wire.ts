/**
 * The local runtime's JSON.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
import { endedBy, errorWords, ownLineFields } from '../../../domain/model-habits.ts';
import { errorIn, failureOf } from '../errors.ts';
import { listOf, parseJson, recordOf, textOf } from '../json.ts';
import {
  answerOf,
  base64Of,
  callable,
  callsOf,
  extraOf,
  failed,
  messagesOf,
  toolsOf,
  usageOf,
  type CallWire,
  type Parsed,
} from '../parsing.ts';
import type { ContextSeen, ModelRequest, ToolNotice } from '../model.ts';
import { wholeOf, type AnswerStream, type StreamEnd } from '../streaming.ts';

/**
 * The body of `POST /api/chat`. Without `stream` it would stream; without `truncate` and
 * `shift` false it would silently forget the oldest lines of a long conversation.
 * @param outputTokensMax null: as the runtime has it
 * @param saysThink that the model shall not think; false: it takes no word on that
 * @param contextTokens null: as the runtime has it. It goes with every request: one with another
 *   `num_ctx`, or without it, makes Ollama load the model again (ollama#11409).
 */
export function toWire(
  modelId: string,
  request: ModelRequest,
  outputTokensMax: number | null,
  saysThink = true,
  contextTokens: number | null = null,
): string {
  const options = {
    ...(outputTokensMax !== null && { num_predict: outputTokensMax }),
    ...(contextTokens !== null && { num_ctx: contextTokens }),
  };
  return JSON.stringify({
    model: modelId,
    messages: messagesOf(request, callWire),
    // It knows no way to name tools that are not to be called.
    ...toolsOf({ tools: callable(request) }),
    stream: request.onText !== undefined,
    ...(saysThink && { think: false }),
    truncate: false,
    shift: false,
    ...(Object.keys(options).length > 0 && { options }),
  });
}

/** Arguments go as an object, and a result names its tool. */
const callWire: CallWire = {
  call: ({ name, arguments: given, extra }) => ({
    ...extra?.call,
    function: { ...extra?.function, name, arguments: argumentsOf(given) },
  }),
  result: ({ name }) => ({ tool_name: name }),
  shown: (content, pictures) => ({ content, images: pictures.map(base64Of) }),
  noText: '',
  sendsExtra: true,
};

function argumentsOf(given: unknown): object {
  return recordOf(typeof given === 'string' ? parseJson(given) : given) ?? {};
}

/** Whether the request is refused for its word on thinking. */
export function refusesThink(status: number, body: string): boolean {
  return status === 400 && errorWords.noThinking.test(errorIn(body).words);
}

/** What an answer says, and whether it names a vendor that the runtime asked. */
export type ChatAnswer = { readonly parsed: Parsed; readonly namesVendor: boolean };

/**
 * @param retryAfterMs what the answer's header asks us to wait
 * @param tools what could be called
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

/** Some stream though they were not asked to. */
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

/** `others`: names of models that it has, where it lacks this one. */
export type FoundTag = {
  readonly hasModel: boolean;
  readonly namesVendor: boolean;
  readonly others: readonly string[];
};

const othersMax = 50;
const nameCharactersMax = 200;

/** What `GET /api/tags` says of one model; null when it is no list of models. */
export function findTag(body: string, modelId: string): FoundTag | null {
  const models = recordOf(parseJson(body))?.['models'];
  if (!Array.isArray(models)) return null;
  const wanted = plainName(modelId);
  const all = listOf(models).map(recordOf);
  const found = all.filter((model) => {
    return [model?.['name'], model?.['model']].some((name) => plainName(textOf(name)) === wanted);
  });
  const hasModel = found.length > 0;
  return { hasModel, namesVendor: found.some(namesVendor), others: hasModel ? [] : namesOf(all) };
}

function namesOf(models: readonly (Readonly<Record<string, unknown>> | null)[]): string[] {
  return models
    .map((model) => textOf(model?.['name']))
    .filter((name) => name !== '' && name.length <= nameCharactersMax)
    .slice(0, othersMax);
}

/**
 * Whether `POST /api/show` names a vendor that the runtime asks (`remote_host`, `remote_model`:
 * docs/api.md of github.com/ollama/ollama); null: it cannot be read.
 */
export function vendorShownBy(body: string): boolean | null {
  const root = recordOf(parseJson(body));
  return root === null ? null : namesVendor(root);
}

/** What `POST /api/show` says of a model's sight; null: it does not say. */
export function seesBy(body: string): boolean | null {
  const told = recordOf(parseJson(body))?.['capabilities'];
  return Array.isArray(told) ? told.includes('vision') : null;
}

/**
 * What a model's context is by `POST /api/show` and `GET /api/ps`. The first has what the model was
 * made for in `model_info`, and what its file sets in `parameters`, a text of lines. The second has
 * `context_length` of each loaded model since Ollama 0.10 (ollama#11331).
 * @param shown null: it was not answered; so with `running`
 * @returns null: neither says anything, or a vendor runs the model
 */
export function contextBy(
  shown: string | null,
  running: string | null,
  modelId: string,
): ContextSeen | null {
  const model = recordOf(parseJson(shown ?? ''));
  const list = recordOf(parseJson(running ?? ''))?.['models'];
  if (namesVendor(model) || (model === null && !Array.isArray(list))) return null;
  const info = recordOf(model?.['model_info']);
  const made = info?.[`${textOf(info['general.architecture'])}.context_length`];
  const set = /^num_ctx[ \t]+(\d{1,9})\b/m.exec(textOf(model?.['parameters']))?.[1];
  const loaded = listOf(list)
    .map(recordOf)
    .find((one) => plainName(textOf(one?.['name'])) === plainName(modelId));
  return {
    isLoaded: loaded !== undefined,
    loaded: tokensOf(loaded?.['context_length']),
    set: tokensOf(Number(set)),
    most: tokensOf(made),
  };
}

const tokensOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : null;

/** The runtime leaves both fields away where it runs the model: that one is there is enough. */
export function namesVendor(record: Readonly<Record<string, unknown>> | null): boolean {
  return record !== null && ('remote_host' in record || 'remote_model' in record);
}

/**
 * The name as the runtime looks it up: case, the default registry and its library say nothing, and
 * a name without a tag means its `latest`; the slash of a namespace is no tag.
 */
function plainName(name: string): string {
  const [bare = ''] = name.toLowerCase().split('@');
  const short = bare.trim().replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?/, '');
  return short.slice(short.lastIndexOf('/') + 1).includes(':') ? short : `${short}:latest`;
}

/**
 * A streamed answer of the local runtime: a JSON object in each line, the last with `done`.
 * Format: the Ollama HTTP API, docs/api.md of github.com/ollama/ollama.
 */
export class LocalStream implements AnswerStream {
  said = '';
  /** The server tells the model's thinking apart from its text. */
  hasOwnThinking = false;
  #thinking = '';
  #extra: object = {};
  #line = '';
  #last: Readonly<Record<string, unknown>> = {};
  readonly #calls: unknown[] = [];
  #isDone = false;
  #error: unknown;

  /** The fields of its lines so far; of each the last counts. */
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
      content: this.said,
      ...(this.#calls.length > 0 && { tool_calls: this.#calls }),
    };
    return wholeOf({ ...this.#last, message });
  }

  #take(line: string): void {
    const root = recordOf(parseJson(line.replace(/^data:/, '')));
    if (root === null) return;
    // What one line says of a vendor stays said.
    this.#last = { ...this.#last, ...root };
    // Of a call that it cannot parse the words are the key (ollama#11781).
    const named = Object.entries(root).find(([key]) => key.startsWith('error '));
    if (root['error'] || named) this.#error = root['error'] ?? named!.join(': ');
    if (root['done'] === true) this.#isDone = true;
    const message = recordOf(root['message']);
    this.said += textOf(message?.['content']);
    this.#extra = { ...this.#extra, ...extraOf(message, ownLineFields) };
    const thinking = textOf(message?.['thinking']);
    this.#thinking += thinking;
    this.hasOwnThinking ||= thinking !== '';
    // One by one: a server may list more of them than a call takes arguments.
    for (const call of listOf(message?.['tool_calls'])) this.#calls.push(call);
  }
}
