import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApprovalText } from '../../domain/approval.ts';
import type { AuditRow } from '../../domain/audit.ts';
import type { Pairing } from '../../domain/gate.ts';
import type { NoteText } from '../../domain/note.ts';
import type { Page } from '../../domain/page.ts';
import type { ConversationCount, DeliveryRow, MessageRow } from '../../domain/records.ts';
import type * as story from '../../domain/story.ts';
import type { ToolUseRow, ToolUseText } from '../../domain/tool-use.ts';
import type { ConfigProblem } from '../../config/problems.ts';
import type { ConfigInUse, ConfigKept, ConfigRow } from '../../config/config-control.ts';
import type * as approvals from './approvals.ts';
import type * as configs from './config.ts';
import type { Dropped, LiveEvent } from '../../domain/live-event.ts';
import type { ConfigNames, RouteStatus, Status } from '../admin.ts';
import type { FiguresSummary } from '../figures.ts';
import type { figuresSchema } from './figures.ts';
import type { liveEventSchema } from './live-event.ts';
import type { pairingsSchema } from './gate.ts';
import type { SecretList, SecretPresence } from '../secret-control.ts';
import type * as questions from '../config-trials.ts';
import type { Described } from './schema.ts';
import type { configNamesSchema, routesSchema, statusSchema } from './status.ts';
import type * as schemas from './story.ts';

type Rows<T> = Pick<Page<T>, 'rows'>;

/** Whether two types are assignable to each other. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

test('the schemas are of the types that the program has', () => {
  type Fits = readonly [
    Same<Described<typeof statusSchema>, Status>,
    Same<Described<typeof liveEventSchema>, LiveEvent | Dropped>,
    Same<Described<typeof configNamesSchema>, ConfigNames>,
    Same<Described<typeof routesSchema>, Rows<RouteStatus>>,
    Same<Described<typeof schemas.storySchema>, story.Story>,
    Same<Described<typeof schemas.storyTextSchema>, story.StoryText>,
    Same<Described<typeof schemas.originsSchema>, Rows<story.MessageOrigin>>,
    Same<Described<typeof schemas.deadLettersSchema>, Page<story.DeadLetter>>,
    Same<Described<typeof schemas.deadLetterTextSchema>, story.DeadLetterText>,
    Same<Described<typeof schemas.deadLetterReasonsSchema>, Rows<story.DeadLetterReason>>,
    Same<Described<typeof schemas.conversationsSchema>, Page<story.ConversationRow>>,
    Same<Described<typeof schemas.conversationTextSchema>, story.ConversationText>,
    Same<Described<typeof schemas.turnsSchema>, Page<story.TurnText>>,
    Same<Described<typeof schemas.notesSchema>, Rows<NoteText>>,
    Same<Described<typeof schemas.toolUsesSchema>, Page<ToolUseRow>>,
    Same<Described<typeof schemas.toolUseTextSchema>, ToolUseText>,
    Same<Described<typeof approvals.approvalTextSchema>, ApprovalText>,
    Same<Described<typeof pairingsSchema>, Rows<Pairing>>,
    Same<Described<typeof configs.configSchema>, ConfigInUse>,
    Same<Described<typeof configs.configHistorySchema>, Rows<ConfigRow>>,
    Same<Described<typeof configs.configKeptSchema>, ConfigKept>,
    Same<Described<typeof configs.configProblemSchema>, ConfigProblem>,
    Same<Described<typeof schemas.messagesSchema>, Page<MessageRow>>,
    Same<Described<typeof schemas.deliveriesSchema>, Page<DeliveryRow>>,
    Same<Described<typeof schemas.conversationCountsSchema>, Rows<ConversationCount>>,
    Same<Described<typeof schemas.auditSchema>, Page<AuditRow>>,
    Same<Described<typeof figuresSchema>, FiguresSummary>,
    Same<Described<typeof configs.validatedSchema>, questions.Validated>,
    Same<Described<typeof configs.preflightedSchema>, questions.Preflighted>,
    Same<Described<typeof configs.tryResultSchema>, questions.TryResult>,
    Same<Described<typeof configs.secretsSchema>, SecretList>,
    Same<Described<typeof configs.presenceSchema>, Rows<SecretPresence>>,
  ];
  const fits: Fits extends readonly true[] ? true : false = true;
  assert.ok(fits);
});
