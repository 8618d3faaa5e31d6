/**
 * The JSON of the completions API. A request becomes a `CompletionRequest` or a refusal; an
 * end becomes an answer, chunks of a stream, or an error. Pure. Format: OpenAI chat completions,
 * platform.openai.com/docs/api-reference/chat.
 *
 * svc refuses each field whose loss would make the answer wrong, and names it. It ignores fields
 * that tune a model (`temperature`, `seed`, …), since the configuration of the brain decides them.
 */
import { pictureTypes, picturesMax } from '../../domain/attachment.ts';
import type {
  CompletionEnd,
  CompletionRequest,
  GivenLine,
  ToolChoice,
  ToolNotice,
} from '../../domain/completion.ts';
import type { Decision } from '../../domain/decision.ts';
import { faultOfGivenId } from '../../domain/ids.ts';
import type { Media } from '../../domain/message.ts';
import { madeCallId, type ToolCall, type Usage } from '../../domain/outcome.ts';
import { isObject, parseJson, type Fields } from '../../lib/json.ts';
import type { ApiRefusal } from './api-frame.ts';

export type OfferedBrains = ReadonlyMap<string, { readonly isAgent: boolean }>;

/** A request as parsed, and what its answer needs. */
export type ParsedRequest = {
  readonly request: CompletionRequest;
  /** null: the client names none. */
  readonly user: string | null;
  readonly isStream: boolean;
  readonly includesUsage: boolean;
  /** The text ends before the first of these. */
  readonly stops: readonly string[];
  /** False: at most one call goes to the client. */
  readonly mayCallInParallel: boolean;
  /** The newest pictures, by the `file` of their media. */
  readonly pictures: Map<string, GivenPicture>;
};

/** `base64` is well-formed, without padding. */
export type GivenPicture = { readonly base64: string; readonly bytes: number };

const linesMax = 4_096;
const toolsMax = 128;
/** Some clients send more stops than the four of OpenAI: continuedev/continue#2461. */
const stopsMax = 32;
/** Each growing text is compared with each beginning of each stop. */
const stopCharactersMax = 256;
const picturesOfLineMax = 64;
/** Of all texts together, and of the newest user text, which svc keeps. */
const charactersMax = 4 * 1_048_576;
const newestCharactersMax = 1_048_576;
const depthMax = 64;

/** Ends the parsing with a refusal. */
class Refused extends Error {
  readonly refusal: ApiRefusal;

