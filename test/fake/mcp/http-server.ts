/** An MCP server over Streamable HTTP, on port 0: honest, or hostile in one way. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** `stays_open`: every answer is a stream that stays open after the result. */
export type HttpMode =
  | 'honest'
  | 'stream'
  | 'stays_open'
  | 'odd_tools'
  | 'no_type'
  | 'text_type'
  | 'refuses_notes'
  | 'structured'
  | 'asks'
  | 'silent_call'
  | 'sessions'
  | 'sessions_400'
  /** A tool's own error with its own status, in words that sound like a lost session. */
  | 'fails_400'
  | 'forgetful'
  | 'redirect'
  | 'redirect_slash'
  | 'endless_stream'
  | 'cut_stream'
  | 'many_events'
  | 'huge'
  | 'garbage'
  | 'html'
  | 'other_id'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'get_only'
  | 'misdirected'
  | 'broken'
  | 'old_revision'
  | 'old_revision_400'
  | 'next_revision';

export type FakeHttpMcp = AsyncDisposable & {
  readonly url: string;
  /** `POST initialize`, in order. */
  readonly asked: readonly string[];
  readonly bearers: ReadonlySet<string>;
  /** The number of calls run. */
  readonly ran: () => number;
  /** The number of streams open after their result. */
  readonly open: () => number;
  /** Forgets all sessions, as a restart does. */
  forget(): void;
};

/** Between two lines of an endless stream. */
const dripMs = 20;

type Message = { id?: number | string; method?: string; params?: Record<string, unknown> };
type ClientAnswer = Message & { error?: { code: number } };

export const echo = {
  name: 'echo',
  description: 'Says a text again.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', description: 'Any text.' } },
    required: ['text'],
  },
};

/**
 * A schema without a type, and an output schema without one. The protocol's library refuses a whole
 * list with such a tool (mcpx#28, claude-code#88049).
 */
export const oddTools = [
  {
    name: 'odd',
    inputSchema: {
      anyOf: [
        { properties: { text: { type: 'string' } }, required: ['text'] },
        { properties: { id: { type: 'number' } }, required: ['id'] },
      ],
    },
  },
  { ...echo, name: 'picture', outputSchema: { $id: 'x' }, annotations: { title: 7 } },
];

/** The requests that a server may send a client during a call. */
const questions = ['elicitation/create', 'sampling/createMessage', 'roots/list'];

const statuses: Readonly<Partial<Record<HttpMode, number>>> = {
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  get_only: 405,
  misdirected: 421,
  broken: 500,
};

const json = { 'content-type': 'application/json' };
const events = { 'content-type': 'text/event-stream' };

