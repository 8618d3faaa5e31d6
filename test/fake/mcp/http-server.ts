/** An MCP server over Streamable HTTP, on port 0: honest, or hostile in one way. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

export type HttpMode =
  | 'honest'
  | 'stream'
  | 'odd_tools'
  | 'structured'
  | 'redirect'
  | 'endless_stream'
  | 'many_events'
  | 'huge'
  | 'garbage'
  | 'other_id'
  | 'unauthorized';

export type FakeHttpMcp = AsyncDisposable & {
  readonly url: string;
  /** `POST initialize`, in order. */
  readonly asked: readonly string[];
  readonly bearers: ReadonlySet<string>;
};

/** Between two lines of a stream without end, which goes on however late they are. */
const dripMs = 20;

type Asked = { id?: number; method?: string; params?: Record<string, unknown> };

const echo = {
  name: 'echo',
  description: 'Says a text again.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', description: 'Any text.' } },
    required: ['text'],
  },
};

/**
 * A schema without a type and an output schema without one: the protocol's library refuses a whole
 * list with such a tool (mcpx#28, claude-code#88049).
 */
const oddTools = [
  { name: 'odd', inputSchema: { anyOf: [{ properties: { a: { type: 'string' } } }] } },
  { ...echo, name: 'picture', outputSchema: { $id: 'x' }, annotations: { title: 7 } },
];

function resultOf(mode: HttpMode, { method, params }: Asked): object {
  if (method === 'initialize') {
    const { protocolVersion } = params as { protocolVersion: string };
    return {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'f', version: '1' },
    };
  }
  if (method === 'tools/list') return { tools: [...(mode === 'odd_tools' ? oddTools : []), echo] };
  const { text } = (params?.['arguments'] ?? {}) as { text?: string };
  if (mode === 'structured') return { content: [], structuredContent: { said: text } };
  return { content: [{ type: 'text', text: `you said: ${text}` }] };
}

export async function startHttpMcp(mode: HttpMode, elsewhere = ''): Promise<FakeHttpMcp> {
  const asked: string[] = [];
  const bearers = new Set<string>();
  const server = createServer((request, response) => {
    void take(request, response).catch(() => response.destroy());
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += String(part);
    const message = (text === '' ? {} : JSON.parse(text)) as Asked;
    asked.push(`${request.method} ${message.method ?? ''}`.trim());
    bearers.add(request.headers.authorization ?? '');
    if (request.method !== 'POST') return void response.writeHead(405).end();
    if (mode === 'redirect') return void response.writeHead(307, { location: elsewhere }).end();
    if (mode === 'unauthorized') return void response.writeHead(401).end();
    if (message.id === undefined) return void response.writeHead(202).end();
    const id = mode === 'other_id' ? message.id + 1_000 : message.id;
    const whole = JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(mode, message) });
    const isCall = message.method === 'tools/call';
    if (
      mode === 'honest' ||
      mode === 'odd_tools' ||
      mode === 'other_id' ||
      (!isCall && mode !== 'stream')
    ) {
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' });
      return void response.end(whole);
    }
    if (mode === 'garbage') {
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end('no json');
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const note = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    if (mode === 'many_events') response.write(`data: ${note}\n\n`.repeat(5_000));
    if (mode === 'huge') response.write(`data: "${'x'.repeat(3_000_000)}"\n\n`);
    if (mode !== 'endless_stream') return void response.end(`data: ${whole}\n\n`);
    while (!response.destroyed) {
      response.write(': still here\n\n');
      await pause(dripMs);
    }
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    asked,
    bearers,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
