import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../answer.ts';
import type { Answer } from '../answer.ts';
import { readRoute, type Route } from './route.ts';

const css = 'text/css; charset=utf-8';
const javascript = 'text/javascript; charset=utf-8';

const files = [
  { path: '/ui', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/ui/base.css', file: 'base.css', contentType: css },
  { path: '/ui/live.css', file: 'live.css', contentType: css },
  { path: '/ui/live.js', file: 'live.js', contentType: javascript },
  { path: '/ui/elements.js', file: 'elements.js', contentType: javascript },
  { path: '/ui/words.js', file: 'words.js', contentType: javascript },
] as const;

/** The live view: a few files, each read when asked for. @param webRoot its parent folder */
export function livePageRoutes(webRoot: string): Route[] {
  return files.map(({ path, file, contentType }) =>
    readRoute({
      path,
      principal: 'reader',
      summary: `The live view (${file}).`,
      contentType,
      answer: () => readPage(join(webRoot, 'live', file), contentType),
    }),
  );
}

async function readPage(file: string, contentType: string): Promise<Answer> {
  try {
    return { status: 200, contentType, body: await readFile(file) };
  } catch {
    return problem(404, 'not_found', 'This file of the live view is not installed.');
  }
}