export async function startHttpMcp(mode: HttpMode, elsewhere = ''): Promise<FakeHttpMcp> {
  const fake = new Fake(mode, elsewhere);
  const server = createServer((request, response) => {
    void fake.take(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    asked: fake.asked,
    bearers: fake.bearers,
    ran: () => fake.ran,
    open: () => fake.open,
    forget: () => fake.sessions.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

class Fake {
  readonly asked: string[] = [];
  readonly bearers = new Set<string>();
  readonly sessions = new Set<string>();
  ran = 0;
  open = 0;
  readonly #mode: HttpMode;
  readonly #elsewhere: string;
  readonly #answers = new Map<string, (told: ClientAnswer) => void>();
  #begun = 0;

  constructor(mode: HttpMode, elsewhere: string) {
    this.#mode = mode;
    this.#elsewhere = elsewhere;
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += String(part);
    const message = (text === '' ? {} : JSON.parse(text)) as ClientAnswer;
    this.asked.push(`${request.method} ${message.method ?? ''}`.trim());
    this.bearers.add(request.headers.authorization ?? '');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const status = statuses[this.#mode];
    if (status !== undefined) return void response.writeHead(status).end('<h1>No</h1>');
    if (this.#mode.startsWith('redirect')) {
      const to = this.#mode === 'redirect' ? this.#elsewhere : `${request.url}/`;
      return void response.writeHead(307, { location: to }).end();
    }
    // xiaohongshu-mcp#697
    if (this.#mode === 'old_revision_400') {
      return void response.writeHead(400).end('Bad Request: Unsupported protocol version');
    }
    const session = this.#sessionOf(request, message);
    if (session === null) return this.#refuseSession(response);
    if (message.method === undefined) this.#answers.get(String(message.id))?.(message);
    if (this.#mode === 'refuses_notes' && message.id === undefined) {
      return void response.writeHead(400).end();
    }
    if (message.id === undefined || message.method === undefined) {
      return void response.writeHead(202).end();
    }
    await this.#answer(message, response, session);
  }

  /** Format: MCP 2025-11-25, basic/transports, "Session Management". null: no known session. */
  #sessionOf({ headers }: IncomingMessage, { method }: Message): string | null {
    if (!this.#mode.startsWith('sessions') && this.#mode !== 'forgetful') return 's1';
    if (method === 'initialize') {
      const session = `session-${++this.#begun}`;
      this.sessions.add(session);
      return session;
    }
    if (this.#mode === 'forgetful' && method === 'tools/call') return null;
    const given = String(headers['mcp-session-id']);
    return this.sessions.has(given) ? given : null;
  }

  /** The specification says 404; many servers say 400 (python-sdk#1004, fastmcp#121). */
  #refuseSession(response: ServerResponse): void {
    const status = this.#mode === 'sessions_400' ? 400 : 404;
    const words = status === 400 ? 'Bad Request: No valid session ID provided' : 'Not found';
    const error = { code: -32_000, message: words };
    response.writeHead(status, json).end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
  }

  async #answer(message: Message, response: ServerResponse, session: string): Promise<void> {
    const mode = this.#mode;
    const isCall = message.method === 'tools/call';
    if (isCall) this.ran++;
    const heads = { 'mcp-session-id': session };
    const id = mode === 'other_id' ? Number(message.id) + 1_000 : message.id;
    const refusal = { code: -32_602, message: 'Unsupported protocol version' };
    const said = mode === 'old_revision' ? { error: refusal } : { result: this.#resultOf(message) };
    const whole = JSON.stringify({ jsonrpc: '2.0', id, ...said });
    if (mode === 'fails_400' && isCall) {
      const error = { code: -32_602, message: 'the browser session is closed' };
      const failed = JSON.stringify({ jsonrpc: '2.0', id, error });
      return void response.writeHead(400, { ...json, ...heads }).end(failed);
    }
    if (mode === 'stays_open') {
      response.writeHead(200, { ...events, ...heads }).write(`data: ${whole}\n\n`);
      this.open++;
      await drip(response);
      this.open--;
      return;
    }
    if (mode === 'stream') return void response.writeHead(200, events).end(`data: ${whole}\n\n`);
    // helidon-mcp#97, dify-plugin-agent-mcp_sse#79
    if (mode === 'no_type') return void response.writeHead(200, heads).end(`\uFEFF${whole}`);
    if (mode === 'text_type') {
      return void response.writeHead(200, { ...heads, 'content-type': 'text/plain' }).end(whole);
    }
    if (!isCall || !(mode in hostile)) {
      return void response.writeHead(200, { ...json, ...heads }).end(whole);
    }
    await hostile[mode as keyof typeof hostile](response, whole, this.#answers);
  }

  #resultOf({ method, params }: Message): object {
    if (method === 'initialize') {
      const { protocolVersion: asked } = params as { protocolVersion: string };
      const protocolVersion = this.#mode === 'next_revision' ? '2099-01-01' : asked;
      const serverInfo = { name: 'f', version: '1' };
      return { protocolVersion, capabilities: { tools: {} }, serverInfo };
    }
    if (method === 'tools/list') {
      return { tools: [...(this.#mode === 'odd_tools' ? oddTools : []), echo] };
    }
    const { text } = (params?.['arguments'] ?? {}) as { text?: string };
    if (this.#mode === 'structured') return { content: [], structuredContent: { said: text } };
    return { content: [{ type: 'text', text: `you said: ${text}` }] };
  }
}

type Answers = Map<string, (told: ClientAnswer) => void>;

const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} });

/** The hostile answers to a call. */
const hostile = {
  /** The result comes once each question has an answer, as with both SDKs' servers. */
  async asks(response: ServerResponse, whole: string, answers: Answers) {
    response.writeHead(200, events);
    const told = questions.map(async (method, n) => {
      const { promise, resolve } = Promise.withResolvers<ClientAnswer>();
      answers.set(`ask-${n}`, resolve);
      const asked = { jsonrpc: '2.0', id: `ask-${n}`, method, params: { message: 'Your name?' } };
      response.write(`event: message\ndata: ${JSON.stringify(asked)}\n\n`);
      return (await promise).error?.code;
    });
    const codes = await Promise.all(told);
    response.end(`data: ${whole.replace('you said:', `told ${codes.join()}:`)}\n\n`);
  },
  async silent_call() {},
  async endless_stream(response: ServerResponse) {
    response.writeHead(200, events);
    await drip(response);
  },
  async cut_stream(response: ServerResponse) {
    response.writeHead(200, events).write(`data: ${note}\n\n`, () => response.destroy());
  },
  async many_events(response: ServerResponse, whole: string) {
    response.writeHead(200, events).write(`data: ${note}\n\n`.repeat(5_000));
    response.end(`data: ${whole}\n\n`);
  },
  async huge(response: ServerResponse, whole: string) {
    response.writeHead(200, events).write(`data: "${'x'.repeat(3_000_000)}"\n\n`);
    response.end(`data: ${whole}\n\n`);
  },
  async garbage(response: ServerResponse) {
    response.writeHead(200, json).end('no json');
  },
  async html(response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Hi</h1>');
  },
} as const;

async function drip(response: ServerResponse): Promise<void> {
  while (!response.destroyed) {
    response.write(': still here\n\n');
    await pause(dripMs);
  }
}