  constructor(refusal: ApiRefusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

function refuse(param: string, message: string, code: string | null = null): never {
  throw new Refused({ status: 400, code, message: `${param}: ${message}`, param });
}

const tooLong = (message: string): never => refuse('messages', message, 'context_length_exceeded');

/**
 * Reads a request's body.
 * @param key begins the `file` of each picture
 */
export function parseRequest(
  body: unknown,
  offered: OfferedBrains,
  key: string,
): ParsedRequest | ApiRefusal {
  try {
    return readRequest(body, offered, key);
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}

function readRequest(body: unknown, offered: OfferedBrains, key: string): ParsedRequest {
  if (!isObject(body)) {
    throw new Refused({ status: 400, code: null, message: 'The body has to be a JSON object.' });
  }
  const brain = text(body, 'model') ?? refuse('model', 'it is missing: name a brain');
  const offer = offered.get(brain);
  if (offer === undefined) throw new Refused(unknownModel(brain, offered));
  refuseUnsupported(body);
  const tools = readTools(body['tools'] ?? []);
  if (tools.length > 0 && offer.isAgent) {
    refuse('tools', `the brain "${brain}" is an agent with tools of its own; send none`);
  }
  const reader = new LineReader(key);
  const messages = list(body['messages'] ?? refuse('messages', 'it is missing'), 'messages');
  if (messages.length > linesMax) tooLong(`there are more than ${linesMax}`);
  messages.forEach((message, at) => reader.read(message, `messages.${at}`));
  const { lines, newest } = reader.end();
  const { toolChoice, mayCall } = readToolChoice(body['tool_choice'] ?? null, tools);
  const options = record(body['stream_options'] ?? {}, 'stream_options');
  return {
    request: {
      brain,
      lines,
      newest,
      system: reader.systems.length === 0 ? null : reader.systems.join('\n\n'),
      tools,
      mayCall,
      ...(toolChoice !== null && { toolChoice }),
      outputTokensMax: readTokensMax(body),
    },
    user: readUser(body),
    isStream: flag(body, 'stream') ?? false,
    includesUsage: flag(options, 'include_usage', 'stream_options.') ?? false,
    stops: readStops(body['stop'] ?? []),
    mayCallInParallel: flag(body, 'parallel_tool_calls') ?? true,
    pictures: reader.pictures,
  };
}

export function unknownModel(name: string, offered: OfferedBrains): ApiRefusal {
  const names = [...offered.keys()].map((one) => `"${one}"`).join(', ');
  const message = `There is no model "${name.slice(0, 100)}". The models are: ${names}.`;
  return { status: 404, code: 'model_not_found', message, param: 'model' };
}

/** Fields that would change the shape or the sense of the answer, and why svc refuses them. */
const unsupported: Readonly<Record<string, string>> = {
  functions: 'it is not supported; send tools',
  function_call: 'it is not supported; send tool_choice',
  audio: 'only text answers are supported',
  web_search_options: 'it is not supported',
};

function refuseUnsupported(body: Fields): void {
  for (const [name, why] of Object.entries(unsupported)) {
    const value = body[name] ?? [];
    const isAbsent = Array.isArray(value) && value.length === 0;
    if (!isAbsent) refuse(name, why, 'unsupported_parameter');
  }
  if ((body['n'] ?? 1) !== 1) refuse('n', 'only 1 answer is supported', 'unsupported_parameter');
  if (flag(body, 'logprobs') === true) {
    refuse('logprobs', 'it is not supported', 'unsupported_parameter');
  }
  const format = record(body['response_format'] ?? {}, 'response_format');
  if ((format['type'] ?? 'text') !== 'text') {
    const why = 'only the type "text" is supported; for JSON of a given form, send a tool';
    refuse('response_format', why, 'unsupported_parameter');
  }
  for (const one of list(body['modalities'] ?? [], 'modalities')) {
    if (one !== 'text') refuse('modalities', 'only "text" is supported', 'unsupported_parameter');
  }
}

function readUser(body: Fields): string | null {
  const user = text(body, 'user');
  if (user === null || user === '') return null;
  const fault = faultOfGivenId(user);
  return fault === null ? user : refuse('user', `it ${fault}`);
}

/** Some clients send 0 or -1 for no limit. */
function readTokensMax(body: Fields): number | null {
  const given = ['max_tokens', 'max_completion_tokens'].flatMap((name) => {
    const value = body[name] ?? 0;
    if (value === 0 || value === -1) return [];
    const isCount = Number.isSafeInteger(value) && (value as number) > 0;
    return isCount ? [value as number] : refuse(name, 'it has to be a whole number from 1 up');
  });
  return given.length === 0 ? null : Math.min(...given);
}

function readStops(value: unknown): readonly string[] {
  const stops = typeof value === 'string' ? [value] : list(value, 'stop');
  if (stops.length > stopsMax) refuse('stop', `it has more than ${stopsMax} texts`);
  return stops.flatMap((stop) => {
    if (typeof stop !== 'string') return refuse('stop', 'it has to be a text or a list of texts');
    if (stop.length > stopCharactersMax) {
      refuse('stop', `a text has more than ${stopCharactersMax} characters`);
    }
    return stop === '' ? [] : [stop];
  });
}

function readTools(value: unknown): readonly ToolNotice[] {
  const tools = list(value, 'tools');
  if (tools.length > toolsMax) refuse('tools', `there are more than ${toolsMax}`);
  const names = new Set<string>();
  return tools.map((tool, at) => {
    const path = `tools.${at}`;
    const { type, function: called } = record(tool, path);
    if ((type ?? 'function') !== 'function')
      refuse(`${path}.type`, 'only the type "function" is supported');
    const fields = record(called, `${path}.function`);
    const name = text(fields, 'name', `${path}.function.`) ?? '';
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      refuse(`${path}.function.name`, 'it has to be 1 to 64 letters, digits, "_" or "-"');
    }
    if (names.has(name)) refuse(`${path}.function.name`, 'another tool has this name');
    names.add(name);
    const place = `${path}.function.parameters`;
    const parameters = fields['parameters'] ?? { type: 'object', properties: {} };
    return {
      name,
      description: text(fields, 'description', `${path}.function.`) ?? '',
      parameters: shallow(record(parameters, place), place),
    };
  });
}

type Choice = { readonly toolChoice: ToolChoice | null; readonly mayCall: boolean };

function readToolChoice(value: unknown, tools: readonly ToolNotice[]): Choice {
  if (value === null || value === 'auto') return { toolChoice: null, mayCall: true };
  if (value === 'none') return { toolChoice: null, mayCall: false };
  if (tools.length === 0) refuse('tool_choice', 'it needs tools');
  if (value === 'required') return { toolChoice: 'required', mayCall: true };
  const name = isObject(value) && isObject(value['function']) ? value['function']['name'] : null;
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) {
    refuse('tool_choice', 'it has to be "none", "auto", "required" or the function of a tool');
  }
  return { toolChoice: { name: tool.name }, mayCall: true };
}

/** Reads the messages in their order. */
class LineReader {
  readonly systems: string[] = [];
  readonly #lines: GivenLine[] = [];
  /** The model's calls that have no result yet, by their ids. */
  readonly #open = new Map<string, ToolCall>();
  readonly pictures = new Map<string, GivenPicture>();
  readonly #key: string;
  #newest: { readonly at: number; readonly path: string } | null = null;
  /** The place of the last line of the user if it says nothing. */
  #blank: string | null = null;
  /** The last system text, and its place among the lines. */
  #lastSystem: { readonly at: number; readonly path: string } | null = null;
  #characters = 0;
  #pictureCount = 0;

