/** For commands: what MCP servers offer now. */
import type { BrainConfig, Secrets } from '../config/config.ts';
import type { ServiceKit } from './service.ts';
import type { SurveyedServer } from '../brains/tools/mcp/survey.ts';

/** What the MCP servers of a configuration offer now; none of their tools is called. */
export async function surveyMcp(
  brains: readonly BrainConfig[],
  secrets: Secrets,
  kit: Pick<ServiceKit, 'http' | 'steady' | 'version'>,
  signal: AbortSignal,
): Promise<readonly SurveyedServer[]> {
  const { surveyServers } = await import('../brains/tools/mcp/survey.ts');
  return surveyServers(brains, secrets, kit, signal);
}

export type { SurveyedServer };
