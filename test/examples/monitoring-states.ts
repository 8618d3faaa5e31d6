/**
 * For each alert of examples/monitoring, a state in which it fires and a near state in which it
 * does not. Each state has series with one value a minute from minute 0 on; the test evaluates the
 * alert in minute 60, or at `at`. Format:
 * https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series
 */
type Series = Readonly<Record<string, string>>;
type States = Readonly<
  Record<string, { readonly bad: Series; readonly good: Series; readonly at?: string }>
>;

/** Two states that differ in the value of one series. */
const of = (series: string, bad: string, good: string) => ({
  bad: { [series]: bad },
  good: { [series]: good },
});

const always = (value: number): string => `${value}x60`;
const growing = (by: number): string => `0+${by}x60`;
/** The first event comes five minutes before the evaluation. */
const begins = '_x55 1x5';

const lag = (late: number): Series => ({
  'svc_event_loop_lag_seconds_bucket{instance="a",le="0.1"}': growing(100 - late),
  'svc_event_loop_lag_seconds_bucket{instance="a",le="0.5"}': growing(100),
  'svc_event_loop_lag_seconds_bucket{instance="a",le="+Inf"}': growing(100),
});
const decisions = (apologies: number): Series => ({
  'svc_decisions_total{instance="a",decision="reply"}': growing(100 - apologies),
  'svc_decisions_total{instance="a",decision="no_answer"}': growing(apologies),
});
const held = (rows: number, bytes: number): Series => ({
  'svc_rows{instance="a",box="in",state="waiting"}': always(rows),
  'svc_rows{instance="a",box="out",state="deferred"}': always(rows),
  'svc_messages_max{instance="a"}': always(100),
  'svc_held_bytes{instance="a"}': always(bytes),
  'svc_held_bytes_max{instance="a"}': always(100),
});

const budgetOf = (used: number): Series => ({
  'svc_budget_used{instance="a",brain="m",limit="cost_per_day"}': always(used),
  'svc_budget_used{instance="b",brain="m",limit="cost_per_day"}': always(used),
  'svc_budget_limit{instance="a",brain="m",limit="cost_per_day"}': always(10),
  'svc_budget_limit{instance="b",brain="m",limit="cost_per_day"}': always(10),
});
const firstWords = (late: number): Series => ({
  'svc_first_word_seconds_bucket{instance="a",channel="c",le="10"}': growing(100 - late),
  'svc_first_word_seconds_bucket{instance="a",channel="c",le="30"}': growing(100),
  'svc_first_word_seconds_bucket{instance="a",channel="c",le="+Inf"}': growing(100),
});
/** After 26 hours of one value a minute, one hour of another. */
const afterADay = (usual: number, now: number): string =>
  `0+${usual}x1560 ${1_560 * usual + now}+${now}x59`;
export const atHour27 = '27h';
const reuse = (now: number): Series => ({
  'svc_prompt_reuse_ratio_sum{instance="a",model="m",source="prefix"}': afterADay(0.8, now),
  'svc_prompt_reuse_ratio_count{instance="a",model="m",source="prefix"}': afterADay(1, 1),
});

export const states: States = {
  SvcDown: of('up{job="svc"}', always(0), always(1)),
  SvcCannotWork: of('svc_healthy', always(0), always(1)),
  SvcChannelFailed: of('svc_channel_state{state="failed"}', always(1), always(0)),
  SvcMessengerSilent: of('svc_channel_last_seen_seconds', always(301), always(300)),
  SvcMessagesWait: of('svc_backlog_oldest_seconds', always(301), always(300)),
  SvcNoAnswers: { bad: decisions(30), good: decisions(10) },
  SvcDeadLetters: of('svc_dead_letters_total{box="out"}', growing(1), always(7)),
  SvcNearlyFull: { bad: held(41, 0), good: held(40, 80) },
  SvcRefusesMessages: of('svc_messages_refused_total{code="inbox_full"}', begins, always(7)),
  SvcDiskBehind: of('svc_traces_dropped_total', growing(1), always(7)),
  SvcProviderFailing: of('svc_provider_state{state="failing"}', always(1), always(0)),
  SvcModelsAtTheirLimit: of('svc_model_calls{state="waiting"}', always(1), always(0)),
  SvcUnroutable: of('svc_unroutable_rows', always(1), always(0)),
  SvcSuspects: of('svc_suspects', always(1), always(0)),
  SvcConfigurationRefused: of('svc_config_reloads_total{result="rolled_back"}', begins, always(7)),
  SvcShortage: of('svc_shortages_total{of="files"}', growing(1), always(7)),
  SvcSlow: { bad: lag(5), good: lag(0) },
  SvcFault: of('svc_faults_total', growing(1), always(7)),
  SvcBearerGuessed: of('svc_admin_bearers_refused_total{why="wrong"}', growing(2), growing(1)),
  SvcBudgetNearlyUsed: { bad: budgetOf(8.1), good: budgetOf(8) },
  SvcBudgetUsedUp: of('svc_budget_refusals_total{limit="cost_per_day"}', growing(1), always(7)),
  SvcCostUnusual: {
    ...of('svc_cost_total{brain="m"}', afterADay(0.01, 0.025), afterADay(0.01, 0.018)),
    at: atHour27,
  },
  SvcTokensUnusual: {
    ...of('svc_tokens_total{brain="m"}', afterADay(10, 25), afterADay(10, 18)),
    at: atHour27,
  },
  SvcApprovalsWait: of('svc_approvals_oldest_seconds', always(3_601), always(3_600)),
  SvcFirstWordSlow: { bad: firstWords(10), good: firstWords(4) },
  SvcPromptReuseFell: { bad: reuse(0.3), good: reuse(0.5), at: atHour27 },
};