  constructor(key: string) {
    this.#key = key;
  }

  end(): { readonly lines: readonly GivenLine[]; readonly newest: number } {
    this.#refuseOpen();
    if (this.#blank !== null) refuse(this.#blank, 'the newest message of the user is empty');
    if (this.#newest === null && this.#lastSystem !== null) {
      // Some clients give their instructions in system messages alone: the last one is the newest.
      this.#newest = this.#lastSystem;
      const said = { role: 'user', text: this.systems.pop()!, media: [] } as const;
      this.#lines.splice(this.#newest.at, 0, said);
    }
    if (this.#newest === null) refuse('messages', 'there is no message of the role "user"');
    const { at, path } = this.#newest;
    const line = this.#lines[at]!;
    if (line.role === 'user' && line.text.length > newestCharactersMax) {
      tooLong('the newest message of the user is too long');
    }
    if (line.role === 'user' && line.media.length > picturesMax) {
      refuse(`${path}.content`, `svc reads at most ${picturesMax} pictures of the newest message`);
    }
    return { lines: this.#lines, newest: at };
  }

  read(value: unknown, path: string): void {
    const message = record(value, path);
    const role = message['role'];
    if (role === 'tool') return this.#readResult(message, path);
    this.#refuseOpen();
    switch (role) {
      case 'system':
      case 'developer': {
        const given = this.#textOf(message['content'], path);
        if (given.trim() === '') return;
        this.systems.push(given);
        this.#lastSystem = { at: this.#lines.length, path };
        return;
      }
      case 'user':
        return this.#readUser(message, path);
      case 'assistant':
        return this.#readAssistant(message, path);
      case 'function':
        return refuse(`${path}.role`, 'it is not supported; send the role "tool"');
      default:
        return refuse(`${path}.role`, 'use system, developer, user, assistant or tool');
    }
  }

  #readUser(message: Fields, path: string): void {
    const media: Media[] = [];
    const given = this.#textOf(message['content'], path, (part, place) => {
      if (part['type'] !== 'image_url') return refusePart(part, place);
      if (media.length === picturesOfLineMax) {
        refuse(path, `it has more than ${picturesOfLineMax} pictures`);
      }
      media.push(this.#readPicture(part['image_url'], `${place}.image_url`));
      return null;
    });
    // Some providers refuse an empty line: HKUDS/nanobot#949.
    this.#blank = given.trim() === '' && media.length === 0 ? `${path}.content` : null;
    if (this.#blank !== null) return;
    this.#newest = { at: this.#lines.length, path };
    this.#lines.push({ role: 'user', text: given, media });
  }

  /** Only the newest pictures are kept, since svc reads no others. */
  #readPicture(value: unknown, path: string): Media {
    const isText = typeof value === 'string';
    const place = isText ? path : `${path}.url`;
    const url = isText ? value : record(value, path)['url'];
    if (typeof url !== 'string') return refuse(place, 'it has to be a text');
    const head = /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[^;,]*)*?;base64,/i.exec(url.slice(0, 100));
    if (head === null) {
      return refuse(place, 'svc fetches no address; send the picture as data:image/…;base64,…');
    }
    const type = head[1]!.toLowerCase().replace('/jpg', '/jpeg');
    if (!pictureTypes.has(type)) {
      return refuse(place, `svc reads no ${type}; send PNG, JPEG or GIF`);
    }
    // Some encoders break lines, and some write no padding.
    const base64 = url.slice(head[0].length).replace(/[\s=]+/g, '');
    if (base64.length % 4 === 1 || !/^[A-Za-z0-9+/]+$/.test(base64)) {
      return refuse(place, 'it is not valid base64');
    }
    const bytes = Math.floor((base64.length * 3) / 4);
    const file = `${this.#key}/${this.#pictureCount++}`;
    this.pictures.set(file, { base64, bytes });
    if (this.pictures.size > picturesMax) {
      for (const oldest of this.pictures.keys()) {
        this.pictures.delete(oldest);
        break;
      }
    }
    return { type, reference: 'picture', file, bytes };
  }

