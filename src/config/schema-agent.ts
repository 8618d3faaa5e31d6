/** The schema of a brain's `agent` block. */
import type { IntegerField, ObjectField } from './field.ts';
import { channelTypeField } from './schema-channel.ts';

const toolNames = [
  'time',
  'echo',
  'calc',
  'read_file',
  'http_fetch',
  'webhook_call',
  'memory_note',
] as const;

const bytesMax = {
  type: 'integer',
  description: 'Most bytes that the tool hands to the model.',
  minimum: 0,
  maximum: 4_194_304,
  above: 'clamped',
  zeroIsDefault: true,
  default: 65_536,
} as const satisfies IntegerField;

const allowHosts = {
  type: 'list',
  description:
    'Hosts that may be reached: `name`, `name:port`; without a port every port of it but those ' +
    'of svc itself, of its database, and of configured models, MCP servers and speech servers.',
  required: true,
  itemsMin: 1,
  items: { type: 'text', description: 'A host name or address, with or without a port.' },
} as const;

const grant = {
  type: 'object',
  description: 'What one tool may do.',
  fields: {
    tool: {
      type: 'choice',
      description: 'A tool that `tools` lists.',
      required: true,
      names: toolNames,
      others: 'mcp_tool',
    },
    mode: {
      type: 'choice',
      description:
        '`allow` runs it, `ask` runs it once a person has said yes to that very call, `shadow` ' +
        'only records what it would have done, `deny` hides it.',
      required: true,
      names: ['allow', 'ask', 'shadow', 'deny'],
    },
    channels: {
      type: 'list',
      description: 'Channels that this holds on. Absent: every channel; empty: none.',
      items: { ...channelTypeField, description: 'The type of a channel.' },
    },
  },
} as const satisfies ObjectField;

const readFile = {
  type: 'object',
  description: 'The cage of `read_file`.',
  fields: {
    root: {
      type: 'text',
      description: "The only folder that is read from; relative to the config file's folder.",
      required: true,
    },
    max_bytes: bytesMax,
  },
} as const satisfies ObjectField;

const httpFetch = {
  type: 'object',
  description: 'The cage of `http_fetch`.',
  fields: {
    allow_hosts: allowHosts,
    max_bytes: bytesMax,
    max_redirects: {
      type: 'integer',
      description: 'Redirects that are followed, each to an allowed host; 0 means none.',
      minimum: 0,
      maximum: 10,
      above: 'clamped',
      default: 3,
    },
  },
} as const satisfies ObjectField;

const webhookCall = {
  type: 'object',
  description: 'The cage of `webhook_call`.',
  fields: {
    allow_hosts: allowHosts,
    max_bytes: bytesMax,
    timeout_seconds: {
      type: 'integer',
      description: 'Seconds that one call may take.',
      minimum: 0,
      maximum: 120,
      above: 'clamped',
      zeroIsDefault: true,
      default: 10,
    },
  },
} as const satisfies ObjectField;

const memory = {
  type: 'object',
  description: 'The cage of `memory_note`; needs `storage`.',
  fields: {
    scope: {
      type: 'choice',
      description: 'Whose notes: of each conversation, or of the whole brain (local models only).',
      names: ['conversation', 'brain'],
      default: 'conversation',
    },
    max_notes: {
      type: 'integer',
      description: 'Notes kept; one more drops the oldest.',
      minimum: 0,
      maximum: 100,
      above: 'clamped',
      zeroIsDefault: true,
      default: 10,
    },
    max_note_runes: {
      type: 'integer',
      description: 'Longest note, in Unicode code points.',
      minimum: 0,
      maximum: 2000,
      above: 'clamped',
      zeroIsDefault: true,
      default: 200,
    },
    budget_runes: {
      type: 'integer',
      description: 'Code points of notes in one prompt, newest first.',
      minimum: 0,
      maximum: 200_000,
      above: 'clamped',
      zeroIsDefault: true,
      default: 2000,
    },
  },
} as const satisfies ObjectField;

