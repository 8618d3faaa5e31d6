import type { ConfigProblem } from '../../config/problems.ts';
import {
  refusedSchemas,
  draftSchema,
  modelListSchema,
  modelProviderSchema,
  preflightedSchema,
  trialEventSchema,
  tryResultSchema,
  validatedSchema,
} from '../schemas/config.ts';
import type { ServerResponse } from 'node:http';
import {
  eventStreamType,
  problem,
  answerWith,
  unbuffered,
  type Answer,
  type Stream,
} from '../http/answer.ts';
import { answerError } from '../http/respond.ts';
import type { AdminPorts } from '../admin.ts';
import { isChannelName, registeredName } from '../../config/config.ts';
import type { Draft, TrialEvent, Tried } from '../config-trials.ts';
import { only, type Described } from '../schemas/schema.ts';
import { askRoute, writeRoute, type Body, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'trials' | 'events'>;

const contentType = 'application/json';
const configBytesMax = 1_048_576;

const example = JSON.stringify({
  channels: [
    {
      type: 'webhook',
      token_env: 'WEBHOOK_SECRET',
      webhook: { outbound_url: 'http://127.0.0.1:8091/replies' },
    },
  ],
  brains: [
    {
      name: 'main',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ provider: 'local_runtime', model_id: 'llama3.2', locality: 'local' }],
    },
  ],
  routes: [{ channel: 'webhook', brain: 'main' }],
});

const configText = {
  kind: 'text',
  summary: 'The whole text of a configuration.',
  bytesMax: configBytesMax,
  example,
} as const satisfies Body;

/** An operator's questions about a configuration before it is used. */
export function trialRoutes(ports: Ports): Route[] {
  return [...checks(ports), trial(ports)];
}

function checks({ trials }: Ports): Route[] {
  return [
    askRoute({
      path: '/api/v1/config/validate',
      summary: 'Checks a configuration as `svc config check` does beside the file in use.',
      contentType,
      body: configText,
      schema: { name: 'Validated', of: validatedSchema },
      answer: async (_values, { body }) => answerWith(validatedSchema, await trials.validate(body)),
    }),
    askRoute({
      path: '/api/v1/config/preflight',
      summary: 'Checks a configuration as `svc config check --preflight` does, and its addresses.',
      contentType,
      body: configText,
      problems: { 429: 'Four are under way.' },
      schema: { name: 'Preflighted', of: preflightedSchema },
      answer: async (_values, { body, left }) => {
        const found = await trials.preflight(body, left);
        return found === 'busy' ? busy : answerWith(preflightedSchema, found);
      },
    }),
    askRoute({
      path: '/api/v1/config/models',
      summary: 'Asks a provider for the names of its models, for `model_id` of a draft.',
      contentType,
      body: {
        kind: 'json',
        summary: 'Fields of a model as the configuration has them. svc reads the key itself.',
        bytesMax: 16_384,
        example: { provider: 'local_runtime', base_url: 'http://127.0.0.1:11434' },
        schema: { name: 'ModelProvider', of: modelProviderSchema },
      },
      problems: { 429: 'Four are under way.' },
      schema: { name: 'ModelList', of: modelListSchema },
      answer: async (_values, { body, left }) => {
        const found = await trials.listModels(body, left);
        return found === 'busy' ? busy : answerWith(modelListSchema, found);
      },
    }),
  ];
}

/** A trial changes nothing but may cost money, so it is logged and audited like a write. */
function trial(ports: Ports): Route {
  return writeRoute({
    path: '/api/v1/config/try',
    method: 'POST',
    action: 'try_brain',
    summary:
      'Asks a brain of a draft configuration. svc delivers and keeps nothing. With ' +
      '`Accept: text/event-stream` the reply comes while the model writes it.',
    contentType: [contentType, eventStreamType],
    body: {
      kind: 'json',
      summary:
        'The configuration as text, what to say, and which of its brains. Without `brain` the ' +
        'text takes a route of `channel`; `sender`, `chat` and `topic` say where it comes from.',
      bytesMax: 4 * configBytesMax,
      example: { config: example, brain: 'main', text: 'When do you open?' },
      schema: { name: 'Draft', of: draftSchema },
    },
    problems: {
      404: 'The configuration has no such brain, or no route for the channel.',
      409: {
        summary: 'The brain reads a folder that comes by hand only.',
        also: [refusedSchemas.restart],
      },
      422: {
        summary: 'The configuration has problems, or a secret of the brain is not set.',
        also: [refusedSchemas.invalid, refusedSchemas.missing],
      },
      429: 'Four are under way.',
    },
    schema: { name: 'TryResult', of: tryResultSchema },
    event: { name: 'TrialEvent', of: trialEventSchema },
    answer: (_values, { body, left, wantsEvents }) => tryBrain(ports, body, left, wantsEvents),
  });
}

