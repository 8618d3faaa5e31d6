/** Calls of the tool `http_fetch`. */
import { createHttpFetch } from '../../src/brains/tools/http-fetch.ts';
import type { ToolSurroundings } from '../../src/brains/tools/tool.ts';
import { handClock } from '../support/hand-clock.ts';
import { callTool, type Called } from '../agents/tool-call.ts';
import { noReserved } from './reserved.ts';
import { startWeb, type Show } from './web.ts';

export type FetchSettings = {
  readonly allowHosts: readonly string[];
  readonly bytesMax?: number;
  readonly redirectsMax?: number;
  readonly names?: Readonly<Record<string, readonly string[]>>;
};

/** Its clock stands still, so that no time limit ends it on a busy machine. */
export function fetchWith(
  { allowHosts, bytesMax = 65_536, redirectsMax = 3, names = {} }: FetchSettings,
  url: string,
  surroundings: Partial<ToolSurroundings> = {},
  { now, steady, deadlines } = handClock(),
): Promise<Called> {
  const tool = createHttpFetch(
    { allowHosts, bytesMax, redirectsMax },
    {
      now,
      steady,
      deadlines,
      resolve: async (name) => names[name] ?? [],
      reserved: noReserved,
      version: '1.2.3',
    },
  );
  return callTool(tool, { url }, surroundings);
}

/** Fetches one page of a server whose address and port are on the list. */
export async function show(page: Show, settings: Partial<FetchSettings> = {}): Promise<Called> {
  await using web = await startWeb({ '/page': page });
  const allowHosts = [`127.0.0.1:${web.port}`];
  return await fetchWith({ allowHosts, ...settings }, `${web.origin}/page`);
}

export const bodyOf = ({ text }: Called): string => text.slice(text.indexOf('\n') + 1);
