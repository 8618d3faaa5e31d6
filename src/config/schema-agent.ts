/** The schema of a brain's `agent` block. */
import type { IntegerField, ObjectField } from './field.ts';
import { channelNameField } from './schema-channel.ts';

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
  description: 'Bytes that the tool gives to the model, at most.',
  minimum: 0,
  maximum: 4_194_304,
  above: 'clamped',
  zeroIsDefault: true,
  default: 65_536,
} as const satisfies IntegerField;

const allowHosts = {
  type: 'list',
  description:
    'Hosts that the tool may reach: `name` or `name:port`. Without a port: every port, except ' +
    'those of svc, its database, and its models, MCP servers and speech servers.',
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
        '`allow` runs the tool. `ask` runs a call after a person has approved it. `shadow` ' +
        'only records what it would have done. `deny` hides the tool.',
      required: true,
      names: ['allow', 'ask', 'shadow', 'deny'],
    },
    channels: {
      type: 'list',
      description: 'Channels of this grant. Absent: every channel. Empty: none.',
      items: { ...channelNameField, description: 'The name of a channel.' },
    },
  },
} as const satisfies ObjectField;

const readFile = {
  type: 'object',
  description: 'The limits of `read_file`.',
  fields: {
    root: {
      type: 'text',
      description: "The only folder that the tool reads, relative to the config file's folder.",
      required: true,
    },
    max_bytes: bytesMax,
  },
} as const satisfies ObjectField;

const httpFetch = {
  type: 'object',
  description: 'The limits of `http_fetch`.',
  fields: {
    allow_hosts: allowHosts,
    max_bytes: bytesMax,
    max_redirects: {
      type: 'integer',
      description: 'Redirects that the tool follows, each to an allowed host. 0: none.',
      minimum: 0,
      maximum: 10,
      above: 'clamped',
      default: 3,
    },
  },
} as const satisfies ObjectField;

const webhookCall = {
  type: 'object',
  description: 'The limits of `webhook_call`.',
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
  description: 'The limits of `memory_note`. Needs `storage`.',
  fields: {
    scope: {
      type: 'choice',
      description: 'Notes of each conversation, or of the whole brain (only local models).',
      names: ['conversation', 'brain'],
      default: 'conversation',
    },
    max_notes: {
      type: 'integer',
      description: 'Notes to keep. One more drops the oldest.',
      minimum: 0,
      maximum: 100,
      above: 'clamped',
      zeroIsDefault: true,
      default: 10,
    },
    max_note_runes: {
      type: 'integer',
      description: 'Length of a note, in Unicode code points.',
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
  description: 'One MCP server. The agent uses only the tools that `tools` lists.',
  fields: {
    name: {
      type: 'text',
      description: 'Names the server in tools: `mcp.<name>.<tool>`.',
      required: true,
      format: 'server_name',
    },
    command: {
      type: 'list',
      description:
        'The program of the server and its arguments. svc starts it without a shell. You can set ' +
        'it in the file, and never by the API.',
      itemsMin: 1,
      items: { type: 'text', description: 'The program, or an argument.' },
    },
    url: {
      type: 'text',
      description: 'Address of the server: https, or on this machine.',
      format: 'url',
    },
    token_env: {
      type: 'text',
      description: 'Environment variable with the bearer token for `url`.',
      format: 'env',
    },
    env: {
      type: 'map',
      description:
        'The environment of `command`: each variable, and the variable of svc that has its ' +
        'value. It gets only these, and a plain `PATH`.',
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
        'The tools that it may call. The last four need a block of limits each. ' +
        '`mcp.<server>.<tool>` is a tool of a server in `mcp`.',
      required: true,
      itemsMin: 1,
      items: { type: 'choice', description: 'A tool.', names: toolNames, others: 'mcp_tool' },
    },
    max_iterations: {
      type: 'integer',
      description: 'Model calls in one turn.',
      minimum: 0,
      maximum: 50,
      above: 'clamped',
      zeroIsDefault: true,
      default: 5,
    },
    system_prompt: {
      type: 'text',
      description: 'Your own prompt, after the one that explains the tools.',
    },
    governance: {
      type: 'list',
      description: 'Grants. Absent or empty: every listed tool may run on every channel.',
      items: grant,
      default: [],
    },
    approvers: {
      type: 'list',
      description:
        'People who may approve or refuse calls of an `ask` grant, beside the operator. An entry ' +
        'is the name or type of a messenger, a colon, and a user id on it.',
      items: { type: 'text', description: 'A channel and a user id of it.', format: 'approver' },
      default: [],
      added: true,
    },
    approval_hours: {
      type: 'integer',
      description: 'Hours that a call waits for approval. After them it does not run.',
      minimum: 1,
      maximum: 720,
      above: 'clamped',
      default: 24,
      added: true,
    },
    approval_text: {
      type: 'choice',
      description:
        'What an approver gets in a chat of their own. `full`: the call with its arguments. ' +
        '`notice`: only that there is a question. They decide on the page Approvals or by ' +
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
      description: 'MCP servers: tools of other programs.',
      added: true,
      items: mcpServer,
      default: [],
    },
    skills_dir: {
      type: 'text',
      description:
        "Folder of skills, relative to the config file's. Each is a folder with a SKILL.md.",
    },
    skills_body_budget: {
      type: 'integer',
      description: 'Code points of skill texts in one prompt.',
      minimum: 0,
      maximum: 200_000,
      above: 'clamped',
      zeroIsDefault: true,
      default: 8192,
    },
  },
} as const satisfies ObjectField;
