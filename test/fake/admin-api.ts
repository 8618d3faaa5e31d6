/**
 * The part of the admin API that the commands call: a real server with the service's paths, answers
 * and problems, over its own rows.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DeadLetterText, Story, StoryText, TurnText } from '../../src/domain/story.ts';
import { nextOf, keyAfter } from '../../src/ledger/pages.ts';

export const adminToken = 'an-admin-token-of-the-tests';

export type AdminRows = {
  readonly stories: Story[];
  readonly texts: Map<string, StoryText>;
  readonly letters: DeadLetterText[];
  readonly turns: TurnText[];
  /** The answer to every move. */
  readonly move: { code: 200 | 404 | 409 | 503 };
};

export type FakeAdmin = AsyncDisposable & {
  readonly port: number;
  readonly rows: AdminRows;
  /** The method and path of each request, and its bearer if it had one. */
  readonly asked: readonly string[];
  /** The answer to every request; null: the usual answers. */
  instead: { readonly status: number; readonly body: string } | null;
};

type Answer = { readonly status: number; readonly body: unknown };

export async function startFakeAdmin(): Promise<FakeAdmin> {
  const asked: string[] = [];
  const rows: AdminRows = {
    stories: [],
    texts: new Map(),
    letters: [],
    turns: [],
    move: { code: 200 },
  };
  const server = createServer((request, response) => {
    const bearer = request.headers.authorization;
    asked.push([request.method, request.url, bearer].filter((part) => part).join(' '));
    if (fake.instead !== null) {
      response.writeHead(fake.instead.status).end(fake.instead.body);
      return;
    }
    send(response, answer(request, rows));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fake: FakeAdmin = {
    port: (server.address() as AddressInfo).port,
    rows,
    asked,
    instead: null,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return fake;
}

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const ok = (body: unknown): Answer => ({ status: 200, body });

function problem(status: number, code: string, detail = `It is ${code}.`): Answer {
  return { status, body: { type: 'about:blank', title: 'x', status, code, detail } };
}

function answer(request: IncomingMessage, rows: AdminRows): Answer {
  const url = new URL(request.url ?? '', 'http://fake');
  const path = url.pathname.split('/').slice(3).map(decodeURIComponent);
  const found = route(request.method ?? '', path, url.searchParams, rows);
  if (found === null) return problem(404, 'not_found');
  const bearer = request.headers.authorization;
  if (bearer !== undefined && bearer !== `Bearer ${adminToken}`)
    return problem(401, 'unauthorized');
  if (found.operator && bearer === undefined) return problem(401, 'unauthorized');
  const given = found.answer();
  return given.body === null ? problem(404, 'not_found') : given;
}

type Found = { readonly operator: boolean; readonly answer: () => Answer };

function route(
  method: string,
  path: readonly string[],
  query: URLSearchParams,
  rows: AdminRows,
): Found | null {
  const [room, first = '', second, third] = path;
  const reader = (body: () => unknown): Found => ({ operator: false, answer: () => ok(body()) });
  const operator = (body: () => unknown): Found => ({ operator: true, answer: () => ok(body()) });
  const key = `${method} ${room}${second === undefined ? '' : ` ${third ?? second}`}`;
  const byId = <T extends { readonly id: string }>(list: readonly T[]): T | null =>
    list.find(({ id }) => id === first) ?? null;
  if (method === 'GET' && room === 'notes') return operator(() => ({ rows: [] }));
  switch (key) {
    case 'GET messages':
      return reader(() => byId(rows.stories));
    case 'GET messages text':
      return operator(() => rows.texts.get(first) ?? null);
    case 'GET dead-letters':
      if (first === '') return reader(() => page(rows.letters.map(withoutText), query));
      if (first === 'reasons') return reader(() => ({ rows: reasons(rows.letters) }));
      return operator(() => byId(rows.letters));
    case 'POST dead-letters replay':
    case 'POST dead-letters discard':
      return { operator: true, answer: () => move(rows, first) };
    case 'GET conversations':
      return operator(() => page([], query));
    case 'GET conversations turns':
    case 'GET senders turns':
      return operator(() => page(turnsOf(rows, room!, first, second!), query));
    default:
      if (key === `DELETE ${room} ${second}`) {
        return operator(() => ({ deleted: forget(rows, room!, first, second!) }));
      }
      return null;
  }
}

function withoutText({ text: _text, conversation: _c, tries: _tries, ...letter }: DeadLetterText) {
  return letter;
}

function page(list: readonly unknown[], query: URLSearchParams): unknown {
  const [from = 0] = keyAfter({ after: query.get('after'), limit: 0 }, [0]) ?? [];
  const to = from + Number(query.get('limit') ?? 100);
  return { rows: list.slice(from, to), next: to < list.length ? nextOf([to]) : null };
}

function reasons(letters: readonly DeadLetterText[]): unknown[] {
  const groups = Map.groupBy(letters, ({ box, failure }) => `${box} ${failure.kind}`);
  return [...groups.values()].map(([one, ...more]) => {
    return { ...one!.failure, box: one!.box, count: more.length + 1 };
  });
}

function move({ letters, move: { code } }: AdminRows, id: string): Answer {
  if (code === 409) return problem(409, 'not_kept');
  if (code === 503) return problem(503, 'storage_failed');
  const at = letters.findIndex((letter) => letter.id === id);
  if (at < 0) return problem(404, 'not_found');
  letters.splice(at, 1);
  return ok({ result: 'done' });
}

function turnsOf({ turns }: AdminRows, room: string, channel: string, id: string): TurnText[] {
  return turns.filter((turn) => {
    return (
      turn.channel === channel && id === (room === 'senders' ? turn.sender : turn.conversation)
    );
  });
}

function forget(rows: AdminRows, room: string, channel: string, id: string): number {
  const gone = turnsOf(rows, room, channel, id);
  for (const turn of gone) rows.turns.splice(rows.turns.indexOf(turn), 1);
  return gone.length;
}
