/** Which models could be asked now: what runs near, and for which vendors there is a key. */
import { later, steadyNow } from '../../src/lib/clock.ts';
import { createDeadlines } from '../../src/lib/deadlines.ts';
import { createHttpClient, type HttpClient } from '../../src/lib/http-client.ts';
import { stopOf } from '../../src/lib/stop.ts';
import type { SecretLookup } from '../../src/secrets/secrets.ts';
import type { ModelDraft, ModelsFound } from './state.ts';
import { localityOf, vendors } from './vendors.ts';

export type SearchOptions = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly lookup: SecretLookup;
  /** Of a runtime that speaks the hosted API on this machine, `/v1` included. */
  readonly hostedHere: string;
  /** For one look. */
  readonly lookMs: number;
};

const usualLocal = 'http://127.0.0.1:11434';
const bodyBytesMax = 4 * 1024 * 1024;

export async function lookForModels(
  { env, lookup, hostedHere, lookMs }: SearchOptions,
  signal: AbortSignal,
): Promise<ModelsFound> {
  const local = localBaseUrl(env['OLLAMA_HOST']);
  const http = createHttpClient(createDeadlines());
  await using closed = new AsyncDisposableStack();
  closed.defer(() => http.close());
  const read = (url: string): Promise<unknown> => readJson(http, url, lookMs, signal);
  const names = vendors.map(({ keyEnv }) => keyEnv);
  const [tags, models, keys] = await Promise.all([
    read(`${local}/api/tags`),
    read(`${hostedHere}/models`),
    lookup.find(names, signal),
  ]);
  const here = tags === null ? null : modelsOfTags(tags, local);
  const hosted = models === null ? null : modelsOfList(models, hostedHere);
  const empty = [here?.length === 0 ? local : null, hosted?.length === 0 ? hostedHere : null];
  return {
    near: [...(here ?? []), ...(hosted ?? [])],
    empty: empty.filter((url) => url !== null),
    keyed: vendors.filter(({ keyEnv }) => keys.get(keyEnv)?.kind === 'value'),
  };
}

/**
 * What `OLLAMA_HOST` means to a client: with or without scheme and port; every interface is this
 * machine. Source: envconfig/config.go of github.com/ollama/ollama.
 */
export function localBaseUrl(host: string | undefined): string {
  const written = (host ?? '').trim().replace(/^["']|["']$/g, '');
  const [, scheme = 'http', rest = ''] = /^(?:(https?):\/\/)?(.*)$/i.exec(written) ?? [];
  const usualPort = /^https?:/i.test(written) ? (/^https:/i.test(written) ? '443' : '80') : '11434';
  try {
    const withHost = rest.startsWith(':') || rest === '' ? `127.0.0.1${rest}` : rest;
    const url = new URL(`${scheme}://${withHost.replace(/\/.*$/, '')}`);
    const isAny = url.hostname === '0.0.0.0' || url.hostname === '[::]';
    const portWritten = /:(\d+)$/.exec(withHost.replace(/\/.*$/, ''))?.[1];
    const port = portWritten ?? usualPort;
    return `${scheme.toLowerCase()}://${isAny ? '127.0.0.1' : url.hostname}:${port}`;
  } catch {
    return usualLocal;
  }
}

/** What it is as JSON; null: nobody answers there in time, or something else does. */
async function readJson(
  http: HttpClient,
  url: string,
  lookMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  const deadlineAt = later(steadyNow(), lookMs);
  const request = { method: 'GET', headers: {}, body: null, deadlineAt, bodyBytesMax } as const;
  const result = await http.send({ ...request, url: new URL(url) }, stopOf(signal));
  if (result.kind === 'fault' || result.status !== 200) return null;
  try {
    return JSON.parse(result.body) as unknown;
  } catch {
    return null;
  }
}

/** Format: GET /api/tags, docs/api.md of github.com/ollama/ollama. */
function modelsOfTags(value: unknown, baseUrl: string): ModelDraft[] {
  return listIn(value, 'models').flatMap((entry) => {
    const { name, remote_host: remote, details } = entry;
    if (typeof name !== 'string' || isEmbedding(name, details)) return [];
    const modelId = name.replace(/:latest$/, '');
    const at = baseUrl === usualLocal ? null : baseUrl;
    const where = { provider: 'local_runtime', modelId, baseUrl: at } as const;
    const isAway = typeof remote === 'string' && remote !== '';
    const locality = isAway ? 'cloud' : localityOf(where);
    return [{ kind: 'model', ...where, locality, apiKeyEnv: null }];
  });
}

/** Format: GET /models, platform.openai.com/docs/api-reference/models. */
function modelsOfList(value: unknown, baseUrl: string): ModelDraft[] {
  return listIn(value, 'data').flatMap(({ id: modelId }) => {
    if (typeof modelId !== 'string' || isEmbedding(modelId, null)) return [];
    const where = { provider: 'hosted_runtime', modelId, baseUrl } as const;
    return [{ kind: 'model', ...where, locality: localityOf(where), apiKeyEnv: null }];
  });
}

/** Such a model answers with numbers, and not with words. */
function isEmbedding(name: string, details: unknown): boolean {
  const family = (details as { family?: unknown } | null | undefined)?.family;
  return /embed|minilm|^bge/i.test(name) || (typeof family === 'string' && /bert/i.test(family));
}

function listIn(value: unknown, key: string): Readonly<Record<string, unknown>>[] {
  const list = (value as Record<string, unknown> | null)?.[key];
  if (!Array.isArray(list)) return [];
  return list.filter((one): one is Record<string, unknown> => {
    return typeof one === 'object' && one !== null;
  });
}
