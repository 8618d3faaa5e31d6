/**
 * A stand-in for a local model runtime: it speaks enough of the Ollama API for svc to work with
 * it, and answers by a few fixed rules. It is no language model and says so.
 *
 * Format: https://github.com/ollama/ollama/blob/main/docs/api.md (chat, list models, version)
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { practiceModelName } from '../domain/remedy.ts';
import { createServer } from '../lib/node-http.ts';

const requestBytesMax = 4 * 1024 * 1024;

type Line = { readonly role: string; readonly content: string };

/** The server, not yet listening. */
export function createPracticeModel(): Server {
  return createServer((request, response) => {
    void answerRequest(request, response).catch(() => {
      if (!response.headersSent) fail(response, 500, 'the practice model stumbled');
    });
  });
}

async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').split('?')[0];
  if (path === '/api/version') return send(response, { version: '0.0.0-practice' });
  if (path === '/api/tags') return send(response, { models: [listing()] });
  if (path !== '/api/chat') return fail(response, 404, 'not found');
  if (request.method !== 'POST') return fail(response, 405, 'method not allowed');
  const body = await readBody(request);
  const chat = body === null ? null : readChat(body);
  if (chat === null) return fail(response, 400, 'invalid request');
  if (chat.model.replace(/:latest$/, '') !== practiceModelName) {
    return fail(response, 404, `model "${chat.model}" not found`);
  }
  sendChat(response, chat.model, chat.lines, chat.stream);
}

function listing(): object {
  return {
    name: `${practiceModelName}:latest`,
    model: `${practiceModelName}:latest`,
    modified_at: '2026-01-01T00:00:00Z',
    size: 0,
    digest: '0'.repeat(64),
    details: {
      format: 'none',
      family: 'practice',
      parameter_size: '0',
      quantization_level: 'none',
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > requestBytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

type Chat = { readonly model: string; readonly lines: readonly Line[]; readonly stream: boolean };

function readChat(body: string): Chat | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  const { model, messages, stream } = (value ?? {}) as Record<string, unknown>;
  if (typeof model !== 'string' || model === '') return null;
  const list = messages ?? [];
  if (!Array.isArray(list) || !list.every(isLine)) return null;
  return { model, lines: list, stream: stream !== false };
}

function isLine(value: unknown): value is Line {
  const { role, content } = (value ?? {}) as Record<string, unknown>;
  return typeof role === 'string' && typeof content === 'string';
}

/** Without messages the runtime loads the model and returns an empty reply. */
function sendChat(
  response: ServerResponse,
  model: string,
  lines: readonly Line[],
  stream: boolean,
): void {
  const head = { model, created_at: new Date().toISOString() };
  const content = lines.length === 0 ? '' : practiceAnswer(lines);
  const message = { role: 'assistant', content };
  const end = {
    done: true,
    done_reason: lines.length === 0 ? 'load' : 'stop',
    total_duration: 1,
    prompt_eval_count: words(lines.map((line) => line.content).join(' ')),
    eval_count: words(content),
  };
  if (!stream) return send(response, { ...head, message, ...end });
  response.writeHead(200, { 'content-type': 'application/x-ndjson' });
  if (content !== '') response.write(`${JSON.stringify({ ...head, message, done: false })}\n`);
  const empty = { role: 'assistant', content: '' };
  response.end(`${JSON.stringify({ ...head, message: empty, ...end })}\n`);
}

/**
 * The practice model's reply: the text that it read, and how much of the conversation it was given.
 * A person can see the memory work.
 * @param lines oldest first; it answers the last line of the user
 */
export function practiceAnswer(lines: readonly Line[]): string {
  const userLines = lines.filter((line) => line.role === 'user').map((line) => line.content.trim());
  const last = userLines.at(-1) ?? '';
  const earlier = userLines.slice(0, -1);
  const hello = /^(hi|hello|hey|good (morning|day|evening)|hallo|hola|salut)\b/i.test(last);
  const greeting = hello ? 'Hello! ' : '';
  const read = `I read: “${shorten(last)}”.`;
  if (earlier.length === 0) {
    return (
      `${greeting}${read} I am the practice model: a small program with fixed answers, ` +
      'no language model. This is the first message of our conversation that I was given.'
    );
  }
  const count = earlier.length === 1 ? 'one earlier message' : `${earlier.length} earlier messages`;
  return (
    `${greeting}${read} With it came ${count} of yours, the first: “${shorten(earlier[0]!)}”. ` +
    'So the memory works; I am still no language model.'
  );
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > 160 ? `${line.slice(0, 160).toWellFormed()}…` : line;
}

function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

function send(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(value));
}

function fail(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ error }));
}
