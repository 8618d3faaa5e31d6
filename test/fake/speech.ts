/**
 * A fake of a speech server.
 * Format: OpenAI, platform.openai.com/docs/api-reference/audio/createTranscription.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Heard = {
  readonly model: string;
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
};

/** The transcript; a whole answer; or no answer at all. */
export type SpeechAnswer =
  | string
  | { readonly status: number; readonly body: string }
  | { readonly hangs: true };

export interface FakeSpeech extends AsyncDisposable {
  /** The value for `speech.base_url`. */
  readonly url: string;
  readonly heard: readonly Heard[];
  /** Sets the answer from now on. */
  answer(next: SpeechAnswer): void;
}

/** @param first one answer for all, or a function of the audio */
export async function startFakeSpeech(
  first: SpeechAnswer | ((heard: Heard) => SpeechAnswer),
): Promise<FakeSpeech> {
  const heard: Heard[] = [];
  let next = first;
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return send(response, 200, '{"object":"list","data":[]}');
    if (request.url !== '/v1/audio/transcriptions') {
      return send(response, 404, '{"detail":"Not Found"}');
    }
    const form = await formOf(request);
    const file = form.get('file');
    if (!(file instanceof File)) return send(response, 400, '{"error":{"message":"no file"}}');
    const bytes = new Uint8Array(await file.arrayBuffer());
    const model = form.get('model') as string;
    const one = { model, name: file.name, type: file.type, bytes };
    heard.push(one);
    const said = typeof next === 'function' ? next(one) : next;
    if (typeof said === 'object' && 'hangs' in said) return;
    const answer =
      typeof said === 'string' ? { status: 200, body: JSON.stringify({ text: said }) } : said;
    send(response, answer.status, answer.body);
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    heard,
    answer: (given) => void (next = given),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function formOf(request: IncomingMessage): Promise<FormData> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  return new Response(Buffer.concat(parts), { headers }).formData();
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(body);
}