  #readAssistant(message: Fields, path: string): void {
    for (const name of ['audio', 'function_call']) {
      if ((message[name] ?? null) !== null) refuse(`${path}.${name}`, 'it is not supported');
    }
    const given = this.#textOf(message['content'], path, (part, place) => {
      if (part['type'] !== 'refusal') return refusePart(part, place);
      return text(part, 'refusal', `${place}.`) ?? '';
    });
    const said = given === '' ? (text(message, 'refusal', `${path}.`) ?? '') : given;
    const place = `${path}.tool_calls`;
    const calls = list(message['tool_calls'] ?? [], place);
    if (calls.length > toolsMax) refuse(place, `there are more than ${toolsMax}`);
    const read = calls.map((call, at) => this.#readCall(call, `${place}.${at}`));
    if (read.length > 0) this.#lines.push({ role: 'calls', text: said, calls: read });
    else if (said.trim() !== '') this.#lines.push({ role: 'assistant', text: said });
  }

  #readCall(value: unknown, path: string): ToolCall {
    const { id, type, function: called } = record(value, path);
    if (typeof id !== 'string' || id === '') return refuse(`${path}.id`, 'it has to be a text');
    if (this.#open.has(id)) return refuse(`${path}.id`, 'another call has this id');
    if ((type ?? 'function') !== 'function') {
      refuse(`${path}.type`, 'only the type "function" is supported');
    }
    const fields = record(called, `${path}.function`);
    const name = text(fields, 'name', `${path}.function.`);
    if (name === null || name === '') return refuse(`${path}.function.name`, 'it is missing');
    const given = fields['arguments'] ?? '{}';
    if (typeof given === 'string') this.#count(given);
    // A model may have written arguments that are no JSON. They go back as they came.
    const read = typeof given === 'string' ? (parseJson(given || '{}') ?? given) : given;
    const call = { id, name, arguments: shallow(read, `${path}.function.arguments`) };
    this.#open.set(id, call);
    return call;
  }

  #readResult(message: Fields, path: string): void {
    const id = text(message, 'tool_call_id', `${path}.`) ?? '';
    const call = this.#open.get(id);
    if (call === undefined) {
      return refuse(`${path}.tool_call_id`, 'no call before it waits for a result with this id');
    }
    this.#open.delete(id);
    this.#lines.push({ role: 'result', call, text: this.#textOf(message['content'], path) });
  }

  #refuseOpen(): void {
    for (const id of this.#open.keys()) {
      refuse('messages', `the call "${id.slice(0, 100)}" has no result of the role "tool"`);
    }
  }

  /** @param other reads a part that is not text; it gives the text of the part, or null */
  #textOf(
    content: unknown,
    path: string,
    other: (part: Fields, place: string) => string | null = refusePart,
  ): string {
    const place = `${path}.content`;
    if ((content ?? null) === null) return '';
    if (typeof content === 'string') return this.#count(content);
    if (!Array.isArray(content)) return refuse(place, 'it has to be a text or a list of parts');
    const texts = content.flatMap((value, at) => {
      const part = record(value, `${place}.${at}`);
      if (part['type'] !== 'text') return other(part, `${place}.${at}`) ?? [];
      const given = text(part, 'text', `${place}.${at}.`);
      return given ?? refuse(`${place}.${at}.text`, 'it is missing');
    });
    return this.#count(texts.join('\n'));
  }

  #count(given: string): string {
    this.#characters += given.length;
    if (this.#characters > charactersMax) tooLong(`they have over ${charactersMax} characters`);
    return given;
  }
}

