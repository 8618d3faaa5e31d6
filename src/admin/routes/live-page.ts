import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { problem } from '../answer.ts';
import type { Answer } from '../answer.ts';
import type { Route } from './route.ts';

const files = [
  { path: '/ui', file: 'index.html', contentType: 'text/html; charset=utf-8' },
  { path: '/ui/live.css', file: 'live.css', contentType: 'text/css; charset=utf-8' },
  { path: '/ui/live.js', file: 'live.js', contentType: 'text/javascript; charset=utf-8' },
] as const;

/** The live view: three files, read when asked for. @param webRoot its parent folder */
export function livePageRoutes(webRoot: string): Route[] {
  return files.map(({ path, file, contentType }) => ({
    path,
    principal: 'reader',
    summary: `The live view (${file}).`,
    contentType,
    answer: () => readPage(join(webRoot, 'live', file), contentType),
  }));
}

async function readPage(file: string, contentType: string): Promise<Answer> {
  try {
    return { status: 200, contentType, body: await readFile(file) };
  } catch {
    return problem(404, 'not_found', 'This file of the live view is not installed.');
  }
}
