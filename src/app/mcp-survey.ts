/** For commands: what MCP servers offer now. */
import type { BrainConfig, Secrets } from '../config/config.ts';
import type { ServiceDeps } from './service.ts';
import type { SurveyedServer } from '../brains/tools/mcp/survey.ts';

/** Lists what a configuration's MCP servers offer now, without calling a tool. */
export async function surveyMcp(
  brains: readonly BrainConfig[],
  secrets: Secrets,
  deps: Pick<ServiceDeps, 'http' | 'steady' | 'version'>,
  signal: AbortSignal,
): Promise<readonly SurveyedServer[]> {
  const { surveyServers } = await import('../brains/tools/mcp/survey.ts');
  return surveyServers(brains, secrets, deps, signal);
}

export type { SurveyedServer };