function refusePart({ type }: Fields, place: string): never {
  const name = typeof type === 'string' ? `of the type "${type.slice(0, 50)}"` : 'without a type';
  return refuse(`${place}.type`, `svc reads no part ${name} here`);
}

// Fields of any shape. A field that is null counts as absent.

function record(value: unknown, path: string): Fields {
  return isObject(value) ? value : refuse(path, 'it has to be an object');
}

function list(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(path, 'it has to be a list');
}

function text(fields: Fields, name: string, path = ''): string | null {
  const value = fields[name] ?? null;
  return value === null || typeof value === 'string'
    ? value
    : refuse(`${path}${name}`, 'it has to be a text');
}

function flag(fields: Fields, name: string, path = ''): boolean | null {
  const value = fields[name] ?? null;
  return value === null || typeof value === 'boolean'
    ? value
    : refuse(`${path}${name}`, 'it has to be true or false');
}

/** A value that svc can write as JSON again. */
function shallow<T>(value: T, path: string): T {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) refuse(path, `it has more than ${depthMax} levels`);
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
  return value;
}

// Answers. The order of the fields is that of the API's reference.

export type AnswerFacts = { readonly id: string; readonly created: number; readonly model: string };

type Reply = Extract<Decision, { kind: 'reply' }>;

/** The part of an end that goes to the client. */
export type FinalAnswer = {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly reason: 'stop' | 'length' | 'tool_calls';
};

/** The text up to the first stop, or all of it. */
export function cutAtStop(whole: string, stops: readonly string[]): string {
  const ends = stops.map((stop) => whole.indexOf(stop)).filter((at) => at >= 0);
  return ends.length === 0 ? whole : whole.slice(0, Math.min(...ends));
}

/**
 * The beginning of a growing text that the final text will keep. It ends before the beginning of a
 * stop, before half a character, and before white space, which a brain may take away at the end.
 */
export function settledText(whole: string, stops: readonly string[]): string {
  const cut = cutAtStop(whole, stops);
  let end = cut.length;
  for (const stop of cut === whole ? stops : []) {
    for (let length = Math.min(stop.length - 1, cut.length); length > 0; length--) {
      if (!cut.endsWith(stop.slice(0, length))) continue;
      end = Math.min(end, cut.length - length);
      break;
    }
  }
  return cut
    .slice(0, end)
    .replace(/[\uD800-\uDBFF]$/, '')
    .trimEnd();
}

export function finalAnswerOf(reply: Reply, parsed: ParsedRequest): FinalAnswer {
  const cut = cutAtStop(reply.text, parsed.stops);
  if (cut !== reply.text) return { text: cut, calls: [], reason: 'stop' };
  const all = reply.calls ?? [];
  const calls = parsed.mayCallInParallel ? all : all.slice(0, 1);
  const reason = reply.isCut ? 'length' : calls.length > 0 ? 'tool_calls' : 'stop';
  return { text: cut, calls, reason };
}

/** The whole answer, as JSON text. */
export function answerText(facts: AnswerFacts, final: FinalAnswer, usage: Usage | null): string {
  const { id, created, model } = facts;
  const { calls } = final;
  const message = {
    role: 'assistant',
    content: final.text === '' && calls.length > 0 ? null : final.text,
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
  };
  const choice = { index: 0, message, logprobs: null, finish_reason: final.reason };
  const all = { id, object: 'chat.completion', created, model, choices: [choice] };
  return JSON.stringify({ ...all, usage: usageOf(usage) });
}

function callOf({ id, name, arguments: given }: ToolCall, at: number) {
  const args = typeof given === 'string' ? given || '{}' : JSON.stringify(given ?? {});
  const called = { name, arguments: args };
  return { id: id === '' ? madeCallId(at) : id, type: 'function', function: called } as const;
}

function usageOf(usage: Usage | null): object {
  const [input, output] = [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0];
  const cached = usage?.cachedTokens ?? null;
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== null && { prompt_tokens_details: { cached_tokens: cached } }),
  };
}

