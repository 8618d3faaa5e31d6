/**
 * The smallest honest pipeline without storage, as a base for comparison. It checks the bearer, the
 * JSON and the fields, answers 200, calls the model once, and posts the reply. It keeps no order,
 * retries nothing, and limits only the body.
 */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent } from 'undici';

export type Setup = { port: number; model: string; receiver: string; token: string; file: string };
export type Message = { id: number; sender: string; conversation: string; text: string };
type Take = (message: Message, response: ServerResponse) => Promise<void>;

export const setup = JSON.parse(process.argv[2] ?? '{}') as Setup;
const wanted = Buffer.from(`Bearer ${setup.token}`);
const agent = new Agent({ connections: 1024, pipelining: 1 });
const headers = { 'content-type': 'application/json' };
let count = 0;

export function serve(take: Take): void {
  process.on('SIGTERM', () => process.exit());
  createServer((request, response) => {
    const given = Buffer.from(request.headers.authorization ?? '');
    const type = request.headers['content-type'];
    if (request.url !== '/webhook') end(response, 404);
    else if (request.method !== 'POST') end(response, 405);
    else if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) end(response, 401);
    else if (type?.startsWith('application/json') !== true) end(response, 415);
    else read(request, response, take);
  }).listen(setup.port, '127.0.0.1');
}

function read(request: IncomingMessage, response: ServerResponse, take: Take): void {
  const parts: Buffer[] = [];
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    if ((bytes += part.length) > 1_048_576) request.destroy();
    parts.push(part);
  });
  request.on('end', () => {
    const message = parse(parts.length === 1 ? parts[0]! : Buffer.concat(parts));
    if (message === null) end(response, 400);
    else void take(message, response);
  });
}

function parse(body: Buffer): Message | null {
  try {
    const fields = JSON.parse(body.toString()) as Record<string, unknown>;
    const { sender_id: sender, text, conversation_id: conversation = sender } = fields;
    if (typeof sender !== 'string' || typeof conversation !== 'string') return null;
    return typeof text === 'string' ? { id: count++, sender, conversation, text } : null;
  } catch {
    return null;
  }
}

export function end(response: ServerResponse, status: number, body = ''): void {
  response.writeHead(status, { ...headers, 'content-length': body.length }).end(body);
}

export async function ask(text: string): Promise<string> {
  const messages = [{ role: 'user', content: text }];
  const body = JSON.stringify({ model: 'bench', stream: false, messages });
  const answer = await post(setup.model, '/api/chat', body);
  return ((await answer.json()) as { message: { content: string } }).message.content;
}

export async function post(origin: string, path: string, body: string) {
  return (await agent.request({ origin, path, method: 'POST', headers, body })).body;
}

if (import.meta.main) {
  serve(async ({ id, conversation, text }, response) => {
    end(response, 200, `{"status":"accepted","message_id":"${id}"}`);
    const reply = { conversation_id: conversation, text: await ask(text) };
    await (await post(setup.receiver, '/reply', JSON.stringify(reply))).dump();
  });
}