const mcpServer = {
  type: 'object',
  description: 'One MCP server. Nothing of it is used but the tools that `tools` lists.',
  fields: {
    name: {
      type: 'text',
      description: 'The server in names of tools: `mcp.<name>.<tool>`.',
      required: true,
      format: 'server_name',
    },
    command: {
      type: 'list',
      description:
        'The program that is the server, and its arguments, started without a shell. It comes ' +
        'from the file alone, never over the API.',
      itemsMin: 1,
      items: { type: 'text', description: 'The program, or an argument.' },
    },
    url: {
      type: 'text',
      description: 'Where the server is: https, or an address of this machine.',
      format: 'url',
    },
    token_env: {
      type: 'text',
      description: 'Variable with the bearer token for `url`.',
      format: 'env',
    },
    env: {
      type: 'map',
      description:
        'The environment of `command`: each variable, and the name of the variable of svc with ' +
        'its value. Beside these it has a plain `PATH` alone.',
      entriesMax: 64,
      default: {},
    },
    timeout_seconds: {
      type: 'integer',
      description: 'Seconds that one call may take.',
      minimum: 0,
      maximum: 300,
      above: 'clamped',
      zeroIsDefault: true,
      default: 30,
    },
  },
} as const satisfies ObjectField;

export const agent = {
  type: 'object',
  description: 'Makes the brain a bounded agent that uses tools.',
  fields: {
    tools: {
      type: 'list',
      description:
        'The tools it may call. The last four of svc need their own cage block; ' +
        '`mcp.<server>.<tool>` is one of a server that `mcp` lists.',
      required: true,
      itemsMin: 1,
      items: { type: 'choice', description: 'A tool.', names: toolNames, others: 'mcp_tool' },
    },
    max_iterations: {
      type: 'integer',
      description: 'Model calls in one turn, all told.',
      minimum: 0,
      maximum: 50,
      above: 'clamped',
      zeroIsDefault: true,
      default: 5,
    },
    system_prompt: {
      type: 'text',
      description: 'Your own prompt, put after the one that explains the tools.',
    },
    governance: {
      type: 'list',
      description: 'Grants. Absent or empty: every listed tool is allowed on every channel.',
      items: grant,
      default: [],
    },
    approvers: {
      type: 'list',
      description:
        'Who may say yes or no to the calls of an `ask` grant, beside the operator: the type of ' +
        'a messenger, a colon, and a user id on it.',
      items: { type: 'text', description: 'A channel and a user id of it.', format: 'approver' },
      default: [],
      added: true,
    },
    approval_hours: {
      type: 'integer',
      description: 'Hours that a call waits for a yes; after them it is not run.',
      minimum: 1,
      maximum: 720,
      above: 'clamped',
      default: 24,
      added: true,
    },
    approval_text: {
      type: 'choice',
      description:
        'What an approver is sent in a chat of their own: `full`, the call with its arguments; ' +
        '`notice`, only that there is a question, which is decided on the page Approvals or by ' +
        '`svc approvals`.',
      names: ['full', 'notice'],
      default: 'full',
      added: true,
    },
    read_file: readFile,
    http_fetch: httpFetch,
    webhook_call: webhookCall,
    memory,
    mcp: {
      type: 'list',
      description: 'MCP servers: tools from elsewhere.',
      added: true,
      items: mcpServer,
      default: [],
    },
    skills_dir: {
      type: 'text',
      description: "Folder of skills, one folder each with a SKILL.md; relative to the file's.",
    },
    skills_body_budget: {
      type: 'integer',
      description: 'Code points of skill bodies in one prompt.',
      minimum: 0,
      maximum: 200_000,
      above: 'clamped',
      zeroIsDefault: true,
      default: 8192,
    },
  },
} as const satisfies ObjectField;
