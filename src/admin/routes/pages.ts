import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { problem, type Answer } from '../http/answer.ts';
import { readRoute, type Route } from './route.ts';

const html = 'text/html; charset=utf-8';

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export type Pages = {
  /** The folder of the built pages, one folder each. */
  readonly folder: string;
  /** Whether an operator can sign in; otherwise the builder is not served. */
  readonly builder: boolean;
};

/**
 * The live view for readers, and the builder, whose page asks for the token first. The server reads
 * a file at each request, and compresses nothing while svc runs.
 */
export function pageRoutes({ folder, builder }: Pages): Route[] {
  const live = pageAt('/ui', join(folder, 'live'), 'The live view', 'reader');
  if (!builder) return live;
  return [...live, ...pageAt('/builder', join(folder, 'builder'), 'The builder', 'operator')];
}

/** One page and its files. `principal` may demand the token. */
export function pageAt(
  path: '/ui' | '/builder' | '/setup',
  folder: string,
  name: string,
  principal: 'reader' | 'operator',
): Route[] {
  const page = (): Promise<Answer> => readPage(join(folder, 'index.html'), html);
  return [
    readRoute({
      path,
      principal,
      summary: `${name}.`,
      contentType: html,
      ...(principal === 'operator' && { signIn: page }),
      problems: { 404: 'The pages are not built.' },
      answer: page,
    }),
    readRoute({
      path: `${path}/assets/{file}`,
      principal: 'reader',
      summary: `${name}: its scripts and styles, which hold no data.`,
      parameters: {
        file: { kind: 'segment', summary: 'The name of the file.', charactersMax: 100 },
        'accept-encoding': {
          kind: 'header',
          summary: 'It comes compressed where br or gzip is accepted.',
          charactersMax: 1_000,
        },
      },
      contentType: Object.values(types),
      problems: { 404: 'There is no such file.' },
      answer: ({ file, 'accept-encoding': accepted }) => readAsset(folder, file, accepted ?? ''),
    }),
  ];
}

/** The build stores each file compressed beside itself. Without that, the plain file is sent. */
async function readAsset(folder: string, file: string, accepted: string): Promise<Answer> {
  const type = types[extname(file)];
  if (type === undefined || !/^\w[\w.-]*$/.test(file)) return notThere;
  // The file's name changes with its content.
  const headers = {
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'accept-encoding',
  };
  const path = join(folder, 'assets', file);
  for (const [coding, ending] of codings) {
    if (!accepts(accepted, coding)) continue;
    const answer = await readPage(path + ending, type);
    if (answer.status !== 200) continue;
    return { ...answer, headers: { ...headers, 'content-encoding': coding } };
  }
  const answer = await readPage(path, type);
  return answer.status === 200 ? { ...answer, headers } : answer;
}

/** The smaller first. */
const codings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Whether the header names a coding without weight 0. Format: RFC 9110, section 12.5.3. */
function accepts(accepted: string, coding: string): boolean {
  return accepted.split(',').some((one) => {
    const [name = '', ...parameters] = one.split(';').map((part) => part.trim().toLowerCase());
    return name === coding && !parameters.some((weight) => /^q=0(?:\.0{0,3})?$/.test(weight));
  });
}

async function readPage(file: string, contentType: string): Promise<Answer> {
  try {
    return { status: 200, contentType, body: await readFile(file) };
  } catch {
    return notThere;
  }
}

const notThere = problem(
  404,
  'not_found',
  'There is no such file. After a change of the sources, npm run pages builds the pages.',
);