async function tryBrain(
  ports: Ports,
  body: Described<typeof draftSchema>,
  left: AbortSignal,
  wantsEvents: boolean,
): Promise<Answer> {
  const { config, brain, text, sensitivity, history, sender, chat, topic } = body;
  if (Buffer.byteLength(config) > configBytesMax) {
    return problem(413, 'body_too_large', `The configuration is over ${configBytesMax} bytes.`);
  }
  if (text.trim() === '') return malformed('text is empty.');
  const channel = body.channel === null ? null : registeredName(body.channel);
  if (channel !== null && !isChannelName(channel)) return malformed('channel is no channel name.');
  if (channel === null && brain === null) return malformed('brain and channel are missing.');
  const turns = (history ?? []).map(({ asked, answered }) => ({
    at: 0,
    text: asked,
    reply: answered,
    sensitivity: 'public' as const,
  }));
  const label = sensitivity ?? 'public';
  const from = { sender, chat, topic };
  const draft = { config, brain, text, from, sensitivity: label, channel, turns };
  if (wantsEvents) return tryGrowing(ports, draft, left);
  const tried = await ports.trials.tryBrain(draft, left);
  const answer = answerOf(tried);
  if (tried.kind !== 'tried') return answer;
  return { ...answer, auditDetails: { brain: tried.result.trace.brain } };
}

/** Once the brain is asked, the answer is a stream, and the result goes there. */
async function tryGrowing({ trials, events }: Ports, draft: Draft, left: AbortSignal) {
  const growing = new GrowingTrial();
  const asking = trials.tryBrain(draft, left, growing.show);
  const tried = asking.finally(() => growing.rest());
  const early = await Promise.race([growing.begun, tried]);
  if (early !== undefined && early.kind !== 'tried') return answerOf(early);
  const ends = tried.then(
    (end) => growing.end(end.kind === 'tried' ? end : problemOf(answerOf(end))),
    (error: unknown) => growing.end(problemOf(answerError(error, events))),
  );
  const { stream: body } = growing;
  const { brain, channel } = draft;
  const auditDetails = brain === null ? { channel: channel ?? '' } : { brain };
  return {
    status: 200,
    contentType: eventStreamType,
    headers: unbuffered,
    body,
    auditDetails,
    ends,
  };
}

type End =
  | { readonly kind: 'problem'; readonly answer: Answer }
  | Extract<Tried, { kind: 'tried' }>;

const problemOf = (answer: Answer): End => ({ kind: 'problem', answer });

/** A proxy drops a request that is silent for a minute, and a model may need a minute to load. */
const heartbeatMs = 15_000;

/** Streams a trial under way. A client that has left gets nothing more. */
class GrowingTrial {
  readonly #beginning = Promise.withResolvers<void>();
  /** Resolves once the brain is asked, or when that takes long. */
  readonly begun = this.#beginning.promise;
  readonly #heartbeat = setInterval(() => this.#sendHeartbeat(), heartbeatMs).unref();
  #response: ServerResponse | null = null;
  /** Events from before the response. */
  #waiting = '';
  #shown = '';
  #isOver = false;

  readonly stream: Stream = (response) => {
    this.#response = response;
    response.flushHeaders();
    if (this.#waiting !== '') response.write(this.#waiting);
    if (this.#isOver) response.end();
  };

  readonly show = (whole: string): void => {
    this.#beginning.resolve();
    // Half a character waits for its other half. A text that got shorter may grow again.
    const text = whole.replace(/\p{Surrogate}$/u, '');
    if (this.#shown.startsWith(text)) return;
    const goesOn = text.startsWith(this.#shown);
    const more = goesOn ? text.slice(this.#shown.length) : text;
    this.#shown = text;
    this.#send({ kind: goesOn ? 'more' : 'anew', text: more });
  };

  /** Ends the heartbeats. */
  rest(): void {
    clearInterval(this.#heartbeat);
  }

  end(end: End): void {
    if (end.kind === 'tried') this.#send({ kind: 'result', result: end.result });
    else this.#send({ kind: 'problem', problem: JSON.parse(String(end.answer.body)) });
    this.#isOver = true;
    this.#response?.end();
  }

  /** Sends a comment, which is no event. */
  #sendHeartbeat(): void {
    this.#beginning.resolve();
    if (this.#response?.destroyed === false) this.#response.write(':\n\n');
  }

  #send(event: TrialEvent): void {
    const data = JSON.stringify(only(trialEventSchema, event));
    const text = `event: ${event.kind}\ndata: ${data}\n\n`;
    if (this.#response === null) this.#waiting += text;
    else if (!this.#response.destroyed) this.#response.write(text);
  }
}

function answerOf(tried: Tried): Answer {
  switch (tried.kind) {
    case 'tried':
      return answerWith(tryResultSchema, tried.result);
    case 'config_invalid': {
      const detail = 'The configuration has problems; nothing was asked.';
      return withProblems(tried.kind, detail, tried.problems);
    }
    case 'secret_missing': {
      const detail = 'Secrets that this brain needs are not set; nothing was asked.';
      return withProblems(tried.kind, detail, tried.problems);
    }
    case 'restart_required':
      return problem(409, tried.kind, tried.detail, {}, { fields: tried.fields });
    case 'unknown_brain': {
      const names = tried.brains.map((name) => `"${name}"`).join(', ');
      return problem(404, tried.kind, `The configuration has no such brain; it has ${names}.`);
    }
    case 'unknown_channel': {
      const names = tried.channels.map((name) => `"${name}"`).join(', ');
      const detail = `The configuration has no route for this channel; it has some for ${names}.`;
      return problem(404, tried.kind, detail);
    }
    case 'busy':
      return busy;
    default:
      return tried satisfies never;
  }
}

function withProblems(code: string, detail: string, problems: readonly ConfigProblem[]): Answer {
  return problem(422, code, detail, {}, { problems });
}

function malformed(what: string): Answer {
  return problem(400, 'invalid_field', `Of the body, ${what}`);
}

const busy = problem(429, 'busy', 'Four are under way already; ask again when one is done.', {
  'retry-after': '5',
});
