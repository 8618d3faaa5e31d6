/** Asks each server once which tools it offers, for an operator to look at; it calls no tool. */
import type { BrainConfig, Secrets } from '../../../config/config.ts';
import { Mask } from '../../../lib/mask.ts';
import { Connection } from './connection.ts';
import type { Definition } from './definition.ts';
import { reasonOf } from './url-fault.ts';
import { reachOf, toolsOf, type McpDeps } from './servers.ts';

export type SurveyedServer = {
  readonly server: string;
  /** The server's own names of the tools that agents list. */
  readonly listed: readonly string[];
  readonly answer:
    | { readonly kind: 'listed'; readonly definitions: ReadonlyMap<string, Definition> }
    /**
     * `reason`: svc's own words. `said`: the program's last line on stderr, without the values of
     * its environment; null: none.
     */
    | { readonly kind: 'down'; readonly reason: string; readonly said: string | null };
};

export type SurveyDeps = Pick<McpDeps, 'http' | 'steady' | 'version'>;

const initMs = 30_000;
const lastWordsMax = 300;

/** Servers of one name are one server: the check of the configuration guarantees it. */
export async function surveyServers(
  brains: readonly BrainConfig[],
  secrets: Secrets,
  deps: SurveyDeps,
  signal: AbortSignal,
): Promise<readonly SurveyedServer[]> {
  const names = new Set(brains.flatMap(({ agent }) => (agent?.mcp ?? []).map(({ name }) => name)));
  const surveys = Array.from(names, async (name): Promise<SurveyedServer> => {
    const users = brains.filter(({ agent }) => agent?.mcp.some((one) => one.name === name));
    const listed = [...new Set(users.flatMap((brain) => toolsOf(brain, name)))];
    return { server: name, listed, answer: await surveyServer(users, name, secrets, deps, signal) };
  });
  return Promise.all(surveys);
}

async function surveyServer(
  users: readonly BrainConfig[],
  name: string,
  secrets: Secrets,
  deps: SurveyDeps,
  signal: AbortSignal,
): Promise<SurveyedServer['answer']> {
  // The strictest brain that uses it: the server's answer is the same for all.
  const brain = users.find(({ sensitivity }) => sensitivity === 'private') ?? users[0]!;
  const config = brain.agent!.mcp.find((one) => one.name === name)!;
  const { version, steady } = deps;
  const { reach, secret } = reachOf(brain, config, (env) => secrets.get(env) ?? '', deps);
  const toolsChanged = (): void => {};
  const connection = new Connection({ reach, version, steady, initMs, toolsChanged });
  try {
    await connection.open(signal);
    const tools = await connection.tools(signal);
    return { kind: 'listed', definitions: new Map(tools.map((tool) => [tool.name, tool])) };
  } catch (error) {
    const why = reasonOf(error) ?? 'it did not answer as an MCP server';
    const reason = connection.isOver ? await connection.ended : why;
    const mask = new Mask();
    mask.add(secret);
    const words = await connection.lastWords((text) => mask.clean(text));
    return { kind: 'down', reason, said: words?.slice(0, lastWordsMax) ?? null };
  } finally {
    await connection.close();
  }
}
