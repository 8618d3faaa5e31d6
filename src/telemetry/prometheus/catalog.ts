/**
 * All metrics of svc: kind, labels and meaning, by topic. The metrics page takes kind and HELP from
 * here, and `npm run docs` the table of docs/reference/metrics.md.
 *
 * Names follow https://prometheus.io/docs/practices/naming/. Names, kinds and labels are a contract
 * with users. A label never holds an id, a person or a text.
 */
export type MetricKind = 'counter' | 'gauge' | 'histogram' | 'summary' | 'untyped';

export type Metric = {
  readonly kind: MetricKind;
  readonly help: string;
  readonly labels: readonly string[];
};

const kindOf =
  <Kind extends MetricKind>(kind: Kind) =>
  (help: string, ...labels: readonly string[]) => ({ kind, help, labels });
const counter = kindOf('counter');
const gauge = kindOf('gauge');
const histogram = kindOf('histogram');
const summary = kindOf('summary');
const untyped = kindOf('untyped');

const service = {
  svc_build_info: gauge('Always 1: the running version.', 'version', 'storage'),
  svc_healthy: gauge('1 while svc can accept and keep messages, else 0.'),
  svc_faults_total: counter('Bugs of svc that it contained.'),
  svc_shortages_total: counter(
    'Work that svc turned away or did not try, for lack of open files or connections.',
    'of',
  ),
  svc_connections: gauge('Open connections of all listeners.'),
  svc_config_warnings: gauge('Warnings about the configuration in use.'),
  svc_config_reloads_total: counter(
    'Configurations offered to the running svc, by result.',
    'result',
  ),
  svc_admin_writes_total: counter(
    'Write requests to the admin API, by action and HTTP status.',
    'action',
    'status',
  ),
  svc_admin_bearers_refused_total: counter(
    'Requests to the admin server with a missing or a wrong bearer token.',
    'why',
  ),
} satisfies Record<string, Metric>;

const messages = {
  svc_channel_state: gauge(
    '1 for the present state of the channel, 0 for the others.',
    'channel',
    'state',
  ),
  svc_channel_last_seen_seconds: gauge(
    'Seconds since svc last heard from the platform of a messenger.',
    'channel',
  ),
  svc_messages_accepted_total: counter('Messages accepted from a channel.', 'channel'),
  svc_messages_duplicate_total: counter('Messages that svc had accepted before.', 'channel'),
  svc_messages_refused_total: counter(
    'Messages that a channel refused, by the code of the refusal.',
    'channel',
    'code',
  ),
  svc_messages_turned_away_total: counter(
    'Messages that the access rules of a messenger turned away, by reason.',
    'channel',
    'reason',
  ),
  svc_messages_confirmed_early_total: counter(
    'Messages confirmed to the platform before svc had stored them.',
    'channel',
  ),
  svc_attachments_unread_total: counter(
    'Pictures, files and voice messages that svc did not read, by part and reason.',
    'channel',
    'part',
    'reason',
  ),
  svc_decisions_total: counter('Turns, by how they ended.', 'decision'),
  svc_replies_settled_total: counter(
    'Replies that were delivered or given up.',
    'channel',
    'result',
  ),
  svc_delivery_attempts_total: counter(
    'Attempts to deliver a reply, by outcome.',
    'channel',
    'outcome',
  ),
  svc_dead_letters_total: counter(
    'Messages (in) and replies (out) that svc gave up.',
    'channel',
    'box',
  ),
} satisfies Record<string, Metric>;

const times = {
  svc_wait_seconds: histogram('From acceptance to the start of the turn.', 'channel'),
  svc_turn_seconds: histogram('From the start of a turn to its decision.', 'channel'),
  svc_end_to_end_seconds: histogram('From acceptance to the delivered reply.', 'channel'),
  svc_first_word_seconds: histogram(
    'From acceptance to the first word of a reply that grows in the chat.',
    'channel',
  ),
  svc_model_seconds: histogram('Duration of model calls, by outcome.', 'provider', 'outcome'),
  svc_model_first_word_seconds: histogram(
    'From the start of a streamed model call to the first word that may be shown.',
    'provider',
  ),
} satisfies Record<string, Metric>;

const queue = {
  svc_rows: gauge('Unsettled messages (in) and replies (out), by state.', 'box', 'state'),
  svc_messages_max: gauge('Unsettled messages at which svc refuses new ones.'),
  svc_held_bytes: gauge('Bytes of unsettled messages and replies.'),
  svc_held_bytes_max: gauge('Bytes at which svc refuses new messages.'),
  svc_backlog_rows: gauge(
    'Unsettled messages (in) and replies (out) of a channel.',
    'channel',
    'box',
  ),
  svc_backlog_oldest_seconds: gauge(
    'Age of the oldest unsettled message or reply of a channel.',
    'channel',
  ),
  svc_conversations_at_work: gauge('Conversations in which svc works on a message now.'),
  svc_held: gauge('Conversations that an operator answers.'),
  svc_suspects: gauge('Messages that may have ended the process, which svc runs alone.'),
  svc_unroutable_rows: gauge('Unsettled messages and replies without a configured channel.'),
  svc_dead_letters_kept: gauge('Dead letters kept for the operator.'),
  svc_traces_dropped_total: counter('Traces left out because the storage was too slow.'),
  svc_commits_pending: gauge('Commits that are not on the disk yet.'),
  svc_remembered_bytes: gauge('Bytes of conversation history in memory.'),
} satisfies Record<string, Metric>;

