/**
 * Reads an attachment of a message. Its address is signed and expires soon, so svc reads the
 * message for a fresh address. Format:
 * https://discord.com/developers/docs/resources/message#attachment-object
 */
import { failure } from '../../domain/failure.ts';
import { later, type SteadyTime } from '../../lib/clock.ts';
import type { HttpClient } from '../../lib/http-client.ts';
import type { Stop } from '../../lib/stop.ts';
import type { FetchResult } from '../channel.ts';
import type { Api } from './api.ts';
import { fieldsOf, idOf, listOf } from './fields.ts';

export type FetchDeps = {
  readonly api: Api;
  /** The address of the API if it is not Discord's own; svc reads files from there as well. */
  readonly baseUrl: string | null;
  readonly http: HttpClient;
  readonly steady: () => SteadyTime;
};

const downloadMs = 30_000;
const hosts: ReadonlySet<string> = new Set(['cdn.discordapp.com', 'media.discordapp.net']);

/** @param file the `file` field of `Media` */
export async function fetchFile(
  { api, baseUrl, http, steady }: FetchDeps,
  file: string,
  bytesMax: number,
  stop: Stop,
): Promise<FetchResult> {
  const [place, message, attachment] = file.split('/').map(idOf);
  if (!place || !message || !attachment) return failed('rejected');
  const answer = await api.get(`/channels/${place}/messages/${message}`, stop.signal);
  if (answer.kind === 'fault') return failed(answer.fault);
  if (answer.kind === 'refused') {
    return answer.status === 403 ? unreadable : failedBy(answer.status);
  }
  const url = addressOf(answer.body, attachment, baseUrl);
  if (url === null) return failed('not_found');
  // Without the token, since a signed address needs none.
  const result = await http.send(
    {
      method: 'GET',
      url,
      headers: {},
      body: null,
      deadlineAt: later(steady(), downloadMs),
      bodyBytesMax: bytesMax,
      asBytes: true,
    },
    stop,
  );
  if (result.kind === 'fault') {
    return result.fault === 'answer_too_large' ? { kind: 'too_large' } : failed(result.fault);
  }
  if (result.status !== 200 || result.bytes === undefined) {
    return failedBy(result.status);
  }
  return { kind: 'fetched', bytes: result.bytes };
}

/** @returns null: the file is gone, or on a host that svc does not read from */
function addressOf(message: unknown, id: string, baseUrl: string | null): URL | null {
  const fields = fieldsOf(message);
  const forwarded = listOf(fields['message_snapshots']).map((one) => {
    return fieldsOf(fieldsOf(one)['message'])['attachments'];
  });
  const all = [fields['attachments'], ...forwarded].flatMap(listOf).map(fieldsOf);
  const text = all.find((one) => one['id'] === id)?.['url'];
  if (typeof text !== 'string' || !URL.canParse(text)) return null;
  const url = new URL(text);
  if (baseUrl !== null) return url.host === new URL(baseUrl).host ? url : null;
  return url.protocol === 'https:' && hosts.has(url.hostname) ? url : null;
}

/** The server's administrator must grant this permission. */
const unreadable: FetchResult = {
  kind: 'failed',
  failure: failure('unauthorized', {
    status: 403,
    detail: 'the bot may not read that message: it needs “Read Message History” there',
  }),
};

function failedBy(status: number): FetchResult {
  if (status === 401 || status === 403) return failed('unauthorized');
  if (status === 429) return failed('rate_limited');
  return failed(status >= 500 ? 'server_error' : 'not_found');
}

function failed(kind: Parameters<typeof failure>[0]): FetchResult {
  return { kind: 'failed', failure: failure(kind) };
}