/** The events of a stream. */
export class ChunkWriter {
  readonly #head: object;
  readonly #includesUsage: boolean;

  constructor({ id, created, model }: AnswerFacts, includesUsage: boolean) {
    this.#head = { id, object: 'chat.completion.chunk', created, model };
    this.#includesUsage = includesUsage;
  }

  first(): string {
    return this.#chunk({ role: 'assistant', content: '' });
  }

  text(content: string): string {
    return this.#chunk({ content });
  }

  /** Keeps the connection open. */
  silence(): string {
    return this.#chunk({});
  }

  /** The calls, the reason of the end, and the usage if the client wants it. */
  last({ calls, reason }: FinalAnswer, usage: Usage | null): string {
    // Some clients read no arguments beside the name: ggml-org/llama.cpp#22722.
    const parts = calls.flatMap((call, index) => {
      const { function: called, ...rest } = callOf(call, index);
      const { name, arguments: args } = called;
      return [
        { ...rest, function: { name, arguments: '' } },
        { function: { arguments: args } },
      ].map((part) => this.#chunk({ tool_calls: [{ index, ...part }] }));
    });
    parts.push(this.#chunk({}, reason));
    if (this.#includesUsage) {
      parts.push(eventOf({ ...this.#head, choices: [], usage: usageOf(usage) }));
    }
    return `${parts.join('')}data: [DONE]\n\n`;
  }

  #chunk(delta: object, reason: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: reason }];
    return eventOf({ ...this.#head, choices, ...(this.#includesUsage && { usage: null }) });
  }
}

const eventOf = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

/** An error as an event, which ends a stream. */
export const errorEvent = (refusal: ApiRefusal): string => `data: ${errorText(refusal)}\n\n`;

/** The body of an error answer. */
export function errorText({ status, code, message, param }: ApiRefusal): string {
  const type =
    code === 'insufficient_quota'
      ? code
      : status === 429
        ? 'rate_limit_error'
        : status >= 500
          ? 'server_error'
          : 'invalid_request_error';
  return JSON.stringify({ error: { message, type, param: param ?? null, code } });
}

/** The list of the models. @param created in seconds since 1970 */
export function modelsText(offered: OfferedBrains, created: number): string {
  const data = [...offered.keys()].map((id) => modelOf(id, created));
  return JSON.stringify({ object: 'list', data });
}

export const modelText = (id: string, created: number): string =>
  JSON.stringify(modelOf(id, created));

const modelOf = (id: string, created: number): object => ({
  id,
  object: 'model',
  created,
  owned_by: 'svc',
});

const notAgain = { 'x-should-retry': 'false' };

/** A number of seconds for `Retry-After`, at least one. */
export const secondsOf = (ms: number): string => String(Math.max(1, Math.ceil(ms / 1_000)));

/**
 * The error for an end without an answer.
 * @param sentence svc's own words for the person
 */
export function refusalOfEnd(
  end: Exclude<CompletionEnd, { kind: 'decided' }> | Extract<Decision, { kind: 'apology' }>,
  sentence: string,
  now: number,
): ApiRefusal {
  if (end.kind === 'refused') {
    const isPicture = end.fault === 'picture';
    const code = isPicture ? 'invalid_image' : 'unsupported_parameter';
    return { status: 400, code, message: end.why, param: isPicture ? 'messages' : 'tools' };
  }
  switch (end.apology) {
    case 'over_budget': {
      const { opensAt } = end;
      const opens = opensAt === null ? {} : { 'retry-after': secondsOf(opensAt - now) };
      const headers = { ...opens, ...notAgain };
      return { status: 429, code: 'insufficient_quota', message: sentence, headers };
    }
    case 'too_long': {
      const code = 'context_length_exceeded';
      return { status: 400, code, message: sentence, param: 'messages' };
    }
    case 'unseen':
      return { status: 400, code: 'image_unsupported', message: sentence, param: 'messages' };
    case 'fault':
      return { status: 500, code: 'fault', message: sentence, headers: notAgain };
    case 'busy':
    case 'no_answer':
    case 'no_consensus':
    case 'unfinished':
      // Another try asks the same models again, and an agent may have acted already.
      return { status: 503, code: end.apology, message: sentence, headers: notAgain };
    default:
      return end satisfies never;
  }
}