const models = {
  svc_provider_state: gauge(
    '1 for the health of the provider by its recent calls, 0 for the others.',
    'provider',
    'state',
  ),
  svc_model_calls: gauge(
    'Model calls in flight, and calls that max_in_flight makes wait.',
    'provider',
    'state',
  ),
} satisfies Record<string, Metric>;

const spend = {
  svc_tokens_total: counter(
    'Tokens of all model calls: as providers report them, else estimated.',
    'brain',
    'provider',
    'model',
    'kind',
  ),
  svc_cached_tokens_total: counter(
    'Input tokens that came from the cache of the provider, as far as it reports them.',
    'brain',
    'provider',
    'model',
  ),
  svc_prompt_reuse_ratio: summary(
    'Shares, 0 to 1. provider: the part of a prompt that came from its cache. ' +
      'prefix: the part of the last prompt with which the next one begins.',
    'model',
    'source',
  ),
  svc_cost_total: counter(
    'Cost of calls to models with a price, in the currency of the prices.',
    'brain',
    'provider',
    'model',
  ),
  svc_budget_limit: gauge(
    'The limit of a budget for a day: tokens, or cost in the currency of the prices.',
    'brain',
    'limit',
  ),
  svc_budget_used: gauge(
    'The part of the limit that is used or reserved today, in the same unit.',
    'brain',
    'limit',
  ),
  svc_budget_refusals_total: counter(
    'Model calls that svc did not make because they did not fit a budget, by limit.',
    'brain',
    'limit',
  ),
} satisfies Record<string, Metric>;

const agents = {
  svc_tool_calls_total: counter(
    'Tool calls that models asked for, by mode of the grant and outcome.',
    'tool',
    'mode',
    'outcome',
  ),
  svc_approvals_total: counter('Calls that waited for an approval, by verdict.', 'verdict'),
  svc_approvals_waiting: gauge('Calls that wait for an approval now.'),
  svc_approvals_oldest_seconds: gauge('How long the oldest of these calls waits; 0: none waits.'),
  svc_approval_wait_seconds: summary('How long calls waited for their verdict.', 'verdict'),
} satisfies Record<string, Metric>;

/** Those of prom-client, with `svc_` before them; see process-metrics.ts. */
const ownProcess = {
  svc_event_loop_lag_seconds: histogram(
    'How late the event loop ran a timer, sampled since the first scrape.',
  ),
  svc_process_cpu_user_seconds_total: counter('CPU time of the program.'),
  svc_process_cpu_system_seconds_total: counter('CPU time of the kernel for the program.'),
  svc_process_cpu_seconds_total: counter('CPU time of both.'),
  svc_process_start_time_seconds: gauge('When the process started, in seconds since 1970.'),
  svc_process_resident_memory_bytes: gauge('Resident memory.'),
  svc_process_virtual_memory_bytes: gauge('Virtual memory.'),
  svc_process_heap_bytes: gauge('Virtual memory of the data segment.'),
  svc_process_open_fds: gauge('Open file descriptors.'),
  svc_process_max_fds: gauge('The limit of open file descriptors.'),
  svc_nodejs_active_resources: gauge('Resources that keep the event loop alive, by type.', 'type'),
  // prom-client gives this gauge the suffix of a counter. Linters accept that of an untyped metric.
  svc_nodejs_active_resources_total: untyped('All resources that keep the event loop alive now.'),
  svc_nodejs_heap_size_total_bytes: gauge('Size of the JavaScript heap.'),
  svc_nodejs_heap_size_used_bytes: gauge('Used part of the JavaScript heap.'),
  svc_nodejs_external_memory_bytes: gauge('Memory outside the JavaScript heap.'),
  svc_nodejs_heap_space_size_total_bytes: gauge('Size of each space of the heap.', 'space'),
  svc_nodejs_heap_space_size_used_bytes: gauge('Used part of each space of the heap.', 'space'),
  svc_nodejs_heap_space_size_available_bytes: gauge(
    'Free part of each space of the heap.',
    'space',
  ),
  svc_nodejs_version_info: gauge(
    'Always 1: the running version of Node.js.',
    'version',
    'major',
    'minor',
    'patch',
  ),
  svc_nodejs_gc_duration_seconds: histogram(
    'Duration of garbage collections since the first scrape, by kind.',
    'kind',
  ),
} satisfies Record<string, Metric>;

/** The topics of the reference, in its order. */
export const topics = {
  'The service': service,
  'Messages and replies': messages,
  Times: times,
  'The queue': queue,
  'Models and providers': models,
  'Tokens, cost and budgets': spend,
  'Tools and approvals': agents,
  'The process': ownProcess,
} as const;

export const catalog = {
  ...service,
  ...messages,
  ...times,
  ...queue,
  ...models,
  ...spend,
  ...agents,
  ...ownProcess,
} as const;

type Catalog = typeof catalog;
export type MetricName = keyof Catalog;
/** The names of the metrics of one kind. */
export type NameOf<Kind extends MetricKind> = {
  [Name in MetricName]: Catalog[Name]['kind'] extends Kind ? Name : never;
}[MetricName];
